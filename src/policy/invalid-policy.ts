// Refuses a policy that an operator wrote wrong, when the gate is made.
import { TurnwireError } from '../language/errors.ts'

export function invalidPolicy(where: string, problem: string): never {
  throw new TurnwireError('config_invalid', `${where} ${problem}.`)
}

export function refuseUnknownMembers(given: object, known: readonly string[], where: string): void {
  for (const key of Object.keys(given))
    if (!known.includes(key))
      invalidPolicy(where, `has the unknown member ${JSON.stringify(key)}; known are: ${known.join(', ')}`)
}
