// Signs the log of one session, as its writer: a moment after the end of a turn it makes the digests of the events, and records one
// event that signs them. Turns that follow each other at once share a signature. Digests are made of the events as they are
// recorded, not as a store gives them back; only events that this copy did not see itself are read from the store.
import { wordsOf } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import type { LogSigned } from '../../language/log-signed.ts'
import { ReceiptFold } from '../../language/receipt-calls.ts'
import {
  callsSigned,
  chainHead,
  digestEvent,
  digestForm,
  makeMarks,
  newestWay,
  receiptLeaf,
  Salts,
  signedForm,
  textToSign,
} from '../../language/receipts.ts'
import type { ReceiptSigner } from '../ports/index.ts'
import { laterTurn } from './later-turn.ts'
import type { LoggedSession } from './logged-session.ts'

/** After the end of a turn. Turns that end meanwhile share the signature. */
const lingerMs = 250
/** Events are digested when they are signed, but no more than so many wait for that. */
const digestedAtOnce = 64
const pageBytes = 256 * 1024

type SigningSession = LoggedSession & { record(events: readonly Event[], deferrable?: boolean): void }

export class LogSigner {
  readonly #session: SigningSession
  readonly #signer: ReceiptSigner
  #stretch: Stretch
  /** Recorded and not digested yet. The first has the number `#seen`. */
  #pending: Event[] = []
  #seen: number
  /** The last event that may be signed: the turn that it belongs to is over. */
  #ended = 0
  #stopClock: (() => void) | undefined
  #signing: Promise<void> | undefined

  constructor(session: SigningSession, signer: ReceiptSigner) {
    this.#session = session
    this.#signer = signer
    this.#seen = session.state.seq + 1
    const { to = 0, policy } = session.state.signed ?? {}
    this.#stretch = this.#newStretch(to + 1, policy)
  }

  /** The events that a session is made with, which were recorded before there was a signer. */
  takeFirst(events: readonly Event[]): void {
    this.#seen = 1
    this.#pending.push(...events)
  }

  /** Events that were just recorded and applied. */
  take(events: readonly Event[]): void {
    const pending = this.#pending
    for (const event of events) {
      pending.push(event)
      if (event.type !== 'turn.ended') continue
      this.#ended = this.#seen + pending.length - 1
      this.#stopClock ??= this.#session.ports.world.timer(lingerMs, () => void this.sign())
    }
    // What a signature that is due will cover, or else all: of a long turn.
    if (pending.length >= digestedAtOnce)
      this.#digestTo(this.#stopClock === undefined ? this.#session.state.seq : this.#ended)
  }

  /** A signature is still to come. */
  get isDue(): boolean {
    return this.#stopClock !== undefined || this.#signing !== undefined
  }

  /** Signs what there is to sign now, and resolves once it is recorded. In a turn, everything before the turn. */
  async sign(): Promise<void> {
    this.#stopClock?.()
    this.#stopClock = undefined
    while (this.#signing) await this.#signing
    const { state, lost, released } = this.#session
    if (state.turn === null) this.#ended = state.seq
    // Of the events after the last signed one, one is its signature.
    if (lost || released || this.#ended <= (state.signed?.to ?? -1) + 1) return
    // It may be over before it is kept here.
    this.#signing = this.#signTo(this.#ended).finally(() => {
      this.#signing = undefined
    })
    await this.#signing
  }

  stop(): void {
    this.#stopClock?.()
    this.#stopClock = undefined
  }

  async #signTo(to: number): Promise<void> {
    const session = this.#session
    try {
      if (this.#stretch.next < this.#seen) await this.#readGap()
      if (session.lost) return
      this.#digestTo(to)
      const stretch = this.#stretch
      const signed = this.#signedEvent(stretch, to)
      this.#stretch = this.#newStretch(to + 1, stretch.policy)
      session.record([signed], true)
    } catch (error) {
      session.ports.log(
        'error',
        'The log of a session could not be signed. It is tried again after its next turn.',
        {
          session: session.id,
          error: wordsOf(error),
        },
      )
    }
  }

  #signedEvent({ from, source, digests, leaves, policy, readBack }: Stretch, to: number): LogSigned {
    const { id, state, ports } = this.#session
    // Before the key is read: a key that is retired meanwhile signed nothing that is dated later.
    const at = ports.world.now()
    const { key, sign } = this.#signer.current()
    const previous = state.signed?.head ?? ''
    const marks = makeMarks(digests)
    const event: LogSigned = {
      v: 1,
      at,
      type: 'log.signed',
      from,
      to,
      seq: state.seq + 1,
      previous,
      head: chainHead(previous, digests),
      way: newestWay,
      ...(readBack > 0 && { readBack }),
      ...(policy !== undefined && { policy }),
      calls: callsSigned(leaves),
      salt: source,
      ...(marks !== undefined && { marks }),
      key,
      signature: '',
    }
    return { ...event, signature: sign(textToSign(id, signedForm(event))) }
  }

  /** Events of before this copy was opened. */
  async #readGap(): Promise<void> {
    const { id, ports } = this.#session
    while (this.#stretch.next < this.#seen) {
      const page = await ports.store.read(id, this.#stretch.next - 1, { maxBytes: pageBytes })
      if (page.length === 0) throw new Error(`Event ${this.#stretch.next} is missing.`)
      for (const { seq, event } of page) if (seq < this.#seen) this.#stretch.takeStored(seq, event)
      if (this.#stretch.next < this.#seen) await laterTurn(ports.world)
    }
  }

  /** Not across a gap: the events in it come first. */
  #digestTo(seq: number): void {
    if (this.#stretch.next < this.#seen) return
    const count = Math.min(seq - this.#seen + 1, this.#pending.length)
    if (count <= 0) return
    const events = count === this.#pending.length ? this.#pending : this.#pending.slice(0, count)
    for (const event of events) this.#stretch.take(event)
    this.#pending = this.#pending.slice(count)
    this.#seen += count
  }

  #newStretch(from: number, policy: string | undefined): Stretch {
    return new Stretch(this.#session.id, from, this.#signer.newSalt(), policy)
  }
}

/** The digests of events that will have one signature. */
class Stretch {
  readonly from: number
  readonly source: string
  readonly digests: string[] = []
  /** Of the receipts of calls. */
  readonly leaves: string[] = []
  /** The last event that the store gave back, beside signatures, which stand for themselves. */
  readBack = 0
  readonly #salts: Salts
  readonly #calls: ReceiptFold

  constructor(session: string, from: number, source: string, policy: string | undefined) {
    this.from = from
    this.source = source
    this.#salts = new Salts(source)
    this.#calls = new ReceiptFold(session, newestWay, policy)
  }

  /** The version of the rules after the last event. */
  get policy(): string | undefined {
    return this.#calls.policy
  }

  /** The number of the event that it takes next. */
  get next(): number {
    return this.from + this.digests.length
  }

  takeStored(seq: number, event: Event): void {
    if (event.type !== 'log.signed') this.readBack = seq
    this.take(event)
  }

  take(event: Event): void {
    const salt = this.#salts.at(this.digests.length)
    const form = digestForm(event, this.#salts, newestWay)
    const digest = digestEvent(form, salt)
    const settled = this.#calls.take(this.next, form, digest, salt)
    this.digests.push(digest)
    if (settled) this.leaves.push(receiptLeaf(settled.call))
  }
}
