// The store that forgets: for tests, for stateless use, and as the floor that the durable ones are measured
// against. Events are kept as the objects they are and nothing is copied, so a caller must not change what it
// gave. It is safe for one process only and survives nothing.
import { randomBytes } from 'node:crypto'
import type { Append, Card, NewSession, SessionRow, Store } from '../engine/ports.ts'
import type { Event, Recorded } from '../language/events.ts'
import { checkLimit, decodeCursor, encodeCursor } from './cursor.ts'
import { type Asked, type Failure, fallsWith } from './failures.ts'
import { epochPassed, idTaken, seqTaken, sessionMissing } from './refusals.ts'

type Session = {
  /** Grows by one with each creation. */
  ordinal: number
  row: SessionRow
  epoch: number
  events: Event[]
  blobs: Map<string, string>
  card?: Card
  request?: { key: string; hash: string }
}

/** `sessions` stand in the order of their creation. */
type Owner = { sessions: Session[]; requests: Map<string, Session> }

export function memoryStore(): Store {
  const sessions = new Map<string, Session>()
  const owners = new Map<string, Owner>()
  const failures = new Map<string, Failure>()
  const secret = randomBytes(32)
  const done = Promise.resolve()
  let created = 0

  /** Until the one who asked can know that it failed, the failure stands for what it asked after it. */
  function refuse<T>(session: string, failure: Failure): Promise<T> {
    failures.set(session, failure)
    queueMicrotask(() => failures.delete(session))
    return Promise.reject<T>(failure.error)
  }

  function fallen(session: string, asked: Asked): Failure | undefined {
    if (failures.size === 0) return undefined
    const failure = failures.get(session)
    return failure !== undefined && fallsWith(failure, asked) ? failure : undefined
  }

  function create({ row, events, card, request }: NewSession): ReturnType<Store['create']> {
    const failure = fallen(row.id, { kind: 'create' })
    if (failure !== undefined) return Promise.reject(failure.error)
    const owner: Owner = owners.get(row.owner) ?? { sessions: [], requests: new Map() }
    const first = request && owner.requests.get(request.key)
    if (first?.request !== undefined)
      return Promise.resolve({ existing: first.row.id, hash: first.request.hash })
    if (sessions.has(row.id)) return refuse(row.id, { error: idTaken(row.id) })
    const updatedAt = events.at(-1)?.at ?? row.createdAt
    const session: Session = {
      ordinal: ++created,
      row: { ...row, updatedAt, head: events.length },
      epoch: 1,
      events: [...events],
      blobs: new Map(),
      ...(card && { card }),
      ...(request && { request }),
    }
    sessions.set(row.id, session)
    owners.set(row.owner, owner)
    owner.sessions.push(session)
    if (request) owner.requests.set(request.key, session)
    return Promise.resolve({ epoch: 1 })
  }

  function append(batch: Append): Promise<void> {
    const { session: id, epoch, events } = batch
    const failure = failures.size === 0 ? undefined : fallen(id, { kind: 'append', epoch })
    if (failure !== undefined) return Promise.reject(failure.error)
    const session = sessions.get(id)
    if (session === undefined) return refuse(id, { error: sessionMissing(id), epoch })
    if (session.epoch !== epoch) return refuse(id, { error: epochPassed(id, epoch, session.epoch), epoch })
    const { row } = session
    if (batch.seq !== row.head + 1) return refuse(id, { error: seqTaken(id, batch.seq, row.head + 1), epoch })
    for (const event of events) session.events.push(event)
    row.head = session.events.length
    row.status = batch.status
    if (batch.card) session.card = batch.card
    row.updatedAt = events.at(-1)?.at ?? row.updatedAt
    return done
  }

  function read(id: string, after = 0): Promise<Recorded[]> {
    const events = sessions.get(id)?.events ?? []
    const recorded: Recorded[] = []
    for (let seq = Math.max(after, 0) + 1; seq <= events.length; seq++)
      recorded.push({ seq, event: events[seq - 1]! })
    return Promise.resolve(recorded)
  }

  async function list(name: string, page: { after?: string; limit: number }) {
    checkLimit(page.limit)
    const before = page.after === undefined ? Infinity : decodeCursor(secret, name, page.after)
    const mine = owners.get(name)?.sessions ?? []
    const end = firstAtOrAfter(mine, before)
    const start = Math.max(end - page.limit, 0)
    const rows = mine.slice(start, end).reverse()
    const next = start > 0 ? encodeCursor(secret, name, mine[start]!.ordinal) : undefined
    return {
      rows: rows.map(({ row, card }) => (card ? { ...row, card } : { ...row })),
      ...(next !== undefined && { next }),
    }
  }

  function remove(id: string): Promise<boolean> {
    const failure = fallen(id, { kind: 'remove' })
    if (failure !== undefined) return Promise.reject(failure.error)
    const session = sessions.get(id)
    if (session === undefined) return Promise.resolve(false)
    sessions.delete(id)
    const owner = owners.get(session.row.owner)!
    owner.sessions.splice(firstAtOrAfter(owner.sessions, session.ordinal), 1)
    if (session.request) owner.requests.delete(session.request.key)
    if (owner.sessions.length === 0) owners.delete(session.row.owner)
    return Promise.resolve(true)
  }

  function putBlob(id: string, name: string, body: string): Promise<void> {
    const failure = fallen(id, { kind: 'putBlob' })
    if (failure !== undefined) return Promise.reject(failure.error)
    const session = sessions.get(id)
    if (session === undefined) return refuse(id, { error: sessionMissing(id) })
    session.blobs.set(name, body)
    return done
  }

  return {
    create,
    append,
    read,
    list,
    remove,
    putBlob,
    async claim(id) {
      const session = sessions.get(id)
      return session && { epoch: ++session.epoch, row: { ...session.row } }
    },
    async row(id) {
      const session = sessions.get(id)
      return session && { ...session.row }
    },
    async requested(owner, key) {
      return owners.get(owner)?.requests.get(key)?.row.id
    },
    async owners() {
      return [...owners.keys()]
    },
    async unfinished() {
      return [...sessions.values()].filter(({ row }) => row.status === 'running').map(({ row }) => row.id)
    },
    async blob(id, name) {
      return sessions.get(id)?.blobs.get(name)
    },
    async close() {},
  }
}

/** Where `ordinal` stands, or would stand, among sessions in the order of their creation. */
function firstAtOrAfter(sessions: readonly Session[], ordinal: number): number {
  let low = 0
  let high = sessions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sessions[middle]!.ordinal < ordinal) low = middle + 1
    else high = middle
  }
  return low
}
