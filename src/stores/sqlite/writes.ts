// What each write of the store port does inside a transaction, and how events become rows and come back. Writes are plain
// data that crosses to the thread that writes: their events are encoded before. A write that throws a TurnwireError has
// changed nothing: it checks before its first change.
import type { Append, BlobPiece, BlobRange, NewSession, SessionRow } from '../../engine/ports.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { Event, Recorded } from '../../language/events.ts'
import { roughSize } from '../../lib/rough-size.ts'
import { checkAppend, checkEpoch, checkPiece, sessionExists, sessionMissing } from '../failures.ts'
import { type Statements, sessionRow } from './statements.ts'

/** Larger appends become several rows, so that reading a page never parses much more than the page. */
const LARGEST_BODY = 256 * 1024

/** A write as it waits for its transaction. */
export type Write = { session: string; epoch?: number } & (
  | { kind: 'create'; created: NewSession }
  | { kind: 'append'; epoch: number; batch: Append }
  | OtherWrite
)

/** A write as it crosses to the thread that writes. */
export type SentWrite = { session: string; epoch?: number } & (
  | { kind: 'create'; row: NewSession['row']; request: NewSession['request']; log: EncodedLog }
  | { kind: 'append'; epoch: number; seq: number; log: EncodedLog }
  | OtherWrite
)

type OtherWrite =
  | { kind: 'claim'; recovering: boolean }
  | { kind: 'remove' }
  | { kind: 'putBlob'; name: string; body: string }
  | ({ kind: 'addPiece'; name: string } & BlobPiece)
  | { kind: 'probe' }

/** What an append adds. `error`: its events are not JSON. */
type EncodedLog = {
  bodies: EncodedEvents[]
  status: SessionRow['status']
  lastAt: number | null
  summary?: string
  facts?: string
  error?: string
}
type EncodedEvents = { count: number; body: string }

/** `size` is about the number of characters. */
export function encodeWrite(write: Write): { sent: SentWrite; size: number } {
  if (write.kind === 'append') {
    const { session, epoch, batch } = write
    const log = encodeLog(batch)
    return { sent: { kind: 'append', session, epoch, seq: batch.seq, log }, size: sizeOf(log) }
  }
  if (write.kind === 'create') {
    const { row, events, summary, request } = write.created
    const log = encodeLog({ events, status: row.status, ...(summary && { summary }) })
    return { sent: { kind: 'create', session: row.id, row, request, log }, size: sizeOf(log) }
  }
  if (write.kind === 'addPiece') return { sent: write, size: write.bytes.length }
  return { sent: write, size: write.kind === 'putBlob' ? write.body.length : 0 }
}

function sizeOf({ bodies }: EncodedLog): number {
  let size = 0
  for (const { body } of bodies) size += body.length
  return size
}

export type Created = { epoch: number } | { existing: string; hash: string }
export type Claimed = { epoch: number; row: SessionRow }

/** Gives what the store's method resolves with. */
export function carryOut(sql: Statements, write: SentWrite): unknown {
  switch (write.kind) {
    case 'create':
      return createSession(sql, write)
    case 'claim':
      return claimSession(sql, write.session, write.recovering)
    case 'append':
      return appendEvents(sql, write)
    case 'remove':
      return removeSession(sql, write.session, write.epoch)
    case 'putBlob':
      return putBlob(sql, write)
    case 'addPiece':
      return addPiece(sql, write)
    case 'probe':
      sql.touch()
      return undefined
  }
}

function createSession(
  sql: Statements,
  { row, request, log }: Extract<SentWrite, { kind: 'create' }>,
): Created {
  const first = request && sql.selectRequest.one(row.owner, request.key)
  if (first) return { existing: first[0], hash: first[1] }
  if (sql.sessionHead.one(row.id)) throw sessionExists(row.id)
  checkEncoded(log)
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
  recordEvents(sql, { id, head: 0, lastBatch: null }, log)
  return { epoch: 1 }
}

function appendEvents(sql: Statements, write: Extract<SentWrite, { kind: 'append' }>): void {
  const found = sql.sessionHead.one(write.session)
  if (found === undefined) throw sessionMissing(write.session)
  const [id, epoch, head, lastBatch] = found
  checkAppend(write, epoch, head)
  checkEncoded(write.log)
  recordEvents(sql, { id, head, lastBatch }, write.log)
}

function claimSession(sql: Statements, session: string, recovering: boolean): Claimed | undefined {
  const found = sql.claimSession.one(session, recovering ? 1 : 0)
  if (found === undefined) return undefined
  const [epoch, ...columns] = found
  return { epoch, row: sessionRow(columns) }
}

function removeSession(sql: Statements, session: string, epoch: number | undefined): boolean {
  const found = sql.sessionHead.one(session)
  if (found) checkEpoch(session, epoch, found[1])
  sql.deleteBatches(session)
  return sql.deleteSession(session).rows > 0
}

function putBlob(sql: Statements, write: Extract<SentWrite, { kind: 'putBlob' }>): void {
  const { session, epoch, name, body } = write
  const found = sql.sessionHead.one(session)
  if (found === undefined) throw sessionMissing(session)
  checkEpoch(session, epoch, found[1])
  sql.countBlob(found[0], name, body.length)
  sql.upsertBlob(found[0], name, body)
}

function addPiece(sql: Statements, write: Extract<SentWrite, { kind: 'addPiece' }>): void {
  const { session, name, at, bytes, last = false } = write
  const found = sql.sessionHead.one(session)
  if (found === undefined) throw sessionMissing(session)
  const [id, epoch] = found
  const [blob, size, whole] = sql.selectPieced.one(id, name) ?? []
  checkPiece(session, write, epoch, whole === 1 ? undefined : size)
  if (at === 0 && blob !== undefined) sql.deletePieced(blob)
  sql.countPiece(bytes.length - (at === 0 ? (size ?? 0) : 0), id)
  if (at === 0 && bytes.length === 0 && !last) return
  const kept = at === 0 ? sql.insertPieced(id, name, 0, 0).id : blob!
  if (bytes.length > 0) sql.insertPiece(kept, at, bytes)
  sql.extendPieced(at + bytes.length, last ? 1 : 0, kept)
}

/** See `blobRange` of the store. */
export function readRange(
  sql: Statements,
  session: string,
  name: string,
  from: number,
  length: number,
): BlobRange | undefined {
  const found = sql.selectWhole.one(session, name)
  if (found === undefined) return undefined
  const [blob, size] = found
  const parts = sql.selectPieces(blob, from, from + length).map(({ start, body }) => {
    return body.subarray(Math.max(from - start, 0), Math.max(from + length - start, 0))
  })
  return { bytes: new Uint8Array(Buffer.concat(parts)), size }
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

function recordEvents(
  sql: Statements,
  { id, head, lastBatch }: LogHead,
  { bodies, status, lastAt, summary, facts }: EncodedLog,
): void {
  let bytes = 0
  for (const { count, body } of bodies) {
    lastBatch = sql.insertBatch(id, lastBatch, head + 1, head + count, body).id
    head += count
    bytes += body.length
  }
  sql.advanceSession(head, lastBatch, bytes, status, facts ?? null, lastAt, id)
  if (summary !== undefined) sql.upsertSummary(id, summary)
}

function encodeLog({
  events,
  status,
  summary,
  facts,
}: Pick<Append, 'events' | 'status' | 'summary' | 'facts'>): EncodedLog {
  const log = { bodies: [], status, lastAt: events.at(-1)?.at ?? null }
  try {
    const bodies = encodeEvents(events)
    return {
      ...log,
      bodies,
      ...(summary && { summary: JSON.stringify(summary) }),
      ...(facts && { facts: JSON.stringify(facts) }),
    }
  } catch (thrown) {
    return { ...log, error: wordsOf(thrown) }
  }
}

function checkEncoded({ error }: EncodedLog): void {
  if (error === undefined) return
  throw new TurnwireError('store_failed', `The events are not JSON and cannot be recorded: ${error}`)
}

function encodeEvents(events: readonly Event[]): EncodedEvents[] {
  const bodies: EncodedEvents[] = []
  let from = 0
  let size = 0
  for (let to = 0; to < events.length; to++) {
    const more = roughSize(events[to])
    if (to > from && size + more > LARGEST_BODY) {
      bodies.push(...encodeRun(events.slice(from, to)))
      from = to
      size = 0
    }
    size += more
  }
  if (from < events.length) bodies.push(...encodeRun(from === 0 ? events : events.slice(from)))
  return bodies
}

/** Events that fit in one body, but for what escapes add. A large event stands alone, so that it is written once. */
function encodeRun(events: readonly Event[]): EncodedEvents[] {
  const count = events.length
  const body = JSON.stringify(events)
  if (count === 1 || body.length <= LARGEST_BODY) return [{ count, body }]
  const middle = count >> 1
  return [...encodeRun(events.slice(0, middle)), ...encodeRun(events.slice(middle))]
}
