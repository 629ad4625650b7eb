// A store in memory: for tests, for `data: 'memory'`, and as the floor that durable stores are measured against. It
// keeps the event objects it is given, without a copy, so callers must not change them.
import { randomBytes } from 'node:crypto'
import type { Append, ListSummary, NewSession, SessionRow, Store } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, Recorded } from '../language/events.ts'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'
import {
  checkAppend,
  failsWith,
  sessionExists,
  sessionMissing,
  type WriteFailure,
  type WriteRequest,
  writeFailure,
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
  summary: ListSummary | undefined
  request: NewSession['request']
}

export function memoryStore(): Store {
  const data = new MemoryData()
  const failures = new Map<string, WriteFailure>()

  /** Writes at once. A failure stays until the caller can know of it. */
  function write<T>(session: string, request: WriteRequest, run: () => T): Promise<T> {
    const before = failures.get(session)
    if (before && failsWith(before, request)) return Promise.reject(before.error)
    try {
      return Promise.resolve(run())
    } catch (thrown) {
      if (thrown instanceof TurnwireError) {
        failures.set(session, writeFailure(request, thrown))
        queueMicrotask(() => failures.delete(session))
      }
      return Promise.reject(thrown)
    }
  }

  return {
    create: session => write(session.row.id, { kind: 'create' }, () => data.create(session)),
    claim: async id => data.claim(id),
    append: batch => write(batch.session, { kind: 'append', epoch: batch.epoch }, () => data.append(batch)),
    remove: id => write(id, { kind: 'remove' }, () => data.remove(id)),
    putBlob: (id, name, body) => write(id, { kind: 'putBlob' }, () => data.putBlob(id, name, body)),
    row: async id => data.row(id),
    requested: async (owner, key) => data.requests.get(requestId(owner, key))?.row.id,
    read: async (id, after = 0, { maxBytes } = {}) => data.read(id, after, maxBytes),
    list: async (owner, page) => data.list(owner, page),
    owners: async () => [...new Set(data.sessions.values().map(({ row }) => row.owner))],
    unfinished: async () =>
      [...data.sessions.values()].filter(({ row }) => row.status === 'running').map(({ row }) => row.id),
    blob: async (id, name) => data.sessions.get(id)?.blobs.get(name),
    close: async () => {},
  }
}

class MemoryData {
  /** In the order of creation. */
  readonly sessions = new Map<string, MemorySession>()
  readonly requests = new Map<string, MemorySession>()
  readonly #cursorSecret = randomBytes(32).toString('hex')
  #created = 0

  create({ row, events, summary, request }: NewSession): Awaited<ReturnType<Store['create']>> {
    const first = request && this.requests.get(requestId(row.owner, request.key))
    if (first?.request) return { existing: first.row.id, hash: first.request.hash }
    if (this.sessions.has(row.id)) throw sessionExists(row.id)
    const session: MemorySession = {
      ordinal: ++this.#created,
      row: { ...row, updatedAt: events.at(-1)?.at ?? row.createdAt, head: events.length },
      epoch: 1,
      events: [...events],
      sizes: [],
      blobs: new Map(),
      summary,
      request,
    }
    this.sessions.set(row.id, session)
    if (request) this.requests.set(requestId(row.owner, request.key), session)
    return { epoch: 1 }
  }

  claim(id: string): Awaited<ReturnType<Store['claim']>> {
    const session = this.sessions.get(id)
    return session && { epoch: ++session.epoch, row: { ...session.row } }
  }

  append(batch: Append): void {
    const session = this.sessions.get(batch.session)
    if (session === undefined) throw sessionMissing(batch.session)
    const { row, events } = session
    checkAppend(batch, session.epoch, row.head)
    for (const event of batch.events) events.push(event)
    row.head = events.length
    row.status = batch.status
    row.updatedAt = batch.events.at(-1)?.at ?? row.updatedAt
    session.summary = batch.summary ?? session.summary
  }

  remove(id: string): boolean {
    const session = this.sessions.get(id)
    if (session?.request) this.requests.delete(requestId(session.row.owner, session.request.key))
    return this.sessions.delete(id)
  }

  putBlob(id: string, name: string, body: string): void {
    const session = this.sessions.get(id)
    if (session === undefined) throw sessionMissing(id)
    session.blobs.set(name, body)
  }

  row(id: string): SessionRow | undefined {
    const session = this.sessions.get(id)
    return session && { ...session.row }
  }

  read(id: string, after: number, maxBytes: number | undefined): Recorded[] {
    const { events, sizes } = this.sessions.get(id) ?? { events: [], sizes: [] }
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

  list(owner: string, page: { after?: string; limit: number }): Awaited<ReturnType<Store['list']>> {
    checkLimit(page.limit)
    const below = page.after === undefined ? Infinity : decodeCursor(this.#cursorSecret, owner, page.after)
    const found = [...this.sessions.values()].filter(
      ({ row, ordinal }) => row.owner === owner && ordinal < below,
    )
    const shown = found.slice(-page.limit)
    const next =
      found.length > shown.length ? encodeCursor(this.#cursorSecret, owner, shown[0]!.ordinal) : undefined
    return {
      rows: shown.reverse().map(({ row, summary }) => (summary ? { ...row, summary } : { ...row })),
      ...(next !== undefined && { next }),
    }
  }
}

function requestId(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}
