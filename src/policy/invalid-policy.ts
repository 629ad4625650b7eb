// Refuses a policy that an operator wrote wrong, when the gate is made.
import { TurnwireError } from '../language/errors.ts'

export function invalidPolicy(where: string, problem: string): never {
  throw new TurnwireError('config_invalid', `${where} ${problem}.`)
}
