// Makes the events of a call that an agent carries out in another session. Pure.
import type {
  AgentChanged,
  CallDelegated,
  CallNested,
  CallUsed,
  Event,
  Recorded,
  Settings,
} from '../../language/events.ts'
import type { Agent } from '../ports/index.ts'
import type { Context } from './commands.ts'
import { restrict } from './decide-call.ts'
import { checkOfferSettings } from './offer.ts'
import type { CallState } from './state.ts'

type Now = Pick<Context, 'now'>

export function decideDelegated(
  { part }: CallState,
  agent: string,
  session: string,
  { now }: Now,
): CallDelegated {
  return { v: 1, at: now, type: 'call.delegated', callId: part.id, agent, session }
}

/** The usage that an event of the other session adds to this turn. Undefined: none. */
export function decideUsed(
  { part }: CallState,
  { seq, event }: Recorded,
  { now }: Now,
): CallUsed | undefined {
  const used = (steps: number, calls: number, usage: CallUsed['usage']): CallUsed => ({
    v: 1,
    at: now,
    type: 'call.used',
    callId: part.id,
    upTo: seq,
    steps,
    calls,
    ...(usage && { usage }),
  })
  switch (event.type) {
    case 'model.answered':
      return used(1, event.parts.filter(({ type }) => type === 'call').length, event.usage)
    case 'call.nested':
      return event.mirrors ? undefined : used(0, 1, undefined)
    case 'call.used':
      return used(event.steps, event.calls, event.usage)
    case 'history.compacted':
      return event.usage && used(0, 0, event.usage)
    default:
      return undefined
  }
}

/** A call that waits in the other session is shown as a nested call, which waits for the same. */
export function decideMirror(parent: CallState, call: CallState, session: string, context: Context): Event[] {
  const { name, form, id: callId } = call.part
  const { now: at } = context
  const id = context.id('call')
  const nested: CallNested = {
    v: 1,
    at,
    type: 'call.nested',
    parent: parent.part.id,
    key: callId,
    call: { type: 'call', id, name, form, text: call.text },
    mirrors: { session, callId },
  }
  const { argsHash = '', toolHash = '', rule = '', reason, expiresAt, flow, approvers, requesters } = call
  if (call.stage === 'handed')
    return [nested, { v: 1, at, type: 'call.handed', callId: id, argsHash, toolHash }]
  const asked = {
    at,
    type: 'approval.requested' as const,
    callId: id,
    argsHash,
    toolHash,
    rule,
    ...(reason !== undefined && { reason }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(flow && { flow }),
  }
  return [nested, approvers ? restrict(asked, approvers, requesters) : { v: 1, ...asked }]
}

/** The settings that the client chose for the agent before are dropped. The client's own tools stay, if allowed. */
export function decideHandOver(
  { part }: CallState,
  to: Agent,
  { clientTools, wires }: Settings,
  { now }: Now,
): AgentChanged {
  const kept = to.clientTools ? clientTools : []
  const settings: Settings = { tools: null, options: {}, clientTools: kept, ...(wires && { wires }) }
  checkOfferSettings(to, settings)
  return { v: 1, at: now, type: 'agent.changed', callId: part.id, agent: to.name, settings }
}
