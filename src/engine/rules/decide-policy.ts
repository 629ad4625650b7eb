// What is recorded of the rules beside a verdict: which version of them gave it, the rule of a denial, and a shadow verdict that
// differs. Only verdicts of gates with rules come here. Pure.
import type { Event, PolicyShadowed } from '../../language/events.ts'
import type { ShadowVerdict, VerdictWord } from '../../language/policy.ts'
import type { Verdict } from '../ports/index.ts'
import type { Context } from './commands.ts'
import type { CallState, SessionState } from './state.ts'

type Now = Pick<Context, 'now'>

/** For the events that stand before the one of the verdict, and are of the same time. */
export function decidePolicyNotes(
  { policy: last }: SessionState,
  call: CallState,
  { policy, shadowPolicy, shadow, verdict, rule }: Verdict,
  { at }: Pick<Event, 'at'>,
): Event[] {
  const notes: Event[] = []
  if (policy !== undefined && (last?.version !== policy || last.shadow !== shadowPolicy))
    notes.push({
      v: 1,
      at,
      type: 'policy.applied',
      version: policy,
      ...(shadowPolicy !== undefined && { shadow: shadowPolicy }),
    })
  if (shadow) notes.push(noteShadow(call, verdict, shadow, { now: at }))
  if (verdict === 'deny') notes.push({ v: 1, at, type: 'call.forbidden', callId: call.part.id, rule })
  return notes
}

export function noteShadow(
  call: CallState,
  given: VerdictWord,
  { verdict, rule, reason }: ShadowVerdict,
  { now: at }: Now,
): PolicyShadowed {
  const event: PolicyShadowed = {
    v: 1,
    at,
    type: 'policy.shadowed',
    callId: call.part.id,
    given,
    verdict,
    rule,
  }
  if (reason !== undefined) event.reason = reason
  return event
}
