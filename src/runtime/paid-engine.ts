// The engine as clients with a wallet may use it: a turn of an agent with a price begins once its payment is reserved, and its
// answer is given once what has to be settled first is settled. It stands where all wires pass, so that none of them
// knows of payments. A stateless request that is paid for becomes a session of the payer with one turn: a crash does not
// lose it, and the same request with the same payment gets the same answer.
import type { Accepted, Command, Engine, FollowItem, OnceItem, SessionRef } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Ask } from '../language/events.ts'
import { isWallet } from '../language/payments.ts'
import {
  type Admitted,
  boundTo,
  currentRequest,
  type PaidRequest,
  type PaymentDesk,
} from '../payments/index.ts'
import { type CallName, ForwardingEngine } from './engine-socket/index.ts'
import { OnceFold } from './once-fold.ts'
import { stoppable } from './stoppable.ts'
import { createsUnpaid, isWalletCall, WalletGate } from './wallet-gate.ts'

type OnceRequest = Parameters<Engine['answerOnce']>[0]
type Starting = Extract<Command, { do: 'say' | 'respond' | 'call' }>

/** The wire of a stateless request that was paid for. */
const paidWire = 'paid'

/** What a caller may use that has shown nothing yet. */
const open: ReadonlySet<CallName> = new Set(['describe'])

export class PaidEngine extends ForwardingEngine {
  readonly #engine: Engine
  readonly #desk: PaymentDesk
  readonly #gate: WalletGate

  constructor(engine: Engine, desk: PaymentDesk) {
    super()
    this.#engine = engine
    this.#desk = desk
    this.#gate = new WalletGate(engine, desk.ledger)
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // The arguments and the answer are those of the call of this name.
    const call = this.#engine[name] as (...given: unknown[]) => ReturnType<Engine[Name]>
    const pass = (): ReturnType<Engine[Name]> => call.apply(this.#engine, args)
    const request = currentRequest()
    if (open.has(name)) return pass()
    // A payment that was not checked shows nothing of what its payer owns.
    if (request?.bare && !request.admitted)
      return (name === 'find' ? Promise.resolve(undefined) : Promise.reject(notFound())) as ReturnType<
        Engine[Name]
      >
    const [about] = args as unknown[]
    if (!isWalletCall(request, ownerIn(about))) return pass()
    return this.#gate.call(name, about, request).then<unknown>(pass) as ReturnType<Engine[Name]>
  }

  /** Who has a key and pays may not delete what is not settled either. */
  override async remove(ref: SessionRef): Promise<void> {
    const request = currentRequest()
    const pays = this.#mustPay(request?.owner ?? ref.owner)
    if (pays && !isWalletCall(request, ref.owner)) await this.#gate.change(ref)
    return super.remove(ref)
  }

  override follow(...[ref, options, signal]: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    const request = currentRequest()
    if (request?.bare && !request.admitted) throw notFound()
    if (isWalletCall(request, ref.owner) && request?.session !== ref.session)
      return this.#ifPaid(ref, () => this.#engine.follow(ref, options, signal))
    const items = this.#engine.follow(ref, options, signal)
    return request?.drive && options.deltas === 'none' ? this.#thenTold(items, request) : items
  }

  /** What a wallet follows without paying. It ends at a turn that is not paid for, which may begin at any time. */
  async *#ifPaid(
    ref: SessionRef,
    follow: () => AsyncIterable<readonly FollowItem[]>,
  ): AsyncGenerator<readonly FollowItem[]> {
    await this.#gate.read(ref)
    for await (const batch of follow()) {
      await this.#gate.read(ref)
      yield batch
    }
  }

  override attach(...[ref, ...args]: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    if (isWalletCall(currentRequest(), ref.owner)) throw notFound()
    return this.#engine.attach(ref, ...args)
  }

  override changes(...args: Parameters<Engine['changes']>): ReturnType<Engine['changes']> {
    return this.#engine.changes(...args)
  }

  /** An answer that is sent whole waits for its receipt. */
  async *#thenTold(
    items: AsyncIterable<readonly FollowItem[]>,
    request: PaidRequest,
  ): AsyncGenerator<readonly FollowItem[]> {
    yield* items
    if (request.drive && !request.isAnswering()) await this.#desk.tell(request, await request.drive.settled)
  }

  override async create(create: Parameters<Engine['create']>[0]): ReturnType<Engine['create']> {
    const request = currentRequest()
    const { owner, agent } = create
    const isByWallet = isWalletCall(request, owner)
    if (!request?.payable) {
      if (isByWallet) throw createsUnpaid()
      return this.#engine.create(create)
    }
    // Who has a key may create a session first, and pay for its turns.
    if (!isByWallet && !(request.given && this.#mustPay(owner))) return this.#engine.create(create)
    const { model } = create.settings
    const asked = { agent, ...(model !== undefined && { model }) }
    if (!(await this.#isPriced(request, owner, asked))) return this.#engine.create(create)
    const admitted = await this.#admit(request, owner, asked)
    // The same payment finds the session that it made.
    const { record } = admitted.kept
    const bound = boundTo(record)
    if (bound !== undefined) {
      request.session = bound
      return { session: bound, existing: true }
    }
    const own = { key: `x402-session:${record.id}`, hash: record.id }
    const key = request.bare ? own : (create.request ?? own)
    const made = await this.#engine.create({ ...create, request: key })
    await this.#bind(request, admitted, made.session)
    return made
  }

  async #bind(request: PaidRequest, admitted: Admitted, session: string): Promise<Admitted> {
    const bound = await this.#desk.bind(admitted, session)
    request.session = session
    return bound
  }

  // ---- turns -----------------------------------------------------------------------------------------------

  override async command(...[ref, command]: Parameters<Engine['command']>): Promise<Accepted> {
    const request = currentRequest()
    if (request?.bare && !request.admitted) throw notFound()
    if (command.do === 'cancel' && this.#isLeaving(ref, request)) return ignored
    if (command.do !== 'say' && command.do !== 'respond' && command.do !== 'call')
      return this.#otherCommand(ref, command, request)
    if (!this.#mustPay(ref.owner)) return this.#engine.command(ref, command)
    if (isWalletCall(request, ref.owner) && request?.session !== ref.session) await this.#gate.read(ref)
    const { agent, settings } = await this.#engine.summary(ref)
    const model = (command.do === 'call' ? undefined : command.settings?.model) ?? settings.model
    const asked = { agent, ...(model !== undefined && { model }) }
    if (!(await this.#isPriced(request, ref.owner, asked))) return this.#engine.command(ref, command)
    if (!request?.payable) throw onlyOverHttp(agent)
    request.refuseSecond()
    const admitted = await this.#admit(request, ref.owner, asked)
    return this.#begin(request, admitted, ref, command, true)
  }

  async #otherCommand(
    ref: SessionRef,
    command: Command,
    request: PaidRequest | undefined,
  ): Promise<Accepted> {
    if (isWalletCall(request, ref.owner)) this.#gate.command(command)
    else if (this.#mustPay(request?.owner ?? ref.owner)) await this.#gate.control(ref, command)
    return this.#engine.command(ref, command)
  }

  /** Starts the turn that a payment pays for. An exact payment has settled when this resolves. */
  async #begin(
    request: PaidRequest,
    given: Admitted,
    ref: SessionRef,
    command: Starting,
    early: boolean,
  ): Promise<Accepted> {
    const admitted = await this.#bind(request, given, ref.session)
    const { id } = admitted.kept.record
    const key = { key: `x402:${id}`, hash: id, retry: true as const }
    const told = command.do === 'call' ? command : { ...command, ...askOf(command.ask, admitted) }
    let accepted: Accepted
    try {
      accepted = await this.#engine.command(ref, { ...told, request: key })
    } catch (error) {
      await this.#desk.release(admitted, 'refused')
      throw error
    }
    const { kind } = admitted.kept.record
    const drive = this.#desk.begin(admitted, { ...ref, first: accepted.first }, early)
    request.drive = drive
    if (kind === 'exact' && early) {
      const driven = await drive.settled
      if (driven.outcome === 'failed') await this.#engine.command(ref, { do: 'cancel' })
      await this.#desk.tell(request, driven)
    }
    return accepted
  }

  /** A client that leaves has paid, or will: the turn goes on, so that the same request can get its answer. */
  #isLeaving({ session }: SessionRef, request: PaidRequest | undefined): boolean {
    return this.#desk.settlement.isWorking(session) && (request === undefined || request.drive !== undefined)
  }

  // ---- one answer ------------------------------------------------------------------------------------------

  override answerOnce(...[once, signal]: Parameters<Engine['answerOnce']>): ReturnType<Engine['answerOnce']> {
    const request = currentRequest()
    if (!this.#mustPay(once.owner)) return this.#engine.answerOnce(once, signal)
    return stoppable(stop => this.#answerPaid(once, request, stop), signal)
  }

  async *#answerPaid(
    once: OnceRequest,
    request: PaidRequest | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<readonly OnceItem[]> {
    const { owner, agent, model } = once
    const asked = { agent, ...(model !== undefined && { model }) }
    if (!(await this.#isPriced(request, owner, asked))) {
      yield* this.#engine.answerOnce(once, signal)
      return
    }
    if (!request?.payable) throw onlyOverHttp(agent)
    const streams = once.deltas !== 'none'
    const admitted = await this.#admit(request, owner, asked)
    const ref = await this.#sessionFor(once, admitted)
    const ask = { ...once.ask, clientOnly: true as const }
    const command: Starting = { do: 'say', wire: paidWire, parts: [], ask }
    const { first } = await this.#begin(request, admitted, ref, command, streams)
    const options = { from: first, until: 'stop', replay: true, deltas: once.deltas } as const
    const fold = new OnceFold()
    for await (const batch of this.#engine.follow(ref, options, signal)) {
      const items = fold.take(batch)
      if (items.length > 0) yield items
    }
    if (signal.aborted) return
    const answer = fold.answer()
    if (!streams && request.drive) await this.#desk.tell(request, await request.drive.settled)
    yield [{ type: 'answer', answer }]
  }

  async #sessionFor(
    { owner, agent, model, clientTools, history }: OnceRequest,
    { kept }: Admitted,
  ): Promise<SessionRef> {
    const { id } = kept.record
    const { session } = await this.#engine.create({
      owner,
      agent,
      wire: paidWire,
      settings: { tools: null, options: {}, clientTools, ...(model !== undefined && { model }) },
      seed: history,
      clientOnly: true,
      request: { key: `x402-session:${id}`, hash: id },
    })
    return { owner, session }
  }

  // ---- who pays --------------------------------------------------------------------------------------------

  #mustPay(owner: string): boolean {
    return isWallet(owner) || this.#desk.config.keysPay === true
  }

  /** A wallet gets nothing for which there is no price: that is for those who have a key. */
  async #isPriced(
    request: PaidRequest | undefined,
    owner: string,
    asked: { agent: string; model?: string },
  ): Promise<boolean> {
    // What was paid for is given, whatever it costs by now.
    if (request && (request.admitted || (await this.#desk.isTaken(request)))) return true
    const path = request?.path ?? ''
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
    asked: { agent: string; model?: string },
  ): Promise<Admitted> {
    const admitted = await this.#desk.admit(request, owner, asked)
    request.admitted = true
    return admitted
  }
}

/** What was paid for is told to the model, by the name of its protocol. */
function askOf(ask: Ask | undefined, { price }: Admitted): { ask?: Ask } {
  if (!price.body) return ask ? { ask } : {}
  return { ask: { ...ask, body: { ...ask?.body, ...price.body } } }
}

/** Whom a call is about: its first argument is a session, or an owner. */
function ownerIn(about: unknown): string | undefined {
  return typeof about === 'object' && about !== null && 'owner' in about ? String(about.owner) : undefined
}

const ignored: Accepted = { first: 0, count: 0, at: 0, waited: [], replayed: false }

function notFound(): TurnwireError {
  return new TurnwireError(
    'session_not_found',
    'There is no such session. A wallet that continues one signs in first: docs/guide/payments.md.',
  )
}

/** Sockets, ACP, MCP and the operator API have no place for a payment. */
function onlyOverHttp(agent: string): TurnwireError {
  return new TurnwireError(
    'payment_required',
    `"${agent}" is paid for by request, and this connection cannot carry a payment. Use one of the HTTP wires, such as POST /v1/responses.`,
  )
}
