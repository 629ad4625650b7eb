// The engine bound to a caller that pays: a turn of an agent with a price begins once its payment is reserved. Its
// answer is given once an exact payment is settled. All wires call the engine, so none of them knows of payments.
// Anyone can get a wallet's token, so it is no key: it reads turns that were paid for, and starts turns with a payment.
// The records are read for each call, so this holds on every node and after a restart.

import { BoundEngine, type CallName } from '../callers/bound-engine.ts'
import type { Caller } from '../callers/caller.ts'
import type { WorkLimits } from '../callers/owner-limits.ts'
import type {
  Accepted,
  Command,
  Engine,
  FollowItem,
  HistoryQuery,
  OnceItem,
  SessionRef,
} from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Ask } from '../language/events.ts'
import { boundSession, isWallet, type PaymentRecord, walletOwner } from '../language/payments.ts'
import { stoppable } from '../lib/async/stoppable.ts'
import type { JsonObject } from '../lib/json/index.ts'
import type { AdmittedPayment, AskedPayment, PaymentDesk } from './desk.ts'
import { PaidRequest } from './paid-request.ts'
import { paymentConflict } from './port.ts'

type OnceRequest = Parameters<Engine['answerOnce']>[0]
type Starting = Extract<Command, { do: 'say' | 'respond' | 'call' }>

/** Calls of a wallet on its own sessions. `read`: if they are paid for. `change`: if no payment of theirs is open. */
const walletCalls: Partial<Record<CallName, 'free' | 'read' | 'change'>> = {
  describe: 'free',
  list: 'free',
  lookUp: 'free',
  summary: 'read',
  history: 'read',
  events: 'read',
  blob: 'read',
  remove: 'change',
}

/** Commands of a wallet that need no payment. `complete` comes from the server's own tools. */
const walletCommands: ReadonlySet<Command['do']> = new Set([
  'cancel',
  'cancel-call',
  'claim',
  'complete',
  'keep',
])

/** Commands with which an owner could keep a turn from coming to its end. */
const controls: ReadonlySet<Command['do']> = new Set([
  'take-control',
  'perform',
  'answer-model',
  'answer-call',
  'replace-arguments',
])

/** Calls of a caller that has not proved who it is. */
const open: ReadonlySet<CallName> = new Set(['describe'])

export class PaidEngine extends BoundEngine {
  readonly #desk: PaymentDesk
  /** Undefined: the caller's connection cannot carry a payment. */
  readonly #request: PaidRequest | undefined
  /** The caller itself is a wallet. An operator who reads a wallet's sessions is not. */
  readonly #isWallet: boolean

  constructor(engine: Engine, limits: WorkLimits, caller: Caller, desk: PaymentDesk) {
    super(engine, limits, caller)
    this.#desk = desk
    this.#request = caller.payment instanceof PaidRequest ? caller.payment : undefined
    this.#isWallet = isWallet(caller.owner)
  }

  /** The identity of a caller without a key counts only once its payment is admitted. */
  get #isUnknown(): boolean {
    return this.#request?.bare === true && !this.#request.admitted
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    const pass = (): ReturnType<Engine[Name]> => super.forward(name, ...args)
    if (open.has(name)) return pass()
    // With a payment that was not checked, a caller sees nothing of the payer's sessions.
    if (this.#isUnknown)
      return (name === 'lookUp' ? Promise.resolve(undefined) : Promise.reject(notFound())) as ReturnType<
        Engine[Name]
      >
    if (!this.#isWallet) return pass()
    return this.#checkCall(name, args).then<unknown>(pass) as ReturnType<Engine[Name]>
  }

  /** Rejects if a wallet may not make this call. */
  async #checkCall(name: CallName, args: readonly unknown[]): Promise<void> {
    const kind = walletCalls[name]
    if (kind === undefined || (name === 'history' && isRequest(args[1]))) throw needsKey()
    if (kind === 'free') return
    const ref = args[0] as SessionRef // The first argument of these calls.
    // The session of its own request: access is decided when the request is paid for.
    if (this.#request?.session === ref.session) return
    await (kind === 'read' ? this.#checkPaid(ref) : this.#checkClosed(ref))
  }

  /** Rejects unless every turn of the session is paid for, or is metered and about to be. */
  async #checkPaid(ref: SessionRef): Promise<void> {
    for await (const { kind, state, open } of this.#payments(ref)) {
      if (state === 'failed') throw unpaid()
      if (open && kind === 'exact' && (state === 'reserved' || state === 'settling')) throw notSettled()
    }
  }

  /** Rejects while a payment of the session is open. */
  async #checkClosed(ref: SessionRef): Promise<void> {
    for await (const { open } of this.#payments(ref)) if (open) throw notSettled()
  }

  /** The payments of a session. That of a wallet is paid by the wallet; anyone may pay for a key. */
  async *#payments({ owner, session }: SessionRef): AsyncGenerator<PaymentRecord> {
    for await (const { record } of this.#desk.ledger.list({ session }))
      if (!isWallet(owner) || walletOwner(record.payer) === owner) yield record
  }

  /** A caller with a key that pays may not delete a session with an open payment either. */
  override async remove(ref: SessionRef): Promise<void> {
    if (!this.#isWallet && this.#mustPay(this.caller.owner)) await this.#checkClosed(ref)
    return super.remove(ref)
  }

  override follow(...[ref, options, signal]: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    if (this.#isUnknown) throw notFound()
    const request = this.#request
    if (this.#isWallet && request?.session !== ref.session)
      return this.#ifPaid(ref, () => super.follow(ref, options, signal))
    const items = super.follow(ref, options, signal)
    return request?.drive && (options.deltas === 'none' || request.carried)
      ? this.#thenTold(items, request)
      : items
  }

  /** Follows a wallet's session without a payment. Rejects once a turn begins that is not paid for. */
  async *#ifPaid(
    ref: SessionRef,
    follow: () => AsyncIterable<readonly FollowItem[]>,
  ): AsyncGenerator<readonly FollowItem[]> {
    await this.#checkPaid(ref)
    for await (const batch of follow()) {
      await this.#checkPaid(ref)
      yield batch
    }
  }

  override attach(...args: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    if (this.#isWallet) throw notFound()
    return super.attach(...args)
  }

  override changes(...args: Parameters<Engine['changes']>): ReturnType<Engine['changes']> {
    if (this.#isWallet) throw notFound()
    return super.changes(...args)
  }

  /** An answer that is sent whole waits for its receipt. */
  async *#thenTold(
    items: AsyncIterable<readonly FollowItem[]>,
    request: PaidRequest,
  ): AsyncGenerator<readonly FollowItem[]> {
    yield* items
    if (request.drive && (request.carried || !request.facts.isAnswering()))
      await this.#desk.tell(request, await request.drive.settled)
  }

  override async create(create: Parameters<Engine['create']>[0]): ReturnType<Engine['create']> {
    const request = this.#request
    const { owner, agent } = create
    if (!request?.facts.payable) {
      if (this.#isWallet) throw createsUnpaid()
      return super.create(create)
    }
    // A caller with a key may create a session first, and pay for its turns later.
    if (!this.#isWallet && !(request.given && this.#mustPay(owner))) return super.create(create)
    const { model } = create.settings
    const asked = { agent, ...(model !== undefined && { model }) }
    if (!(await this.#isPriced(owner, asked))) return super.create(create)
    const admitted = await this.#admit(request, owner, asked)
    // The same payment finds the session that it made.
    const { record } = admitted.kept
    const bound = boundSession(record)
    if (bound !== undefined) {
      request.session = bound
      return { session: bound, existing: true }
    }
    const own = { key: `x402-session:${record.id}`, hash: record.id }
    const key = request.bare ? own : (create.request ?? own)
    const made = await super.create({ ...create, request: key })
    await this.#bind(request, admitted, made.session)
    return made
  }

  async #bind(request: PaidRequest, admitted: AdmittedPayment, session: string): Promise<AdmittedPayment> {
    const bound = await this.#desk.bind(admitted, session)
    request.session = session
    return bound
  }

  // ---- turns -----------------------------------------------------------------------------------------------

  override async command(...[ref, command]: Parameters<Engine['command']>): Promise<Accepted> {
    if (this.#isUnknown) throw notFound()
    const request = this.#request
    if (command.do === 'cancel' && this.#isLeaving(ref)) return ignored
    if (command.do !== 'say' && command.do !== 'respond' && command.do !== 'call')
      return this.#otherCommand(ref, command)
    if (!this.#mustPay(ref.owner)) return super.command(ref, command)
    if (this.#isWallet && request?.session !== ref.session) await this.#checkPaid(ref)
    const { agent, settings } = await super.forward('summary', ref)
    const model = (command.do === 'call' ? undefined : command.settings?.model) ?? settings.model
    const asked = { agent, ...(model !== undefined && { model }) }
    if (!(await this.#isPriced(ref.owner, asked))) return super.command(ref, command)
    if (!request?.facts.payable) throw onlyOverHttp(agent)
    request.refuseSecond()
    const admitted = await this.#admit(request, ref.owner, asked)
    return this.#begin(request, admitted, ref, command)
  }

  async #otherCommand(ref: SessionRef, command: Command): Promise<Accepted> {
    if (this.#isWallet) {
      if (!walletCommands.has(command.do)) throw needsKey()
      if (command.do === 'keep' && this.#request?.session !== ref.session) await this.#checkClosed(ref)
    } else if (this.#mustPay(this.caller.owner)) {
      if (command.do === 'compact') await this.#refuseCompaction(ref)
      if (controls.has(command.do)) await this.#checkClosed(ref)
    }
    return super.command(ref, command)
  }

  /** It asks the model, and is no turn that could be paid for. */
  async #refuseCompaction(ref: SessionRef): Promise<void> {
    const { agent, settings } = await super.forward('summary', ref)
    const { model } = settings
    const asked = { agent, ...(model !== undefined && { model }), path: this.#request?.facts.path ?? '' }
    if ((await this.#desk.prices(asked)).length === 0) return
    throw new TurnwireError(
      'payment_required',
      `"${agent}" is paid for by turn, and a summary on request is no turn. A session is made shorter by itself when it gets too long for its model.`,
    )
  }

  /** Starts the turn that a payment pays for. An exact payment has settled when this resolves. */
  async #begin(
    request: PaidRequest,
    given: AdmittedPayment,
    ref: SessionRef,
    command: Starting,
  ): Promise<Accepted> {
    const admitted = await this.#bind(request, given, ref.session)
    const { id } = admitted.kept.record
    const key = { key: `x402:${id}`, hash: id, retry: true as const }
    const told =
      command.do === 'call' ? command : { ...unqueued(command), ...limitAsk(command.ask, admitted) }
    let accepted: Accepted
    try {
      accepted = await super.command(ref, { ...told, request: key })
    } catch (error) {
      await this.#desk.release(admitted, 'refused')
      throw error
    }
    const { kind } = admitted.kept.record
    const drive = this.#desk.begin(admitted, { ...ref, first: accepted.first })
    request.drive = drive
    if (kind === 'exact') {
      const driven = await drive.settled
      if (driven.outcome === 'failed') await super.command(ref, { do: 'cancel' })
      await this.#desk.tell(request, driven)
    }
    return accepted
  }

  /** A client that leaves has paid, or will: the turn goes on, so that the same request can get its answer. */
  #isLeaving({ session }: SessionRef): boolean {
    const request = this.#request
    return this.#desk.settlement.isWorking(session) && (request === undefined || request.drive !== undefined)
  }

  // ---- one answer ------------------------------------------------------------------------------------------

  override answerOnce(...[once, signal]: Parameters<Engine['answerOnce']>): ReturnType<Engine['answerOnce']> {
    if (!this.#mustPay(once.owner)) return super.answerOnce(once, signal)
    return stoppable(stop => this.#answerPaid(once, stop), signal)
  }

  async *#answerPaid(once: OnceRequest, signal: AbortSignal): AsyncGenerator<readonly OnceItem[]> {
    const request = this.#request
    const { owner, agent, model, ask: given } = once
    const asked = { agent, ...(model !== undefined && { model }), ...(given?.to && { to: given.to }) }
    if (!(await this.#isPriced(owner, asked))) {
      yield* super.answerOnce(once, signal)
      return
    }
    if (!request?.facts.payable) throw onlyOverHttp(agent)
    const { kept } = await this.#admit(request, owner, asked, once)
    const { record } = kept
    // It was paid for in an older form, in which it was a session.
    if (boundSession(record) !== undefined) throw paymentConflict()
    const streams = once.deltas !== 'none'
    const ask = (paid: OnceRequest, stop: AbortSignal) => super.answerOnce(paid, stop)
    const { drive, job } = this.#desk.answer(kept, ask, streams)
    request.drive = drive
    if (streams) {
      if (record.kind === 'exact') await this.#desk.tell(request, await drive.settled)
      yield* job.deltas(once.deltas, signal)
    }
    if (signal.aborted) return
    const answer = await job.answer
    if (!streams) await this.#desk.tell(request, await drive.settled)
    yield [{ type: 'answer', answer }]
  }

  // ---- who pays --------------------------------------------------------------------------------------------

  #mustPay(owner: string): boolean {
    return isWallet(owner) || this.#desk.config.keysPay === true
  }

  /** A wallet cannot use an agent without a price: those are for callers with a key. */
  async #isPriced(owner: string, asked: AskedPayment): Promise<boolean> {
    const request = this.#request
    // A request that was paid for is served at the price of then.
    if (request && (request.admitted || (await this.#desk.isTaken(request)))) return true
    const path = request?.facts.path ?? ''
    if ((await this.#desk.prices({ ...asked, path })).length > 0) return true
    if (!isWallet(owner)) return false
    throw new TurnwireError(
      'unauthorized',
      `"${asked.agent}" has no price. It is for holders of a key: Authorization: Bearer <key>.`,
    )
  }

  async #admit(
    request: PaidRequest,
    owner: string,
    asked: AskedPayment,
    once?: OnceRequest,
  ): Promise<AdmittedPayment> {
    const admitted = await this.#desk.admit(request, owner, asked, once as JsonObject | undefined) // Plain data.
    request.admitted = true
    return admitted
  }
}

/** A payment is for a turn of its own: a message that would have to wait, or join another turn, is refused as busy. */
function unqueued<Given extends Exclude<Starting, { do: 'call' }>>(command: Given): Given {
  if (command.do !== 'say') return command
  const { during: _, ...rest } = command
  return rest as Given // The same command without a member that may be absent.
}

/** Binds the turn to the provider that was paid. */
function limitAsk(ask: Ask | undefined, { price }: AdmittedPayment): { ask?: Ask } {
  if (!price.to) return ask ? { ask } : {}
  return { ask: { ...ask, to: { ...ask?.to, ...price.to } } }
}

const ignored: Accepted = { first: 0, count: 0, at: 0, waited: [], replayed: false }

function unpaid(): TurnwireError {
  return new TurnwireError(
    'forbidden',
    'The payment of a turn of this session failed, so it cannot be read or continued. Send the request again with a new payment.',
  )
}

/** The next request has the agent's instructions and tools in it. */
function isRequest(query: unknown): boolean {
  return (query as HistoryQuery).get === 'request' // The second argument of `history`.
}

function notSettled(): TurnwireError {
  return new TurnwireError(
    'payment_pending',
    'A payment for this session is not settled yet. Try again in a moment.',
    { retryAfterMs: 5_000 },
  )
}

function needsKey(): TurnwireError {
  return new TurnwireError(
    'forbidden',
    'A wallet can pay for turns, and read what it has paid for. This needs a key: Authorization: Bearer <key>.',
  )
}

/** Sessions of a wallet begin with a turn that it pays for. */
function createsUnpaid(): TurnwireError {
  return new TurnwireError(
    'forbidden',
    'A wallet creates a session by paying for its first turn, such as with PUT /session or POST /v1/responses. To create one without a turn needs a key.',
  )
}

function notFound(): TurnwireError {
  return new TurnwireError(
    'session_not_found',
    'There is no such session. A wallet that continues one signs in first: docs/guide/payments.md.',
  )
}

/** Sockets, ACP and the operator API have no place for a payment. */
function onlyOverHttp(agent: string): TurnwireError {
  return new TurnwireError(
    'payment_required',
    `"${agent}" is paid for by request, and this connection cannot carry a payment. Use one of the HTTP wires, such as POST /v1/responses.`,
  )
}
