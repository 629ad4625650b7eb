// What each write of the store port does inside a transaction, and how events become rows and come back. A write that
// throws a TurnwireError has changed nothing: it checks before its first change.
import type { Append, NewSession, SessionRow } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Event, Recorded } from '../../language/events.ts'
import { checkAppend, sessionExists, sessionMissing } from '../failures.ts'
import { type Statements, sessionRow } from './statements.ts'

/** Larger appends become several rows, so that reading a page never parses much more than the page. */
const LARGEST_BODY = 256 * 1024

export function createSession(
  sql: Statements,
  session: NewSession,
): { epoch: number } | { existing: string; hash: string } {
  const { row, request } = session
  const first = request && sql.selectRequest.one(row.owner, request.key)
  if (first) return { existing: first[0], hash: first[1] }
  if (sql.sessionHead.one(row.id)) throw sessionExists(row.id)
  const bodies = encodeEvents(session.events)
  const { id } = sql.insertSession(
    row.id,
    row.owner,
    row.agent,
    row.status,
    row.createdAt,
    row.createdAt,
    request?.key ?? null,
    request?.hash ?? null,
  )
  recordEvents(sql, { id, head: 0, lastBatch: null }, bodies, { ...session, status: row.status })
  return { epoch: 1 }
}

export function appendEvents(sql: Statements, batch: Append): void {
  const found = sql.sessionHead.one(batch.session)
  if (found === undefined) throw sessionMissing(batch.session)
  const [id, epoch, head, lastBatch] = found
  checkAppend(batch, epoch, head)
  recordEvents(sql, { id, head, lastBatch }, encodeEvents(batch.events), batch)
}

export function claimSession(
  sql: Statements,
  session: string,
): { epoch: number; row: SessionRow } | undefined {
  const found = sql.claimSession.one(session)
  if (found === undefined) return undefined
  const [epoch, ...columns] = found
  return { epoch, row: sessionRow(columns) }
}

export function removeSession(sql: Statements, session: string): boolean {
  sql.deleteBatches(session)
  return sql.deleteSession(session).rows > 0
}

export function putBlob(sql: Statements, session: string, name: string, body: string): void {
  const found = sql.sessionHead.one(session)
  if (found === undefined) throw sessionMissing(session)
  sql.upsertBlob(found[0], name, body)
}

/** The events after `after`, up to about `maxBytes` of JSON. */
export function readEvents(sql: Statements, session: string, after: number, maxBytes: number): Recorded[] {
  const page: Recorded[] = []
  let room = maxBytes
  let last = after
  for (;;) {
    const before = last
    for (const [firstSeq, body] of sql.selectBatches.each(session, last)) {
      const fits = body.length <= room
      if (!fits && page.length > 0) return page
      let seq = firstSeq - 1
      // The body was written by `encodeEvents`.
      for (const event of JSON.parse(body) as Event[]) {
        if (++seq <= last) continue
        if (!fits && page.length > 0 && room <= 0) return page
        page.push({ seq, event })
        if (!fits) room -= JSON.stringify(event).length
      }
      if (fits) room -= body.length
      last = seq
    }
    if (last === before) return page
  }
}

type LogHead = { id: number; head: number; lastBatch: number | null }
type EncodedEvents = { count: number; body: string }

function recordEvents(
  sql: Statements,
  { id, head, lastBatch }: LogHead,
  bodies: readonly EncodedEvents[],
  { events, status, summary }: Pick<Append, 'events' | 'status' | 'summary'>,
): void {
  for (const { count, body } of bodies) {
    lastBatch = sql.insertBatch(id, lastBatch, head + 1, head + count, body).id
    head += count
  }
  sql.advanceSession(head, lastBatch, status, events.at(-1)?.at ?? null, id)
  if (summary) sql.upsertSummary(id, JSON.stringify(summary))
}

function encodeEvents(events: readonly Event[]): EncodedEvents[] {
  const count = events.length
  if (count === 0) return []
  const body = toJson(events)
  if (count === 1 || body.length <= LARGEST_BODY) return [{ count, body }]
  const middle = count >> 1
  return [...encodeEvents(events.slice(0, middle)), ...encodeEvents(events.slice(middle))]
}

function toJson(events: readonly Event[]): string {
  try {
    return JSON.stringify(events)
  } catch (cause) {
    throw new TurnwireError('store_failed', 'The events are not JSON and cannot be recorded.', { cause })
  }
}
