// The writes of the store port, each as what it does within a transaction. Every check comes before the first
// change, so that a write that is refused has changed nothing.
import type { Append, NewSession, SessionRow } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { encodeEvents } from '../crowds.ts'
import { epochPassed, idTaken, seqTaken, sessionMissing } from '../refusals.ts'
import type { Write } from './group.ts'
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
        const batch = sql.insertBatch(id, null, 1, events.length, body)
        sql.advanceSession(id, events.length, batch, row.status, null)
      }
      if (card) sql.upsertCard(id, JSON.stringify(card))
      return { epoch: 1 }
    },
  }
}

export function appendWrite(batch: Append): Write<Statements, void> {
  const { session, epoch, seq, events, status, card } = batch
  return {
    kind: 'append',
    session,
    epoch,
    run(sql) {
      const found = sql.findSession(session)
      if (found === undefined) throw sessionMissing(session)
      if (found.epoch !== epoch) throw epochPassed(session, epoch, found.epoch)
      if (found.head + 1 !== seq) throw seqTaken(session, seq, found.head + 1)
      const body = encode(events)
      const { id, head, lastBatch } = found
      const batch = events.length > 0 ? sql.insertBatch(id, lastBatch, seq, events.length, body) : lastBatch
      if (card) sql.upsertCard(id, JSON.stringify(card))
      sql.advanceSession(id, head + events.length, batch, status, events.at(-1)?.at ?? null)
    },
  }
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
