// Tells temporary failures of the store from permanent ones.
import { TurnwireError } from '../../language/errors.ts'

/** The store may be full, locked or failing for a while. A lost lease or a deletion does not pass. */
export function mayPass(reason: unknown): boolean {
  return reason instanceof TurnwireError && reason.code.startsWith('store_') && reason.retry
}
