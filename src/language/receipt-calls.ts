// What a receipt says of a settled call. A fold: the events of whole turns in, one receipt out for each call that is settled. It
// holds digests in place of arguments and results, so that it can be shown to someone who may not read them.

import { sha256 } from '../lib/json/hash.ts'
import type { CallPart, OutcomeKind } from './calls.ts'
import type { Allowed, Event } from './events.ts'
import type { DigestWay } from './receipts.ts'
import { argumentsSalt } from './receipts.ts'

/**
 * allowed, denied: by policy. approved, refused: a person decided. handed: the application ran it. none: nobody decided, because
 * it was invalid or came to an end before.
 */
export type ReceiptVerdict = 'allowed' | 'denied' | 'approved' | 'refused' | 'handed' | 'none'

export type ReceiptDecision = {
  verdict: ReceiptVerdict
  /** The rule that allowed it, or that asked a person, and the version of the rules. */
  rule?: string
  policy?: string
  /** The person who decided, or who gave the grant. */
  by?: string
  /** Of the person, where only some people may decide. */
  roles?: readonly string[]
  /** Those who said yes before that person, where several have to. */
  votes?: { by: string; roles?: readonly string[] }[]
  grant?: string
  /** The hash of the arguments that the person was shown, as a sealed file has it in the events of the approval. */
  shown?: string
  /** The person who changed the arguments. */
  editedBy?: string
}

/** Times in milliseconds since 1970, and places in the log. */
export type CallReceipt = {
  type: 'turnwire.call'
  /** As the way of the signature. */
  v: DigestWay
  session: string
  turn: string
  call: string
  tool: string
  /** The call that made it. */
  parent?: string
  /** In version 1 only: the salt of both hashes. A holder of such a receipt can guess what they are made of. */
  salt?: string
  /** The hash of a salt and the arguments that counted, as text. */
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

/** By which its holder can compare texts with the hashes of a receipt, and guess them. */
export type ReceiptSalts = { arguments: string; outcome: string }

type OpenCall = {
  part: CallPart
  text: string
  /** Of the event with the text. */
  salt: string
  parent?: string
  definition?: string
  decision: ReceiptDecision
  asked: number
  askedSeq: number
  decided?: number
  started?: number
}

/** The receipt of a call, and what it does not show. */
export type SettledReceipt = { call: CallReceipt; salts: ReceiptSalts }

export class ReceiptFold {
  readonly #session: string
  readonly #way: DigestWay
  #policy: string | undefined
  #turn = ''
  readonly #open = new Map<string, OpenCall>()

  /** `policy`: the version of the rules before the first event, as the signature before it has it. */
  constructor(session: string, way: DigestWay, policy: string | undefined) {
    this.#session = session
    this.#way = way
    this.#policy = policy
  }

  /** The version of the rules after the last event. */
  get policy(): string | undefined {
    return this.#policy
  }

  /** `event`: in the form of its digest. `digest` and `salt`: of it. Gives the receipt of the call that it settles. */
  take(seq: number, event: Event, digest: string, salt: string): SettledReceipt | undefined {
    switch (event.type) {
      case 'policy.applied':
        this.#policy = event.version
        return undefined
      case 'turn.started':
        this.#turn = event.turn
        return undefined
      case 'model.answered':
        for (const part of event.parts) if (part.type === 'call') this.#ask(part, event.at, seq, salt)
        return undefined
      case 'call.nested':
        this.#ask(event.call, event.at, seq, salt, event.parent)
        return undefined
      case 'call.settled':
        return this.#settle(seq, event, digest, salt)
      default:
        if ('callId' in event) this.#note(event, salt)
        return undefined
    }
  }

  #ask(part: CallPart, asked: number, askedSeq: number, salt: string, parent?: string): void {
    const call: OpenCall = { part, text: part.text, salt, decision: { verdict: 'none' }, asked, askedSeq }
    if (parent !== undefined) call.parent = parent
    this.#open.set(part.id, call)
  }

  #note(event: Extract<Event, { callId: string }>, salt: string): void {
    const call = this.#open.get(event.callId)
    if (!call) return
    switch (event.type) {
      case 'call.started':
        if (event.allowed) this.#allow(call, event.allowed, event.at)
        call.started ??= event.at
        break
      case 'call.allowed':
        this.#allow(call, event, event.at)
        break
      case 'call.forbidden':
        call.decision = { verdict: 'denied', rule: event.rule, ...this.#rules() }
        call.decided = event.at
        break
      case 'call.handed':
        call.definition = event.toolHash
        call.decision = { verdict: 'handed' }
        break
      case 'approval.requested':
        call.definition = event.toolHash
        call.decision = this.#askPerson(event, call.decision)
        break
      case 'approval.voted':
        if (this.#way > 1) {
          call.decision.votes ??= []
          call.decision.votes.push({ by: event.by, ...(event.roles && { roles: event.roles }) })
        }
        break
      case 'approval.decided':
        call.decision.verdict = event.granted ? 'approved' : 'refused'
        call.decision.by = event.by
        if (this.#way > 1 && event.roles) call.decision.roles = event.roles
        call.decided = event.at
        break
      case 'call.edited':
        call.text = event.text
        call.salt = salt
        call.decision.editedBy = event.by
        break
    }
  }

  #allow(call: OpenCall, { toolHash, rule, grantId }: Allowed, at: number): void {
    call.definition = toolHash
    call.decision = {
      verdict: 'allowed',
      rule,
      ...this.#rules(),
      ...(grantId !== undefined && { grant: grantId }),
    }
    call.decided = at
  }

  /** When people are asked again about changed arguments, the person who changed them stays named. Votes begin anew. */
  #askPerson(
    { rule, argsHash }: Extract<Event, { type: 'approval.requested' }>,
    { editedBy }: ReceiptDecision,
  ): ReceiptDecision {
    return {
      verdict: 'none',
      rule,
      shown: argsHash,
      ...this.#rules(),
      ...(this.#way > 1 && editedBy !== undefined && { editedBy }),
    }
  }

  #rules(): { policy?: string } {
    return this.#way > 1 && this.#policy !== undefined ? { policy: this.#policy } : {}
  }

  #settle(
    seq: number,
    { callId, outcome, at }: Extract<Event, { type: 'call.settled' }>,
    digest: string,
    salt: string,
  ): SettledReceipt | undefined {
    const call = this.#open.get(callId)
    if (!call) return undefined
    this.#open.delete(callId)
    const { part, parent, definition, decision, decided, started } = call
    const salts = { arguments: this.#way === 1 ? salt : argumentsSalt(call.salt, callId), outcome: salt }
    const by = outcome.provenance?.allowed?.by
    if (decision.verdict === 'allowed' && by !== undefined) decision.by = by
    // In the order of canonical JSON, which is then written without sorting.
    const receipt: CallReceipt = {
      arguments: sha256(salts.arguments + call.text),
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
      ...(this.#way === 1 && { salt }),
      seq: { asked: call.askedSeq, settled: seq },
      session: this.#session,
      tool: part.name,
      turn: this.#turn,
      type: 'turnwire.call',
      v: this.#way,
    }
    return { call: receipt, salts }
  }
}
