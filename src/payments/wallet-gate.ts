// What the owner of a session that is paid for may do with it. A wallet's token is free for everyone, so it reads what was paid
// for, and starts turns with a payment; it is no key. The gate asks the ledger each time: it holds on every node, and after
// a restart. Prices and payments themselves are up to paid-engine.ts.
import type { Command, Engine, SessionRef } from '../engine/index.ts'
import type { CallName } from '../engines/socket/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { isWallet, type PaymentRecord, paymentsWire } from '../language/payments.ts'
import { boundTo, type Ledger, type PaidRequest, unpaidMark } from './index.ts'

/** What a wallet may ask of its own sessions. `read`: if they are paid for. `change`: if no payment of theirs is open. */
const walletCalls: Partial<Record<CallName, 'free' | 'read' | 'change'>> = {
  describe: 'free',
  list: 'free',
  find: 'free',
  usage: 'free',
  ownerOf: 'free',
  summary: 'read',
  history: 'read',
  events: 'read',
  blob: 'read',
  blobRange: 'read',
  remove: 'change',
  keepBlob: 'change',
}

/** Commands of a wallet that need no payment. `complete` comes from the server's own tools. */
const walletCommands: ReadonlySet<Command['do']> = new Set(['cancel', 'claim', 'complete'])

/** Commands with which an owner could keep a turn from coming to its end. */
const controls: ReadonlySet<Command['do']> = new Set([
  'take-control',
  'perform',
  'answer-model',
  'answer-call',
  'replace-arguments',
])

export class WalletGate {
  readonly #engine: Engine
  readonly #ledger: Ledger

  constructor(engine: Engine, ledger: Ledger) {
    this.#engine = engine
    this.#ledger = ledger
  }

  /** Rejects with what keeps a wallet from this call. */
  async call(name: CallName, ref: unknown, request: PaidRequest | undefined): Promise<void> {
    const kind = walletCalls[name]
    if (kind === undefined) throw needsKey()
    if (kind === 'free') return
    const session = ref as SessionRef // The first argument of these calls.
    // Of its own request: what it may have of that is decided where it is paid for.
    if (request?.session === session.session) return
    await (kind === 'read' ? this.read(session) : this.change(session))
  }

  /** Rejects unless every turn of the session is paid for, or is metered and about to be. */
  async read(ref: SessionRef): Promise<void> {
    await this.#refuseLedger(ref)
    if (await this.#isUnpaid(ref))
      throw new TurnwireError(
        'forbidden',
        'The payment of a turn of this session failed, so it cannot be read or continued. Send the request again with a new payment.',
      )
    for await (const { kind, state } of this.#open(ref))
      if (kind === 'exact' && (state === 'reserved' || state === 'settling')) throw notSettled()
  }

  /** Rejects while a payment of the session is open. */
  async change(ref: SessionRef): Promise<void> {
    await this.#refuseLedger(ref)
    for await (const _ of this.#open(ref)) throw notSettled()
  }

  /** Rejects a command that needs no payment, if a wallet may not give it. */
  command({ do: what }: Command): void {
    if (!walletCommands.has(what)) throw needsKey()
  }

  /** Also who has a key and pays cannot take over a turn while it is paid for. */
  async control(ref: SessionRef, { do: what }: Command): Promise<void> {
    if (controls.has(what)) await this.change(ref)
  }

  /** A wallet owns its payments, but they are the server's to write. */
  async #refuseLedger(ref: SessionRef): Promise<void> {
    const { wire } = await this.#engine.summary(ref)
    if (wire === paymentsWire) throw new TurnwireError('session_not_found', 'There is no such session.')
  }

  async #isUnpaid(ref: SessionRef): Promise<boolean> {
    try {
      await this.#engine.blob(ref, unpaidMark)
      return true
    } catch (error) {
      if (error instanceof TurnwireError && error.code === 'not_found') return false
      throw error
    }
  }

  /** The open payments of a session. That of a wallet is paid by the wallet; anyone may pay for a key. */
  async *#open({ owner, session }: SessionRef): AsyncGenerator<PaymentRecord> {
    for await (const { record } of this.#ledger.list(isWallet(owner) ? owner : null, true))
      if (boundTo(record) === session) yield record
  }
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
export function createsUnpaid(): TurnwireError {
  return new TurnwireError(
    'forbidden',
    'A wallet creates a session by paying for its first turn, such as with PUT /session or POST /v1/responses. To create one without a turn needs a key.',
  )
}
