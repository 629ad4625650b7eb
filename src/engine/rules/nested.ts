// Calls that calls make: finds them, makes the event of one, and settles them when their parent is over. Pure. A
// running tool makes them through nested-calls.ts.
import type { CallPart } from '../../language/calls.ts'
import type { CallNested, CallSuspended, Event } from '../../language/events.ts'
import type { Context } from './commands.ts'
import { decideFinished } from './decide-call.ts'
import { outcomes } from './outcomes.ts'
import { type CallState, findCall, hasBegun, isInQuestion, type SessionState } from './state.ts'

/** The calls that this call has made. */
export function nestedCalls({ batch }: SessionState, parent: string): CallState[] {
  return batch.filter(call => call.parent === parent)
}

export function findNested({ batch }: SessionState, parent: string, key: string): CallState | undefined {
  return batch.find(call => call.parent === parent && call.key === key)
}

/** Only a person, the application or what they are asked for can move it on. */
export function waitsForOthers(call: CallState): boolean {
  const { stage } = call
  if (stage === 'handed' || stage === 'asking') return true
  return stage === 'suspended' || stage === 'postponed' || isInQuestion(call)
}

export function decideNested(
  parent: CallState,
  key: string,
  { name, form, text }: Pick<CallPart, 'name' | 'form' | 'text'>,
  context: Context,
): CallNested {
  const call: CallPart = { type: 'call', id: context.id('call'), name, form, text }
  return { v: 1, at: context.now, type: 'call.nested', parent: parent.part.id, key, call }
}

/** `seen`: how many of its calls were settled when it stopped. */
export function decideSuspended(
  { part }: CallState,
  seen: number,
  { now }: Pick<Context, 'now'>,
): CallSuspended {
  return { v: 1, at: now, type: 'call.suspended', callId: part.id, seen }
}

/** The sessions that work for suspended calls which these events end: nobody runs who would tell them. */
export function workersOfEnding(state: SessionState, events: readonly Event[]): string[] {
  if (!state.workers) return []
  return events.flatMap(event => {
    const call = event.type === 'call.settled' ? findCall(state, event.callId) : undefined
    return call?.delegated && call.stage !== 'started' ? [call.delegated.session] : []
  })
}

/** The same events, with the open calls of a call settled before it is. Nobody waits for them any more. */
export function withNestedSettled(
  state: SessionState,
  events: readonly Event[],
  context: Pick<Context, 'now'>,
): readonly Event[] {
  const ending = new Set(events.flatMap(event => (event.type === 'call.settled' ? [event.callId] : [])))
  if (ending.size === 0) return events
  const added: Event[] = []
  // A call stands after its parent, so that one pass finds the calls of calls too.
  for (const call of state.batch) {
    const { parent, stage, part } = call
    if (parent === undefined || stage === 'settled' || !ending.has(parent) || ending.has(part.id)) continue
    ending.add(part.id)
    added.push(...decideFinished(call, outcomes.cancelled(hasBegun(call)), context))
  }
  return added.length === 0 ? events : [...added, ...events]
}
