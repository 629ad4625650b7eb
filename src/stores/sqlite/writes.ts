// Carries out each write of the store port inside a transaction, and turns events into rows and back. Writes are plain
// data that is sent to the writing thread: their events are encoded before. A write that throws a TurnwireError has
// changed nothing: it checks before its first change.
import type { Append, BlobPiece, BlobRange, NewSession, SessionRow } from '../../engine/ports/index.ts'
import type { Recorded } from '../../language/events.ts'
import { type KeptPayment, paymentChanged } from '../../payments/port.ts'
import { checkEncoded, type EncodedLog, EventPage, encodeLog } from '../encoded-log.ts'
import { checkAppend, checkEpoch, checkPiece, sessionExists, sessionMissing } from '../failures.ts'
import { keptPayment, type PaymentColumns, sameRequest } from '../payment-rows.ts'
import { sessionRow } from '../session-rows.ts'
import type { SpendingRow } from '../spending-rows.ts'
import { addRecord, type RecordWrite, writeRecord } from './records.ts'
import type { Statements } from './statements.ts'

/** How large a removal counts: it frees the pages of a whole session, however many, so it is not for the main thread. */
const REMOVAL = 512 * 1024

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
  /** `session`: nobody's. */
  | { kind: 'spend'; rows: SpendingRow[] }
  /** `version`: of the one that it changes. Absent: it is reserved. `session`: its id. */
  | { kind: 'payment'; columns: PaymentColumns; version?: number }
  /** `session`: names the record. */
  | RecordWrite
  /** `take`: with as much room as a full store must have before it counts as working. */
  | { kind: 'probe'; room: 'none' | 'take' | 'free' }

/** `size` is about the number of characters. */
export function encodeWrite(write: Write): { sent: SentWrite; size: number } {
  if (write.kind === 'append') {
    const { session, epoch, batch } = write
    const log = encodeLog(batch)
    return { sent: { kind: 'append', session, epoch, seq: batch.seq, log }, size: log.size }
  }
  if (write.kind === 'create') {
    const { row, events, summary, request } = write.created
    const log = encodeLog({ events, status: row.status, ...(summary && { summary }) })
    return { sent: { kind: 'create', session: row.id, row, request, log }, size: log.size }
  }
  if (write.kind === 'addPiece') return { sent: write, size: write.bytes.length }
  if (write.kind === 'remove') return { sent: write, size: REMOVAL }
  if (write.kind === 'payment') {
    const { body, request, answer } = write.columns
    return { sent: write, size: body.length + (request?.length ?? 0) + (answer?.length ?? 0) }
  }
  if (write.kind === 'record') return { sent: write, size: write.record.body.length }
  return { sent: write, size: write.kind === 'putBlob' ? write.body.length : 0 }
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
    case 'payment':
      return write.version === undefined
        ? reservePayment(sql, write.columns)
        : recordPayment(sql, write.columns, write.version)
    case 'record':
      return writeRecord(sql, write)
    case 'spend':
      return addSpending(sql, write.rows)
    case 'probe':
      sql.touch()
      if (write.room === 'take') sql.takeRoom()
      if (write.room === 'free') sql.freeRoom()
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
  sql.deleteRecordsOf(session)
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

function reservePayment(sql: Statements, columns: PaymentColumns): KeptPayment {
  const { id, payer, session, open, body, request, answer } = columns
  const given = keptPayment(1, body, request, answer)
  const there = readPayment(sql, id)
  if (there) return sameRequest(there, given.record)
  sql.insertPayment(id, payer, session, open ? 1 : 0, body, request, answer)
  return given
}

function recordPayment(sql: Statements, columns: PaymentColumns, version: number): void {
  const { id, session, open, body, request, answer } = columns
  const { rows } = sql.updatePayment(session, open ? 1 : 0, body, request, answer, id, version)
  if (rows === 0) throw paymentChanged()
}

export function readPayment(sql: Statements, id: string): KeptPayment | undefined {
  const found = sql.selectPayment.one(id)
  return found && keptPayment(...found)
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
  const page = new EventPage(after, maxBytes)
  for (;;) {
    const before = page.last
    for (const [firstSeq, body] of sql.selectBatches.each(session, before)) {
      if (!page.add(firstSeq, body)) return page.events
    }
    if (page.last === before) return page.events
  }
}

function addSpending(sql: Statements, rows: readonly SpendingRow[]): void {
  for (const { kind, name, day, tokens, money, calls } of rows)
    sql.addSpending(kind, name, day, tokens, money, calls)
}

type LogHead = { id: number; head: number; lastBatch: number | null }

function recordEvents(
  sql: Statements,
  { id, head, lastBatch }: LogHead,
  { bodies, status, lastAt, summary, facts, spending = [], records = [] }: EncodedLog,
): void {
  let bytes = 0
  for (const { count, body } of bodies) {
    lastBatch = sql.insertBatch(id, lastBatch, head + 1, head + count, body).id
    head += count
    bytes += body.length
  }
  sql.advanceSession(head, lastBatch, bytes, status, facts ?? null, lastAt, id)
  if (summary !== undefined) sql.upsertSummary(id, summary)
  addSpending(sql, spending)
  for (const record of records) addRecord(sql, record)
}
