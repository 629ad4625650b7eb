// What a receipt says of a settled call. A fold: the events of whole turns in, one receipt out for each call that is settled. It
// holds digests in place of arguments and results, so that it can be shown to someone who may not read them.

import { sha256 } from '../lib/json/hash.ts'
import type { CallPart, OutcomeKind } from './calls.ts'
import type { Allowed, Event } from './events.ts'

/**
 * allowed, denied: by policy. approved, refused: a person decided. handed: the application ran it. none: nobody decided, because
 * it was invalid or came to an end before.
 */
export type ReceiptVerdict = 'allowed' | 'denied' | 'approved' | 'refused' | 'handed' | 'none'

export type ReceiptDecision = {
  verdict: ReceiptVerdict
  /** The rule that allowed it, or that asked a person. */
  rule?: string
  /** The person who decided, or who gave the grant. */
  by?: string
  grant?: string
  /** The hash of the arguments that the person was shown, as approvals have it. */
  shown?: string
  /** The person who changed the arguments. */
  editedBy?: string
}

/** Times in milliseconds since 1970, and places in the log. */
export type CallReceipt = {
  type: 'turnwire.call'
  v: 1
  session: string
  turn: string
  call: string
  tool: string
  /** The call that made it. */
  parent?: string
  /** Put before what is hashed, so that nobody can guess it from its hash. */
  salt: string
  /** The hash of the arguments that counted, as text. */
  arguments: string
  /** The hash of the tool's definition. Absent: the call did not get as far. */
  definition?: string
  decision: ReceiptDecision
  /** The key that the tool was given, under which an effect happens once. Absent: it was not run here. */
  key?: string
  /** `digest`: of the event that settled it, with the outcome. */
  outcome: { kind: OutcomeKind; digest: string }
  at: { asked: number; decided?: number; started?: number; settled: number }
  seq: { asked: number; settled: number }
}

type OpenCall = {
  part: CallPart
  text: string
  parent?: string
  definition?: string
  decision: ReceiptDecision
  asked: number
  askedSeq: number
  decided?: number
  started?: number
}

export class ReceiptFold {
  readonly #session: string
  #turn = ''
  readonly #open = new Map<string, OpenCall>()

  constructor(session: string) {
    this.#session = session
  }

  /** `digest` and `salt`: of this event. Gives the receipt of the call that it settles. */
  take(seq: number, event: Event, digest: string, salt: string): CallReceipt | undefined {
    switch (event.type) {
      case 'turn.started':
        this.#turn = event.turn
        return undefined
      case 'model.answered':
        for (const part of event.parts) if (part.type === 'call') this.#ask(part, event.at, seq)
        return undefined
      case 'call.nested':
        this.#ask(event.call, event.at, seq, event.parent)
        return undefined
      case 'call.settled':
        return this.#settle(seq, event, digest, salt)
      default:
        if ('callId' in event) this.#note(event)
        return undefined
    }
  }

  #ask(part: CallPart, asked: number, askedSeq: number, parent?: string): void {
    const call: OpenCall = { part, text: part.text, decision: { verdict: 'none' }, asked, askedSeq }
    if (parent !== undefined) call.parent = parent
    this.#open.set(part.id, call)
  }

  #note(event: Extract<Event, { callId: string }>): void {
    const call = this.#open.get(event.callId)
    if (!call) return
    switch (event.type) {
      case 'call.started':
        if (event.allowed) allow(call, event.allowed, event.at)
        call.started ??= event.at
        break
      case 'call.allowed':
        allow(call, event, event.at)
        break
      case 'call.forbidden':
        call.decision = { verdict: 'denied', rule: event.rule }
        call.decided = event.at
        break
      case 'call.handed':
        call.definition = event.toolHash
        call.decision = { verdict: 'handed' }
        break
      case 'approval.requested':
        call.definition = event.toolHash
        call.decision = { verdict: 'none', rule: event.rule, shown: event.argsHash }
        break
      case 'approval.decided':
        call.decision.verdict = event.granted ? 'approved' : 'refused'
        call.decision.by = event.by
        call.decided = event.at
        break
      case 'call.edited':
        call.text = event.text
        call.decision.editedBy = event.by
        break
    }
  }

  #settle(
    seq: number,
    { callId, outcome, at }: Extract<Event, { type: 'call.settled' }>,
    digest: string,
    salt: string,
  ): CallReceipt | undefined {
    const call = this.#open.get(callId)
    if (!call) return undefined
    this.#open.delete(callId)
    const { part, parent, definition, decision, decided, started } = call
    const by = outcome.provenance?.allowed?.by
    if (decision.verdict === 'allowed' && by !== undefined) decision.by = by
    // In the order of canonical JSON, which is then written without sorting.
    return {
      arguments: sha256(salt + call.text),
      at: {
        asked: call.asked,
        ...(decided !== undefined && { decided }),
        settled: at,
        ...(started !== undefined && { started }),
      },
      call: callId,
      decision,
      ...(definition !== undefined && { definition }),
      ...(started !== undefined && { key: callId }),
      outcome: { digest, kind: outcome.kind },
      ...(parent !== undefined && { parent }),
      salt,
      seq: { asked: call.askedSeq, settled: seq },
      session: this.#session,
      tool: part.name,
      turn: this.#turn,
      type: 'turnwire.call',
      v: 1,
    }
  }
}

function allow(call: OpenCall, { toolHash, rule, grantId }: Allowed, at: number): void {
  call.definition = toolHash
  call.decision = { verdict: 'allowed', rule, ...(grantId !== undefined && { grant: grantId }) }
  call.decided = at
}
