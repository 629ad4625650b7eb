// The writes of the store port, each as what it does within a transaction. A write that is refused has changed nothing: it
// was checked before the first change, or the change was taken back.
import type { Append, NewSession, SessionRow } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { encodeEvents } from '../crowds.ts'
import { epochPassed, idTaken, seqTaken, sessionMissing } from '../refusals.ts'
import type { Write } from './group.ts'
import type { Places } from './places.ts'
import type { Place } from './statements/find-session.ts'
import type { Statements } from './statements/index.ts'

export type Created = { epoch: number } | { existing: string; hash: string }
export type Claimed = { epoch: number; row: SessionRow } | undefined

export function createWrite(session: NewSession): Write<Statements, Created> {
  const { row, events, card, request } = session
  return {
    kind: 'create',
    session: row.id,
    run(sql) {
      const first = request && sql.findRequest(row.owner, request.key)
      if (first !== undefined) return first
      if (sql.findSession(row.id) !== undefined) throw idTaken(row.id)
      const body = encode(events)
      const id = sql.insertSession(session, events.at(-1)?.at ?? row.createdAt)
      if (events.length > 0) {
        const lastBatch = sql.insertBatch(id, null, 1, events.length, body)
        const { length: head } = events
        const from = { id, epoch: 1, head, lastBatch: null }
        sql.advanceSession(row.id, from, { head, lastBatch, status: row.status, updatedAt: null })
      }
      if (card) sql.upsertCard(id, JSON.stringify(card))
      return { epoch: 1 }
    },
  }
}

export function appendWrite(batch: Append, places: Places): Write<Statements, void> {
  const { session, epoch, seq, events } = batch
  return {
    kind: 'append',
    session,
    epoch,
    run(sql) {
      const body = encode(events)
      const thought = places.get(session)
      if (thought?.epoch === epoch && thought.head + 1 === seq && append(sql, batch, body, thought, places))
        return
      const found = sql.findSession(session)
      if (found === undefined) throw sessionMissing(session)
      if (found.epoch !== epoch) throw epochPassed(session, epoch, found.epoch)
      if (found.head + 1 !== seq) throw seqTaken(session, seq, found.head + 1)
      append(sql, batch, body, found, places)
    },
  }
}

/** False, and nothing is changed, if the session is not at that place. */
function append(sql: Statements, batch: Append, body: string, from: Place, places: Places): boolean {
  const { session, seq, events, status, card } = batch
  const { id, epoch, head, lastBatch: previous } = from
  const made = events.length > 0 ? sql.insertBatch(id, previous, seq, events.length, body) : undefined
  const lastBatch = made ?? previous
  const to = { head: head + events.length, lastBatch, status, updatedAt: events.at(-1)?.at ?? null }
  if (!sql.advanceSession(session, from, to)) {
    if (made !== undefined) sql.deleteBatch(made)
    places.forget(session)
    return false
  }
  if (card) sql.upsertCard(id, JSON.stringify(card))
  places.keep(session, { id, epoch, head: to.head, lastBatch })
  return true
}

export function claimWrite(session: string): Write<Statements, Claimed> {
  return { kind: 'claim', session, run: sql => sql.claimSession(session) }
}

export function removeWrite(session: string): Write<Statements, boolean> {
  return { kind: 'remove', session, run: sql => sql.deleteSession(session) }
}

export function putBlobWrite(session: string, name: string, body: string): Write<Statements, void> {
  return {
    kind: 'putBlob',
    session,
    run(sql) {
      const found = sql.findSession(session)
      if (found === undefined) throw sessionMissing(session)
      sql.upsertBlob(found.id, name, body)
    },
  }
}

function encode(events: readonly Event[]): string {
  try {
    return encodeEvents(events)
  } catch (cause) {
    throw new TurnwireError('store_failed', 'The events are not JSON and cannot be recorded.', { cause })
  }
}
