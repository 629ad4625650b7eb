// Whether something was refused because it does not exist, or not for this caller.
import { errorCodes, TurnwireError } from '../../language/errors.ts'

export function isNotFound(error: unknown): boolean {
  return error instanceof TurnwireError && errorCodes[error.code].status === 404
}
