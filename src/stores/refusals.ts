// Why a store refuses a write, in the same words whichever store it is.
import { TurnwireError } from '../language/errors.ts'

export function leaseLost(session: string, why: string): TurnwireError {
  return new TurnwireError(
    'lease_lost',
    `Session ${session} has another writer by now: ${why}. Nothing was recorded.`,
  )
}

export function sessionMissing(session: string): TurnwireError {
  return leaseLost(session, 'it does not exist any more')
}

export function epochPassed(session: string, given: number, current: number): TurnwireError {
  return leaseLost(session, `epoch ${given} was followed by ${current}`)
}

export function seqTaken(session: string, given: number, next: number): TurnwireError {
  return leaseLost(session, `event ${given} was offered where ${next} is next`)
}

export function idTaken(session: string): TurnwireError {
  return new TurnwireError('store_failed', `There is a session ${session} already. Create it under a new id.`)
}
