// What the owner of a session that is paid for may do with it. A wallet's token is free for everyone, so it reads what was paid
// for, and starts turns with a payment; it is no key. The gate asks the ledger each time: it holds on every node, and after
// a restart. Prices and payments themselves are up to paid-engine.ts.
import type { Command, HistoryQuery, SessionRef } from '../engine/index.ts'
import type { CallName } from '../engines/socket/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { isWallet, type PaymentRecord, walletOwner } from '../language/payments.ts'
import type { Ledger, PaidRequest } from './index.ts'

/** What a wallet may ask of its own sessions. `read`: if they are paid for. `change`: if no payment of theirs is open. */
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
const walletCommands: ReadonlySet<Command['do']> = new Set(['cancel', 'claim', 'complete', 'keep'])

/** Commands with which an owner could keep a turn from coming to its end. */
const controls: ReadonlySet<Command['do']> = new Set([
  'take-control',
  'perform',
  'answer-model',
  'answer-call',
  'replace-arguments',
])

export class WalletGate {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Rejects with what keeps a wallet from this call. */
  async call(name: CallName, args: readonly unknown[], request: PaidRequest | undefined): Promise<void> {
    const kind = walletCalls[name]
    if (kind === undefined || (name === 'history' && isRequest(args[1]))) throw needsKey()
    if (kind === 'free') return
    const session = args[0] as SessionRef // The first argument of these calls.
    // Of its own request: what it may have of that is decided where it is paid for.
    if (request?.session === session.session) return
    await (kind === 'read' ? this.read(session) : this.change(session))
  }

  /** Rejects unless every turn of the session is paid for, or is metered and about to be. */
  async read(ref: SessionRef): Promise<void> {
    for await (const { kind, state, open } of this.#payments(ref)) {
      if (state === 'failed') throw unpaid()
      if (open && kind === 'exact' && (state === 'reserved' || state === 'settling')) throw notSettled()
    }
  }

  /** Rejects while a payment of the session is open. */
  async change(ref: SessionRef): Promise<void> {
    for await (const { open } of this.#payments(ref)) if (open) throw notSettled()
  }

  /** Rejects a command that needs no payment, if a wallet may not give it. */
  async command(ref: SessionRef, { do: what }: Command, request: PaidRequest | undefined): Promise<void> {
    if (!walletCommands.has(what)) throw needsKey()
    if (what === 'keep' && request?.session !== ref.session) await this.change(ref)
  }

  /** Also who has a key and pays cannot take over a turn while it is paid for. */
  async control(ref: SessionRef, { do: what }: Command): Promise<void> {
    if (controls.has(what)) await this.change(ref)
  }

  /** The payments of a session. That of a wallet is paid by the wallet; anyone may pay for a key. */
  async *#payments({ owner, session }: SessionRef): AsyncGenerator<PaymentRecord> {
    for await (const { record } of this.#ledger.list({ session }))
      if (!isWallet(owner) || walletOwner(record.payer) === owner) yield record
  }
}

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
export function createsUnpaid(): TurnwireError {
  return new TurnwireError(
    'forbidden',
    'A wallet creates a session by paying for its first turn, such as with PUT /session or POST /v1/responses. To create one without a turn needs a key.',
  )
}
