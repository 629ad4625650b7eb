// Takes exported sessions into a store. The whole file is checked first. A session that is there already is compared with
// the file: the same log is left as it is, a shorter one (an import that was interrupted) is continued, and another one is
// refused. The last event is written after everything else, so that a session with all its events is whole.
import { HistoryFold, type Store, sessionFacts, sessionStatus, summariseForList } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event, SessionCreated } from '../../language/events.ts'
import type { PaymentRecord } from '../../language/payments.ts'
import { roughSize } from '../../lib/json/plain.ts'
import { keepsPayments } from '../../payments/port.ts'
import { checkFile, readLines } from './check.ts'
import type { Line } from './format.ts'

export type Imported = { imported: number; there: number }

const batchBytes = 1024 * 1024

/**
 * Throws a TurnwireError; nothing is written if the file is damaged, or if it has a session that is another one here. `onSession` is told how many
 * sessions of the file are done.
 */
export async function importSessions(
  store: Store,
  file: string,
  onSession: (done: number) => void = () => {},
): Promise<Imported> {
  await checkFile(file)
  await compareAll(store, file)
  const done: Imported = { imported: 0, there: 0 }
  let current: Incoming | undefined
  for await (const { line } of readLines(file)) {
    if ('session' in line) {
      const head = (await store.row(line.session))?.head
      current = (head ?? 0) < line.events ? new Incoming(store, line.session, line.events, head) : undefined
      if (!current) done.there += 1
    } else if ('end' in line) {
      if (current) done.imported += 1
      await current?.end()
      current = undefined
      onSession(done.imported + done.there)
    } else if ('payment' in line) await importPayment(store, line.payment)
    else await current?.take(line)
  }
  return done
}

/** One that is there already is left as it is. */
async function importPayment(store: Store, payment: PaymentRecord): Promise<void> {
  if (!keepsPayments(store)) throw new TurnwireError('bad_request', 'This store keeps no payments.')
  await store.payments.reserve(payment)
}

/** Refuses a session that has another log here. */
async function compareAll(store: Store, file: string): Promise<void> {
  let id = ''
  let head = 0
  let page: Awaited<ReturnType<Store['read']>> = []
  for await (const { line } of readLines(file)) {
    if ('session' in line) {
      id = line.session
      head = (await store.row(id))?.head ?? 0
      page = []
    }
    if (!('event' in line) || line.seq > head) continue
    if (page.length === 0) page = await store.read(id, line.seq - 1, { maxBytes: batchBytes })
    const here = page.shift()
    if (JSON.stringify(here?.event) !== JSON.stringify(line.event))
      throw new TurnwireError(
        'bad_request',
        `${file} cannot be imported: there is another session ${id} here, which differs from event ${line.seq} on. Nothing was imported. Delete it, or import elsewhere.`,
      )
  }
}

/** One session that is being written. */
class Incoming {
  readonly #store: Store
  readonly #id: string
  readonly #events: number
  /** How many events the store has. Undefined: it does not have the session. */
  #head: number | undefined
  #epoch: number | undefined
  readonly #fold: HistoryFold
  #batch: Event[] = []
  #size = 0

  constructor(store: Store, id: string, events: number, head: number | undefined) {
    this.#store = store
    this.#id = id
    this.#events = events
    this.#head = head
    this.#fold = new HistoryFold(id)
  }

  async take(line: Line): Promise<void> {
    if ('event' in line) return this.#takeEvent(line.seq, line.event)
    const epoch = await this.#claim()
    if ('piece' in line) {
      const bytes = Buffer.from(line.piece, 'base64')
      await this.#store.addPiece(this.#id, line.blob, {
        epoch,
        at: line.at,
        bytes,
        ...(line.last && { last: true }),
      })
    } else if ('body' in line) await this.#store.putBlob(this.#id, line.blob, line.body, epoch)
  }

  /** The last event, with which the session is whole. */
  async end(): Promise<void> {
    await this.#flush()
  }

  async #takeEvent(seq: number, event: Event): Promise<void> {
    // The blobs come before the last event.
    if (seq === this.#events) await this.#flush()
    this.#fold.take({ event })
    if (this.#head === undefined && event.type === 'session.created') await this.#create(event)
    if (seq <= (this.#head ?? 0)) return
    this.#batch.push(event)
    this.#size += roughSize(event)
    if (this.#size >= batchBytes && seq < this.#events) await this.#flush()
  }

  async #create({ owner, agent, at: createdAt }: SessionCreated): Promise<void> {
    const row = { id: this.#id, owner, agent, status: 'idle', createdAt } as const
    const made = await this.#store.create({ row, events: [], summary: summariseForList(this.#fold.state) })
    if ('epoch' in made) this.#epoch = made.epoch
    this.#head = 0
  }

  async #flush(): Promise<void> {
    const events = this.#batch
    if (events.length === 0) return
    this.#batch = []
    this.#size = 0
    const { state } = this.#fold
    const head = this.#head ?? 0
    this.#head = head + events.length
    const status = this.#head === this.#events ? sessionStatus(state) : 'idle'
    const epoch = await this.#claim()
    const listed = { status, summary: summariseForList(state), facts: sessionFacts(state, status) }
    await this.#store.append({ session: this.#id, epoch, seq: head + 1, events, ...listed })
  }

  async #claim(): Promise<number> {
    this.#epoch ??= (await this.#store.claim(this.#id))?.epoch
    if (this.#epoch !== undefined) return this.#epoch
    throw new TurnwireError('session_not_found', `The session ${this.#id} was deleted while it was imported.`)
  }
}
