// A decision in the name of one person, for parts of the server that know the person in another way than by the request: a link
// that was sent to an approver, a chat. The engine checks the person against the approvers of the call, as for every wire.
import type { Accepted, Engine, GivenDecision, SessionRef } from '../engine/ports/boundary.ts'
import type { Person } from '../language/approvers.ts'

/** `seen`: the hash of the arguments that the person was shown. */
export type PersonalDecision = Pick<GivenDecision, 'callId' | 'granted' | 'reason' | 'edit'> & {
  seen: string
}

/**
 * `engine`: that of the server itself, not one that is bound to another caller. Rejects with `not_approver` if this person may not
 * decide, which the log then says; with `stale_approval`, `approval_expired`, `already_decided`, `call_settled` or
 * `unknown_call` as for any decision.
 */
export function decideAs(
  engine: Engine,
  ref: SessionRef,
  { name, roles = [] }: Person,
  decision: PersonalDecision,
): Promise<Accepted> {
  const people = [{ name, ...(roles.length > 0 && { roles: [...roles] }) }]
  return engine.command(ref, {
    do: 'respond',
    results: [],
    decisions: [{ ...decision, by: name, people }],
  })
}
