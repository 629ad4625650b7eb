// The store on PostgreSQL, for one node or many. A write that resolves is committed. Epochs keep writers apart, also those
// of other nodes. It connects when it is first used, and loads its client and its
// statements then.
import { randomBytes, randomUUID } from 'node:crypto'
import type { NodeStore, RecordStore, Store } from '../../engine/ports/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { KeepsPayments, PaymentStore } from '../../payments/port.ts'
import { storeClosed } from '../failures.ts'
import { IndexThread } from '../log-index/thread.ts'
import { spendingRows } from '../spending-rows.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { DatabaseFault } from './faults.ts'
import type { Nodes, SelfNode } from './nodes.ts'
import type { OpenTables } from './open-tables.ts'
import type { Reader } from './reader.ts'
import { toText } from './text.ts'
import { type QueueOptions, WriteQueue, type WriteResult } from './write-queue.ts'
import { type Claimed, type Created, toAppending, toColumns, toCreation, type Write } from './writes.ts'

export type PostgresOptions = DatabaseOptions & {
  /** The schema that holds the tables; it is made if there is none. Default `turnwire`. */
  schema?: string
  group?: QueueOptions
  /** Called when the database goes away or refuses writes, and without an error when it is back. */
  onChange?: (failure: TurnwireError | undefined) => void
}

/** A commit takes about as long as this. Parallel calls that end together share one. */
const LINGER_MS = 2

/** A probe of a database that takes no writes costs it a connection. Health checks do not wait for this. */
const PROBE_EVERY_MS = 1_000

/** An event that is kept in its row, and one that is kept outside of it. */
const SMALL_EVENT = 1_600
const LARGE_EVENT = 32_000

export function postgresStore(
  options: PostgresOptions,
): NodeStore & KeepsPayments & { readonly records: RecordStore } {
  return new PostgresStore(options)
}

/** Its methods are fields, so that `{ ...postgresStore(…), append }` works. */
class PostgresStore implements NodeStore, KeepsPayments {
  readonly lingerMs = LINGER_MS
  readonly #db: Database
  readonly #schema: string
  readonly #queue: WriteQueue
  readonly finder: IndexThread
  #opened: Promise<OpenTables> | undefined
  #self: SelfNode | undefined
  #probing = false
  #probedAt = -Infinity
  #closing: Promise<void> | undefined

  constructor({ schema = 'turnwire', group, onChange, ...options }: PostgresOptions) {
    this.#db = new Database(options)
    this.#db.onChange = onChange
    this.#schema = `"${schema.replaceAll('"', '""')}"`
    this.finder = new IndexThread({
      program: new URL(`index-worker${import.meta.url.slice(-3)}`, import.meta.url),
      setup: { ...options, schema: this.#schema },
      // Its address may leave parts to the variables of the client.
      env: process.env,
    })
    this.#queue = new WriteQueue(runs => this.#carryOut(runs), group)
  }

  readonly create: Store['create'] = session => this.#write<Created>(toCreation(session))

  readonly claim: Store['claim'] = (session, recovering) =>
    this.#write<Claimed | undefined>({ kind: 'claim', session, recovering: recovering === true, size: 0 })

  readonly append: Store['append'] = batch => this.#write<void>(toAppending(batch))

  readonly remove: Store['remove'] = (session, epoch) =>
    this.#write<boolean>({ kind: 'remove', session, ...(epoch !== undefined && { epoch }), size: 0 })

  readonly putBlob: Store['putBlob'] = (session, name, body, epoch) => {
    const fence = epoch === undefined ? {} : { epoch }
    return this.#write<void>({ kind: 'putBlob', session, ...fence, name, body, size: body.length })
  }

  readonly addPiece: Store['addPiece'] = (session, name, piece) =>
    this.#write<void>({ kind: 'addPiece', session, name, size: piece.bytes.length, ...piece })

  readonly row: Store['row'] = session => this.#read(reader => reader.row(session))

  readonly requested: Store['requested'] = (owner, key) => this.#read(reader => reader.requested(owner, key))

  readonly read: Store['read'] = (session, after = 0, { maxBytes = Infinity } = {}) =>
    this.#read(reader => reader.read(session, after, maxBytes))

  readonly list: Store['list'] = (owner, page) => this.#read(reader => reader.list(owner, page))

  readonly owners: Store['owners'] = () => this.#read(reader => reader.owners())

  readonly usage: Store['usage'] = owner => this.#read(reader => reader.usage(owner))

  readonly spent: NonNullable<Store['spent']> = (of, period) => this.#read(reader => reader.spent(of, period))

  readonly spend: NonNullable<Store['spend']> = spending =>
    this.#use(async ({ sql }) => {
      const rows = spendingRows([spending]).map(({ kind, name, day, tokens, money, calls }) => [
        kind,
        toText(name),
        day,
        tokens,
        money,
        calls,
      ])
      await this.#db.run(sql.addSpending, toColumns(rows))
    })

  readonly unfinished: Store['unfinished'] = () => this.#read(reader => reader.unfinished(this.#selfId))

  readonly blob: Store['blob'] = (session, name) => this.#read(reader => reader.blob(session, name))

  readonly blobs: Store['blobs'] = session => this.#read(reader => reader.blobs(session))

  readonly blobRange: Store['blobRange'] = (session, name, from, length) =>
    this.#read(reader => reader.blobRange(session, name, from, length))

  readonly join: NodeStore['join'] = async (node, leaseMs) => {
    await this.#ask(nodes => nodes.join(node, leaseMs))
    this.#self = { id: node.id, leaseMs }
  }

  /** Among the writes, so that it waits and fails as they do. */
  readonly renew: NodeStore['renew'] = async () => {
    if (!this.#self) return false
    const { id: node, leaseMs } = this.#self
    return this.#write<boolean>({ kind: 'renew', session: `node ${node}`, node, leaseMs, size: 0 })
  }

  readonly leave: NodeStore['leave'] = async () => {
    const self = this.#self
    this.#self = undefined
    if (self) await this.#ask(nodes => nodes.end(self))
  }

  readonly nodes: NodeStore['nodes'] = () => this.#ask(nodes => nodes.list())

  readonly holder: NodeStore['holder'] = session => this.#ask(nodes => nodes.holder(session))

  readonly adopt: NodeStore['adopt'] = async (session, epoch) => {
    const self = this.#self
    return self ? this.#ask(nodes => nodes.adopt(self, session, epoch)) : false
  }

  readonly release: NodeStore['release'] = (session, epoch) =>
    this.#ask(nodes => nodes.release(session, epoch))

  readonly abandoned: NodeStore['abandoned'] = (after, limit) =>
    this.#ask(nodes => nodes.abandoned(after, limit))

  readonly payments: PaymentStore = {
    reserve: record => this.#use(({ payments }) => payments.reserve(record)),
    record: (kept, change) => this.#use(({ payments }) => payments.record(kept, change)),
    find: id => this.#use(({ payments }) => payments.find(id)),
    list: page => this.#use(({ payments }) => payments.list(page)),
  }

  readonly records: RecordStore = {
    add: record => this.#use(({ records }) => records.add(record)),
    change: (kept, to) => this.#use(({ records }) => records.change(kept, to)),
    remove: kept => this.#use(({ records }) => records.remove(kept)),
    find: (kind, name) => this.#use(({ records }) => records.find(kind, name)),
    list: page => this.#use(({ records }) => records.list(page)),
    due: (kind, limit) => this.#use(({ records }) => records.due(kind, limit)),
  }

  get #selfId(): string | null {
    return this.#self?.id ?? null
  }

  /** A database that failed is tried meanwhile, so that it is found working also when nobody writes. */
  readonly failure: NonNullable<Store['failure']> = () => {
    const { failure } = this.#db
    if (!failure || this.#closing) return undefined
    this.#probe()
    return { code: failure.code, message: failure.message }
  }

  readonly close = (): Promise<void> => (this.#closing ??= this.#closeNow())

  async #closeNow(): Promise<void> {
    await this.#queue.idle()
    await this.finder.close()
    await this.#db.close()
  }

  #write<Result>(write: Write): Promise<Result> {
    if (this.#closing) return Promise.reject(storeClosed())
    return this.#queue.write(write) as Promise<Result> // what the writer gives for this kind of write
  }

  async #carryOut(runs: Write[][]): Promise<WriteResult[]> {
    try {
      const { writer } = await this.#open()
      const results = await writer.carryOut(runs)
      if (results.some(result => 'value' in result)) this.#answered()
      return results
    } catch (thrown) {
      const error = asError(thrown)
      return runs.map(() => ({ error }))
    }
  }

  #read<T>(query: (reader: Reader) => Promise<T>): Promise<T> {
    return this.#use(({ reader }) => query(reader))
  }

  #ask<T>(query: (nodes: Nodes) => Promise<T>): Promise<T> {
    return this.#use(({ nodes }) => query(nodes))
  }

  async #use<T>(query: (opened: OpenTables) => Promise<T>): Promise<T> {
    if (this.#closing) throw storeClosed()
    try {
      const result = await query(await this.#open())
      this.#answered()
      return result
    } catch (thrown) {
      throw asError(thrown)
    }
  }

  #open(): Promise<OpenTables> {
    this.#opened ??= this.#openNow().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #openNow(): Promise<OpenTables> {
    const { openTables } = await import('./open-tables.ts')
    return openTables(this.#db, this.#schema, () => this.#selfId)
  }

  /** A database that failed answers again: this may be its end, or only of what it still can do. */
  #answered(): void {
    if (this.#db.failure && performance.now() - this.#probedAt > PROBE_EVERY_MS) this.#probe()
  }

  #probe(): void {
    if (this.#probing) return
    this.#probing = true
    this.#probedAt = performance.now()
    const over = (): void => {
      this.#probing = false
    }
    this.#tryWriting().then(over, over)
  }

  async #tryWriting(): Promise<void> {
    const isFull = this.#db.failure?.code === 'store_full'
    const { sql } = await this.#open()
    if (isFull) await this.#tryRoom(sql)
    else await this.#db.run(sql.touch, [String(Date.now())])
    this.#db.recovered()
  }

  /** A full database takes a small write here and there. It works again when the table of events can grow. */
  async #tryRoom(sql: OpenTables['sql']): Promise<void> {
    const [session, small, large] = [`room ${randomUUID()}`, randomText(SMALL_EVENT), randomText(LARGE_EVENT)]
    await this.#db.transaction(async run => {
      await run(sql.takeRoom, [session, small, large])
      await run(sql.freeRoom, [session])
    })
  }
}

/** Not compressible: it takes as much room as it is long. */
function randomText(length: number): string {
  return randomBytes((length * 3) / 4).toString('base64')
}

function asError(thrown: unknown): TurnwireError {
  if (thrown instanceof TurnwireError) return thrown
  if (thrown instanceof DatabaseFault) return thrown.error
  return new TurnwireError('store_failed', wordsOf(thrown), { cause: thrown })
}
