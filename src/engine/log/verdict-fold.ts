// Reads from a log what the gate decided about each call, by which rule of which version, and where shadow rules would have
// decided otherwise. Logs from before rules had versions are read too.
import type { CallPart } from '../../language/calls.ts'
import type { CallSettled, Event, PolicyShadowed } from '../../language/events.ts'
import type { VerdictWord } from '../../language/policy.ts'
import { deniedPrefix } from '../rules/outcomes.ts'

/** `rule` is empty for a denial in an old log, which does not name it. `shadow`: shadow rules were asked too. */
export type RecordedVerdict = {
  type: 'verdict'
  at: number
  agent: string
  callId: string
  tool: string
  verdict: VerdictWord
  rule: string
  policy?: string
  shadow?: string
}
export type RecordedShadow = Pick<
  PolicyShadowed,
  'at' | 'callId' | 'given' | 'verdict' | 'rule' | 'reason'
> & {
  type: 'shadow'
  agent: string
  tool: string
}

export class VerdictFold {
  #agent = ''
  #nextAgent: string | undefined
  #policy: { policy?: string; shadow?: string } = {}
  /** The calls of the last answer, and those that they made. */
  readonly #calls = new Map<string, { part: CallPart; isJudged: boolean; rule?: string }>()

  take(event: Event): RecordedVerdict | RecordedShadow | undefined {
    switch (event.type) {
      case 'session.created':
        this.#agent = event.agent
        return undefined
      case 'agent.changed':
        this.#nextAgent = event.agent
        return undefined
      case 'model.answered':
        this.#agent = this.#nextAgent ?? this.#agent
        this.#nextAgent = undefined
        this.#calls.clear()
        for (const part of event.parts)
          if (part.type === 'call') this.#calls.set(part.id, { part, isJudged: false })
        return undefined
      case 'call.nested':
        this.#calls.set(event.call.id, { part: event.call, isJudged: event.mirrors !== undefined })
        return undefined
      case 'policy.applied':
        this.#policy = {
          policy: event.version,
          ...(event.shadow !== undefined && { shadow: event.shadow }),
        }
        return undefined
      case 'hook.acted':
        // A call that a hook refuses was denied by no rule.
        if (event.change === 'refused' && event.call !== undefined) this.#judge(event.call)
        return undefined
      default:
        return this.#ofCall(event)
    }
  }

  #ofCall(event: Event): RecordedVerdict | RecordedShadow | undefined {
    switch (event.type) {
      case 'call.allowed':
        return this.#verdict(event, 'allow', event.rule)
      case 'call.started':
        return event.allowed && this.#verdict(event, 'allow', event.allowed.rule)
      case 'approval.requested':
        return this.#verdict(event, 'ask', event.rule)
      case 'call.forbidden': {
        const call = this.#calls.get(event.callId)
        if (call) call.rule = event.rule
        return undefined
      }
      case 'call.settled':
        return this.#settled(event)
      case 'policy.shadowed': {
        const { v: _v, ...shadow } = event
        const tool = this.#calls.get(event.callId)?.part.name ?? ''
        return { ...shadow, type: 'shadow', agent: this.#agent, tool }
      }
      default:
        return undefined
    }
  }

  #settled(event: CallSettled): RecordedVerdict | undefined {
    const call = this.#calls.get(event.callId)
    const { kind, parts, from } = event.outcome
    if (kind !== 'denied' || from.source !== 'runtime' || event.limit !== undefined) return undefined
    const [first] = parts
    const isByPolicy = first?.type === 'text' && first.text.startsWith(deniedPrefix)
    if (!call || (call.rule === undefined && (call.isJudged || !isByPolicy))) return undefined
    return this.#verdict(event, 'deny', call.rule ?? '')
  }

  #verdict(
    { at, callId }: { at: number; callId: string },
    verdict: VerdictWord,
    rule: string,
  ): RecordedVerdict | undefined {
    const call = this.#judge(callId)
    if (!call) return undefined
    return {
      type: 'verdict',
      at,
      agent: this.#agent,
      callId,
      tool: call.part.name,
      verdict,
      rule,
      ...this.#policy,
    }
  }

  #judge(callId: string): { part: CallPart } | undefined {
    const call = this.#calls.get(callId)
    if (call) call.isJudged = true
    return call
  }
}
