// A store in memory: for tests, for `data: 'memory'`, and as the floor that durable stores are measured against. It
// keeps the event objects it is given, without a copy, so callers must not change them. Several nodes of one process
// can share one memory, for tests and simulations of many nodes.
import { randomBytes } from 'node:crypto'
import type {
  ListSummary,
  NewSession,
  NodeInfo,
  NodeStore,
  RecordStore,
  SeenNode,
  SessionFinder,
  SessionRow,
  Spending,
  Store,
} from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, Recorded } from '../language/events.ts'
import { boundSession } from '../language/payments.ts'
import { roughSize } from '../lib/json/plain.ts'
import { type KeepsPayments, type KeptPayment, type PaymentStore, paymentChanged } from '../payments/port.ts'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'
import {
  checkAppend,
  checkEpoch,
  checkPiece,
  failsWith,
  heldElsewhere,
  nodeLeaseEnded,
  sessionExists,
  sessionMissing,
  type WriteFailure,
  type WriteRequest,
} from './failures.ts'
import { type FindableSession, MemoryFinder } from './memory-finder.ts'
import { MemoryRecords } from './memory-records.ts'
import { listedPayment, pageRows, sameRequest, withChange } from './payment-rows.ts'
import { addSpent, type SpendingRow, spender, spendingRows } from './spending-rows.ts'

type MemorySession = {
  /** Grows by one with each creation: the position of the session in lists. */
  ordinal: number
  /** Its `bytes` are those of the first `measured` events: see `readRow`. */
  row: SessionRow
  measured: number
  epoch: number
  events: Event[]
  /** The JSON length of each event, filled by reads that need it. */
  sizes: number[]
  /** Each is made with the first blob: most sessions have none. */
  blobs: Map<string, string> | undefined
  inPieces: Map<string, BlobInPieces> | undefined
  summary: ListSummary | undefined
  request: NewSession['request']
  /** The id of the node that has it. */
  node: string | undefined
}

type BlobInPieces = { pieces: Uint8Array[]; size: number; whole: boolean }

export function memoryStore(): Store & KeepsPayments {
  return new MemoryStore()
}

/** One memory for several nodes: each opens a store of its own. `now`: milliseconds of the clock by which leases end. */
export function sharedMemory(now: () => number = () => performance.now()): {
  open(): NodeStore & KeepsPayments
} {
  const memory = new Memory()
  return { open: () => new MemoryNode(memory, now) }
}

/** The stored data, which several stores may share. */
class Memory {
  /** In the order of creation. */
  readonly sessions = new Map<string, MemorySession>()
  readonly requests = new Map<string, MemorySession>()
  readonly nodes = new Map<string, NodeInfo & { until: number }>()
  readonly payments = memoryPayments()
  readonly spending = new Map<string, SpendingRow>()
  readonly records = new MemoryRecords()
  readonly cursorSecret = randomBytes(32).toString('hex')
  readonly finder = new MemoryFinder(() => this.#findable())
  created = 0

  #findable(): FindableSession[] {
    return [...this.sessions.values()].map(({ ordinal, row, summary, events }) => ({
      ordinal,
      row: { ...row, ...(summary && { summary }) },
      events: after => events.slice(after).map((event, index) => ({ seq: after + index + 1, event })),
    }))
  }
}

/** Its methods are fields, so that `{ ...memoryStore(), append }` works. */
class MemoryStore implements Store, KeepsPayments {
  protected readonly memory: Memory
  readonly inMemory = true
  readonly payments: PaymentStore
  readonly records: RecordStore
  readonly finder: SessionFinder
  readonly #failures = new Map<string, WriteFailure>()

  constructor(memory = new Memory()) {
    this.memory = memory
    this.payments = memory.payments
    this.records = memory.records
    this.finder = memory.finder
  }

  /** The node that takes sessions through this store. Throws if it may not take this one. */
  protected taker(_session?: MemorySession): string | undefined {
    return undefined
  }

  protected isFree(_session: MemorySession): boolean {
    return true
  }

  readonly create: Store['create'] = ({ row, events, summary, request }) =>
    this.#write(row.id, { kind: 'create' }, () => {
      const node = this.taker()
      const first = request && this.memory.requests.get(requestId(row.owner, request.key))
      if (first?.request) return { existing: first.row.id, hash: first.request.hash }
      if (this.memory.sessions.has(row.id)) throw sessionExists(row.id)
      const session: MemorySession = {
        ordinal: ++this.memory.created,
        row: {
          ...row,
          updatedAt: events.at(-1)?.at ?? row.createdAt,
          head: events.length,
          bytes: 0,
          blobBytes: 0,
          recoveries: 0,
        },
        measured: 0,
        epoch: 1,
        events: [...events],
        sizes: [],
        blobs: undefined,
        inPieces: undefined,
        summary,
        request,
        node,
      }
      this.memory.sessions.set(row.id, session)
      if (request) this.memory.requests.set(requestId(row.owner, request.key), session)
      return { epoch: 1 }
    })

  readonly claim: Store['claim'] = async (id, recovering) => {
    const session = this.memory.sessions.get(id)
    if (!session) return undefined
    session.node = this.taker(session)
    if (recovering) session.row.recoveries += 1
    return { epoch: ++session.epoch, row: { ...readRow(session) } }
  }

  readonly append: Store['append'] = batch =>
    this.#write(batch.session, { kind: 'append', epoch: batch.epoch }, () => {
      const session = this.#existing(batch.session)
      const { row, events } = session
      checkAppend(batch, session.epoch, row.head)
      for (const event of batch.events) events.push(event)
      row.head = events.length
      row.recoveries = 0
      row.status = batch.status
      row.updatedAt = batch.events.at(-1)?.at ?? row.updatedAt
      session.summary = batch.summary ?? session.summary
      if (batch.facts) row.facts = batch.facts
      if (batch.spending) this.#count(batch.spending)
      if (batch.records) this.memory.records.addAll(batch.records)
    })

  #count(spending: readonly Spending[]): void {
    for (const { kind, name, day, ...more } of spendingRows(spending)) {
      const key = JSON.stringify([kind, name, day])
      const before = this.memory.spending.get(key)
      this.memory.spending.set(key, { kind, name, day, ...(before ? addSpent(before, more) : more) })
    }
  }

  readonly spent: NonNullable<Store['spent']> = async (of, period) => {
    const { kind, name } = spender(of)
    return this.memory.spending
      .values()
      .filter(row => row.kind === kind && row.name === name && row.day.startsWith(period))
      .reduce(addSpent, { tokens: 0, money: 0, calls: 0 })
  }

  readonly spend: NonNullable<Store['spend']> = async spending => this.#count([spending])

  readonly remove: Store['remove'] = (id, epoch) =>
    this.#write(id, { kind: 'remove', ...(epoch !== undefined && { epoch }) }, () => {
      const session = this.memory.sessions.get(id)
      if (session) checkEpoch(id, epoch, session.epoch)
      this.memory.records.removeOf(id)
      if (session?.request) this.memory.requests.delete(requestId(session.row.owner, session.request.key))
      return this.memory.sessions.delete(id)
    })

  readonly putBlob: Store['putBlob'] = (id, name, body, epoch) =>
    this.#write(id, { kind: 'putBlob', ...(epoch !== undefined && { epoch }) }, () => {
      const session = this.#existing(id)
      checkEpoch(id, epoch, session.epoch)
      session.blobs ??= new Map()
      session.row.blobBytes += body.length - (session.blobs.get(name)?.length ?? 0)
      session.blobs.set(name, body)
    })

  readonly addPiece: Store['addPiece'] = (id, name, piece) =>
    this.#write(id, { kind: 'addPiece', epoch: piece.epoch }, () => {
      const session = this.#existing(id)
      session.inPieces ??= new Map()
      const { row, inPieces, epoch } = session
      const before = inPieces.get(name)
      const { at, bytes, last = false } = piece
      checkPiece(id, piece, epoch, before?.whole ? undefined : before?.size)
      if (at === 0) row.blobBytes -= before?.size ?? 0
      row.blobBytes += bytes.length
      const pieces = at === 0 || !before ? [] : before.pieces
      pieces.push(bytes.slice())
      if (at === 0 && bytes.length === 0 && !last) inPieces.delete(name)
      else inPieces.set(name, { pieces, size: at + bytes.length, whole: last })
    })

  readonly blobRange: Store['blobRange'] = async (id, name, from, length) => {
    const found = this.memory.sessions.get(id)?.inPieces?.get(name)
    if (!found?.whole) return undefined
    const parts: Uint8Array[] = []
    let start = 0
    for (const piece of found.pieces) {
      if (start < from + length && start + piece.length > from)
        parts.push(piece.subarray(Math.max(from - start, 0), Math.min(from + length - start, piece.length)))
      start += piece.length
    }
    return { bytes: new Uint8Array(Buffer.concat(parts)), size: found.size }
  }

  readonly row: Store['row'] = async id => {
    const session = this.memory.sessions.get(id)
    return session && { ...readRow(session) }
  }

  readonly requested: Store['requested'] = async (owner, key) =>
    this.memory.requests.get(requestId(owner, key))?.row.id

  readonly read: Store['read'] = async (id, after = 0, { maxBytes } = {}) => {
    const { events, sizes } = this.memory.sessions.get(id) ?? { events: [], sizes: [] }
    const page: Recorded[] = []
    let bytes = 0
    for (let index = Math.max(after, 0); index < events.length; index++) {
      const event = events[index]!
      page.push({ seq: index + 1, event })
      if (maxBytes === undefined) continue
      sizes[index] ??= JSON.stringify(event).length
      bytes += sizes[index]!
      if (bytes >= maxBytes) break
    }
    return page
  }

  readonly list: Store['list'] = async (owner, { after, limit, status }) => {
    checkLimit(limit)
    const below =
      after === undefined ? Infinity : decodeCursor(this.memory.cursorSecret, owner, after).position
    const found = this.#filter(
      ({ row, ordinal }) =>
        ordinal < below &&
        (owner === null || row.owner === owner) &&
        (status === undefined || row.status === status),
    )
    const shown = found.slice(-limit)
    const rows = shown.map(session => ({
      ...readRow(session),
      ...(session.summary && { summary: session.summary }),
    }))
    rows.reverse()
    if (found.length === shown.length) return { rows }
    return { rows, next: encodeCursor(this.memory.cursorSecret, owner, shown[0]!.ordinal) }
  }

  readonly owners: Store['owners'] = async () => [
    ...new Set(this.#filter(() => true).map(({ row }) => row.owner)),
  ]

  readonly usage: Store['usage'] = async owner => {
    const own = this.#filter(({ row }) => row.owner === owner)
    const bytes = own.map(readRow).reduce((sum, row) => sum + row.bytes + row.blobBytes, 0)
    return { sessions: own.length, bytes }
  }

  readonly unfinished: Store['unfinished'] = async () =>
    this.#filter(session => isUnfinished(session.row) && this.isFree(session)).map(({ row }) => row.id)

  readonly blob: Store['blob'] = async (id, name) => this.memory.sessions.get(id)?.blobs?.get(name)

  readonly blobs: Store['blobs'] = async id => {
    const session = this.memory.sessions.get(id)
    if (!session) return []
    const whole = [...(session.inPieces ?? [])].filter(([, blob]) => blob.whole)
    return [
      ...[...(session.blobs?.keys() ?? [])].map(name => ({ name, inPieces: false })),
      ...whole.map(([name]) => ({ name, inPieces: true })),
    ]
  }

  readonly close = async (): Promise<void> => {}

  /** Writes at once. A failure is kept until the caller's promise has rejected. */
  #write<T>(session: string, request: WriteRequest, run: () => T): Promise<T> {
    const before = this.#failures.get(session)
    if (before && failsWith(before, request)) return Promise.reject(before.error)
    try {
      return Promise.resolve(run())
    } catch (error) {
      if (error instanceof TurnwireError) {
        this.#failures.set(session, { error, epoch: request.epoch })
        queueMicrotask(() => this.#failures.delete(session))
      }
      return Promise.reject(error)
    }
  }

  #existing(id: string): MemorySession {
    const session = this.memory.sessions.get(id)
    if (session === undefined) throw sessionMissing(id)
    return session
  }

  #filter(test: (session: MemorySession) => boolean): MemorySession[] {
    return [...this.memory.sessions.values().filter(test)]
  }
}

/** The memory as one of its nodes sees it. */
class MemoryNode extends MemoryStore implements NodeStore {
  readonly #now: () => number
  #self: { id: string; leaseMs: number } | undefined

  constructor(memory: Memory, now: () => number) {
    super(memory)
    this.#now = now
  }

  readonly join: NodeStore['join'] = async (node, leaseMs) => {
    this.memory.nodes.set(node.id, { ...node, until: this.#now() + leaseMs })
    this.#self = { id: node.id, leaseMs }
  }

  readonly renew: NodeStore['renew'] = async () => {
    const self = this.#self
    const row = self && this.memory.nodes.get(self.id)
    if (!self || !row) return false
    const others = this.memory.nodes.values().filter(({ id }) => id !== self.id)
    if (row.until <= this.#now() && others.some(({ id }) => this.#lives(id))) return false
    row.until = this.#now() + self.leaseMs
    return true
  }

  readonly leave: NodeStore['leave'] = async () => {
    const row = this.#self && this.memory.nodes.get(this.#self.id)
    if (row) row.until = -Infinity
    this.#self = undefined
  }

  readonly nodes: NodeStore['nodes'] = async () => [
    ...this.memory.nodes.values().map(node => this.#seen(node)),
  ]

  readonly holder: NodeStore['holder'] = async id => {
    const session = this.memory.sessions.get(id)
    if (!session) return undefined
    const { epoch, node } = session
    if (node === undefined) return { epoch }
    return { epoch, node: this.#seen(this.memory.nodes.get(node) ?? goneNode(node)) }
  }

  readonly adopt: NodeStore['adopt'] = async (id, epoch) => {
    const session = this.memory.sessions.get(id)
    const self = this.#self?.id
    if (session?.epoch !== epoch || self === undefined || !this.#lives(self) || !this.#isAbandoned(session))
      return false
    session.node = self
    session.epoch += 1
    return true
  }

  readonly release: NodeStore['release'] = async (id, epoch) => {
    const session = this.memory.sessions.get(id)
    if (session?.epoch === epoch) session.node = undefined
  }

  readonly abandoned: NodeStore['abandoned'] = async (after, limit) => {
    const found = [...this.memory.sessions.values()].filter(
      session => session.row.id > after && isUnfinished(session.row) && this.#isAbandoned(session),
    )
    const abandoned = found.map(({ row, epoch, summary }) => ({
      id: row.id,
      epoch,
      ...(summary?.parent !== undefined && { parent: summary.parent }),
      ...(row.status === 'waiting' && !row.facts?.atWork && { rests: true as const }),
    }))
    return abandoned.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
  }

  protected override taker(session?: MemorySession): string | undefined {
    const self = this.#self?.id
    if (self !== undefined && !this.#lives(self)) throw nodeLeaseEnded(self)
    if (session && !this.isFree(session)) throw heldElsewhere(session.row.id, session.node!)
    return self
  }

  protected override isFree(session: MemorySession): boolean {
    return this.#isAbandoned(session) || session.node === this.#self?.id
  }

  #isAbandoned({ node }: MemorySession): boolean {
    return node === undefined || !this.#lives(node)
  }

  #lives(id: string): boolean {
    return (this.memory.nodes.get(id)?.until ?? -Infinity) > this.#now()
  }

  #seen({ until, ...node }: NodeInfo & { until: number }): SeenNode {
    return { ...node, leftMs: until - this.#now() }
  }
}

/** Events are measured when someone asks how large the session is: appends are many, and few ask. */
function readRow(session: MemorySession): SessionRow {
  const { row, events } = session
  for (; session.measured < events.length; session.measured += 1)
    row.bytes += roughSize(events[session.measured])
  return row
}

function goneNode(id: string): NodeInfo & { until: number } {
  return { id, version: '', until: -Infinity }
}

function requestId(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}

function isUnfinished({ status, facts }: SessionRow): boolean {
  return (
    status === 'running' || (status === 'waiting' && (facts?.atWork === true || facts?.dueAt !== undefined))
  )
}

function memoryPayments(): PaymentStore {
  /** In the order of creation. */
  const all = new Map<string, KeptPayment>()
  return {
    async reserve(record) {
      const there = all.get(record.id)
      if (there) return sameRequest(there, record)
      const kept = { record, version: 1 }
      all.set(record.id, kept)
      return kept
    },
    async record(kept, change) {
      const { id } = kept.record
      const there = all.get(id)
      if (there?.version !== kept.version) throw paymentChanged()
      const changed = withChange(there, change)
      all.set(id, changed)
      return changed
    },
    find: async id => all.get(id),
    async list(page) {
      const { after, payer, session, open } = page
      const newest = [...all.values()].reverse()
      const from = after === undefined ? 0 : newest.findIndex(({ record }) => record.id === after) + 1
      const found = newest
        .slice(from)
        .filter(
          ({ record }) =>
            (payer === undefined || record.payer === payer) &&
            (session === undefined || boundSession(record) === session) &&
            (!open || record.open),
        )
        .slice(0, pageRows(page))
      const rows = found.slice(0, page.limit).map(listedPayment)
      return found.length > page.limit ? { rows, next: rows.at(-1)!.record.id } : { rows }
    },
  }
}
