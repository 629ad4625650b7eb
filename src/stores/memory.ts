// A store in memory: for tests, for `data: 'memory'`, and as the floor that durable stores are measured against. It
// keeps the event objects it is given, without a copy, so callers must not change them.
import { randomBytes } from 'node:crypto'
import type { ListSummary, NewSession, SessionRow, Store } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, Recorded } from '../language/events.ts'
import { roughSize } from '../lib/rough-size.ts'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'
import {
  checkAppend,
  checkPiece,
  failsWith,
  sessionExists,
  sessionMissing,
  type WriteFailure,
  type WriteRequest,
} from './failures.ts'

type MemorySession = {
  /** Grows by one with each creation: the position of the session in lists. */
  ordinal: number
  row: SessionRow
  epoch: number
  events: Event[]
  /** The JSON length of each event, filled by reads that need it. */
  sizes: number[]
  blobs: Map<string, string>
  inPieces: Map<string, BlobInPieces>
  summary: ListSummary | undefined
  request: NewSession['request']
}

type BlobInPieces = { pieces: Uint8Array[]; size: number; whole: boolean }

export function memoryStore(): Store {
  return new MemoryStore()
}

/** Its methods are fields, so that `{ ...memoryStore(), append }` works. */
class MemoryStore implements Store {
  /** In the order of creation. */
  readonly #sessions = new Map<string, MemorySession>()
  readonly #requests = new Map<string, MemorySession>()
  readonly #failures = new Map<string, WriteFailure>()
  readonly #cursorSecret = randomBytes(32).toString('hex')
  #created = 0

  readonly create: Store['create'] = ({ row, events, summary, request }) =>
    this.#write(row.id, { kind: 'create' }, () => {
      const first = request && this.#requests.get(requestId(row.owner, request.key))
      if (first?.request) return { existing: first.row.id, hash: first.request.hash }
      if (this.#sessions.has(row.id)) throw sessionExists(row.id)
      const session: MemorySession = {
        ordinal: ++this.#created,
        row: {
          ...row,
          updatedAt: events.at(-1)?.at ?? row.createdAt,
          head: events.length,
          bytes: roughSize(events),
          blobBytes: 0,
          recoveries: 0,
        },
        epoch: 1,
        events: [...events],
        sizes: [],
        blobs: new Map(),
        inPieces: new Map(),
        summary,
        request,
      }
      this.#sessions.set(row.id, session)
      if (request) this.#requests.set(requestId(row.owner, request.key), session)
      return { epoch: 1 }
    })

  readonly claim: Store['claim'] = async (id, recovering) => {
    const session = this.#sessions.get(id)
    if (session && recovering) session.row.recoveries += 1
    return session && { epoch: ++session.epoch, row: { ...session.row } }
  }

  readonly append: Store['append'] = batch =>
    this.#write(batch.session, { kind: 'append', epoch: batch.epoch }, () => {
      const session = this.#existing(batch.session)
      const { row, events } = session
      checkAppend(batch, session.epoch, row.head)
      for (const event of batch.events) events.push(event)
      row.head = events.length
      row.bytes += roughSize(batch.events)
      row.recoveries = 0
      row.status = batch.status
      row.updatedAt = batch.events.at(-1)?.at ?? row.updatedAt
      session.summary = batch.summary ?? session.summary
      if (batch.facts) row.facts = batch.facts
    })

  readonly remove: Store['remove'] = id =>
    this.#write(id, { kind: 'remove' }, () => {
      const session = this.#sessions.get(id)
      if (session?.request) this.#requests.delete(requestId(session.row.owner, session.request.key))
      return this.#sessions.delete(id)
    })

  readonly putBlob: Store['putBlob'] = (id, name, body) =>
    this.#write(id, { kind: 'putBlob' }, () => {
      const { row, blobs } = this.#existing(id)
      row.blobBytes += body.length - (blobs.get(name)?.length ?? 0)
      blobs.set(name, body)
    })

  readonly addPiece: Store['addPiece'] = (id, name, piece) =>
    this.#write(id, { kind: 'addPiece', epoch: piece.epoch }, () => {
      const { row, inPieces, epoch } = this.#existing(id)
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
    const found = this.#sessions.get(id)?.inPieces.get(name)
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
    const session = this.#sessions.get(id)
    return session && { ...session.row }
  }

  readonly requested: Store['requested'] = async (owner, key) =>
    this.#requests.get(requestId(owner, key))?.row.id

  readonly read: Store['read'] = async (id, after = 0, { maxBytes } = {}) => {
    const { events, sizes } = this.#sessions.get(id) ?? { events: [], sizes: [] }
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
    const below = after === undefined ? Infinity : decodeCursor(this.#cursorSecret, owner, after).position
    const found = this.#filter(
      ({ row, ordinal }) =>
        ordinal < below &&
        (owner === null || row.owner === owner) &&
        (status === undefined || row.status === status),
    )
    const shown = found.slice(-limit)
    const rows = shown.map(({ row, summary }) => (summary ? { ...row, summary } : { ...row })).reverse()
    if (found.length === shown.length) return { rows }
    return { rows, next: encodeCursor(this.#cursorSecret, owner, shown[0]!.ordinal) }
  }

  readonly owners: Store['owners'] = async () => [
    ...new Set(this.#filter(() => true).map(({ row }) => row.owner)),
  ]

  readonly usage: Store['usage'] = async owner => {
    const own = this.#filter(({ row }) => row.owner === owner)
    const bytes = own.reduce((sum, { row }) => sum + row.bytes + row.blobBytes, 0)
    return { sessions: own.length, bytes }
  }

  readonly unfinished: Store['unfinished'] = async () =>
    this.#filter(({ row }) => isUnfinished(row)).map(({ row }) => row.id)

  readonly blob: Store['blob'] = async (id, name) => this.#sessions.get(id)?.blobs.get(name)

  readonly close = async (): Promise<void> => {}

  /** Writes at once. A failure stays until the caller can know of it. */
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
    const session = this.#sessions.get(id)
    if (session === undefined) throw sessionMissing(id)
    return session
  }

  #filter(test: (session: MemorySession) => boolean): MemorySession[] {
    return [...this.#sessions.values().filter(test)]
  }
}

function requestId(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}

function isUnfinished({ status, facts }: SessionRow): boolean {
  return (
    status === 'running' || (status === 'waiting' && (facts?.atWork === true || facts?.dueAt !== undefined))
  )
}
