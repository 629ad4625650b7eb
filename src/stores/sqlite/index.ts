// The store on one SQLite file, the default. A write that resolves is synced to disk. Several processes may open the
// file: epochs keep them apart. Writes go through group commit: on the main thread while the disk is quick, else in a thread
// of their own, so that no slow fsync holds the event loop. Reads run at once on a connection of the main thread
// (docs/decisions/0018).
import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  ListPage,
  ListSummary,
  RecordStore,
  SessionStatus,
  Spent,
  Store,
} from '../../engine/ports/index.ts'
import type { KeepsPayments, PaymentPage, PaymentStore } from '../../payments/port.ts'
import { checkLimit, decodeCursor, encodeCursor } from '../cursor.ts'
import { IndexThread } from '../log-index/thread.ts'
import { keptPayment, pageRows, paymentColumns, withChange } from '../payment-rows.ts'
import { sessionRow } from '../session-rows.ts'
import { spender, spendingRows } from '../spending-rows.ts'
import type { GroupOptions } from './group-commit.ts'
import { type DatabaseOptions, indexFile } from './open.ts'
import { Reader } from './reader.ts'
import { sqliteRecords } from './records.ts'
import type { Statements } from './statements.ts'
import { type CommitPlace, Writer } from './writer.ts'
import { type Claimed, type Created, readEvents, readPayment, readRange } from './writes.ts'

/** `commitsIn`: for tests, where all commits are made. Otherwise the store chooses for each. */
export type SqliteOptions = DatabaseOptions & { group?: GroupOptions; commitsIn?: CommitPlace }

/** Too short to notice, and long enough for parallel calls that end together to share one fsync. */
const LINGER_MS = 2

/** Throws a TurnwireError if the file cannot be opened, is not ours, or would not keep what it acknowledges. */
export function sqliteStore({
  group,
  commitsIn,
  ...options
}: SqliteOptions): Store & KeepsPayments & { readonly records: RecordStore } {
  const reader = new Reader(options)
  const writer = new Writer({ options, places: reader.places }, group, commitsIn)
  const read: Reader['read'] = query => reader.read(query)
  const finder = sqliteFinder(options.file, reader)
  let closing: Promise<void> | undefined

  /** The thread closes last, so that it does the work of closing. */
  async function close(): Promise<void> {
    await finder.close()
    await writer.finish()
    reader.close()
    await writer.close()
  }

  return {
    lingerMs: LINGER_MS,
    create: session => writer.write<Created>({ kind: 'create', session: session.row.id, created: session }),
    claim: (session, recovering) =>
      writer.write<Claimed | undefined>({ kind: 'claim', session, recovering: recovering === true }),
    append: batch =>
      writer.write<void>({ kind: 'append', session: batch.session, epoch: batch.epoch, batch }),
    remove: (session, epoch) => {
      finder.changed()
      return writer.write<boolean>({ kind: 'remove', session, ...(epoch !== undefined && { epoch }) })
    },
    putBlob: (session, name, body, epoch) =>
      writer.write<void>({ kind: 'putBlob', session, name, body, ...(epoch !== undefined && { epoch }) }),
    addPiece: (session, name, piece) => writer.write<void>({ kind: 'addPiece', session, name, ...piece }),
    blobRange: (session, name, from, length) => read(sql => readRange(sql, session, name, from, length)),
    async row(session) {
      const columns = await read(sql => sql.selectSession.one(session))
      return columns && sessionRow(columns)
    },
    requested: (owner, key) => read(sql => sql.selectRequest.one(owner, key)?.[0]),
    read: (session, after = 0, { maxBytes = Infinity } = {}) =>
      read(sql => readEvents(sql, session, after, maxBytes)),
    list: (owner, page) => read(sql => listSessions(sql, owner, page)),
    owners: () => read(sql => sql.listOwners.all().map(([owner]) => owner)),
    usage: owner => ownerUsage(reader, owner),
    spent: (of, period) => read(sql => readSpent(sql, of, period)),
    spend: spending => writer.write({ kind: 'spend', session: 'spending', rows: spendingRows([spending]) }),
    unfinished: () => read(sql => sql.listUnfinished.all().map(([name]) => name)),
    blob: (session, name) => read(sql => sql.selectBlob.one(session, name)?.[0]),
    blobs: session =>
      read(sql =>
        sql.selectBlobNames.all(session).map(([name, inPieces]) => ({ name, inPieces: inPieces === 1 })),
      ),
    payments: sqlitePayments(reader, writer),
    records: sqliteRecords(reader, writer),
    finder,
    failure: () => writer.failure(),
    close: () => (closing ??= close()),
  }
}

/** Compiled, this file and the one of the thread end in .js. */
function sqliteFinder(file: string, reader: Reader): IndexThread {
  return new IndexThread({
    program: new URL(`index-worker${import.meta.url.slice(-3)}`, import.meta.url),
    setup: { file },
    async mark() {
      const newest = await reader.read(sql => sql.newestBatch.one()?.[0])
      // An index may still hold words of sessions that are gone.
      return typeof newest !== 'number' && !existsSync(indexFile(file)) ? '' : String(newest)
    },
  })
}

function sqlitePayments(reader: Reader, writer: Writer): PaymentStore {
  return {
    reserve: record => writer.write({ kind: 'payment', session: record.id, columns: paymentColumns(record) }),
    async record(kept, change) {
      const changed = withChange(kept, change)
      const columns = paymentColumns(changed.record)
      await writer.write({ kind: 'payment', session: columns.id, columns, version: kept.version })
      return changed
    },
    find: id => reader.read(sql => readPayment(sql, id)),
    list: page => reader.read(sql => listPayments(sql, page)),
  }
}

function readSpent(sql: Statements, ...[of, period]: Parameters<NonNullable<Store['spent']>>): Spent {
  const { kind, name } = spender(of)
  const [tokens, money, calls] = sql.selectSpent.one(kind, name, period)!
  return { tokens, money, calls }
}

/** Page by page, with pauses between: an owner may have a million sessions, and this runs on the main thread. */
async function ownerUsage(reader: Reader, owner: string): Promise<{ sessions: number; bytes: number }> {
  const usage = { sessions: 0, bytes: 0 }
  for (let last: number | null = 0; last !== null; ) {
    const after: number = last
    const [sessions, bytes, next] = await reader.read(sql => sql.selectUsage.one(owner, after)!)
    usage.sessions += sessions
    usage.bytes += bytes
    last = next
    if (last !== null) await nextTurn()
  }
  return usage
}

/** Session rows that one page of a status looks at. There is no index of statuses: it would cost every turn two pages. */
const STATUS_WINDOW = 10_000

function listSessions(
  sql: Statements,
  owner: string | null,
  { after, limit, status }: ListPage,
): Awaited<ReturnType<Store['list']>> {
  checkLimit(limit)
  const [secret] = sql.cursorSecret.one()!
  const below = after === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(secret, owner, after).position
  // One more than the limit tells whether there is a next page.
  const { found, seenTo } = selectSessions(sql, owner, status, below, limit + 1)
  const rows = found.slice(0, limit).map(([summary, ...columns]) => {
    const row = sessionRow(columns)
    // It was written from a ListSummary.
    return summary === null ? row : { ...row, summary: JSON.parse(summary) as ListSummary }
  })
  const position = found.length > limit ? found[limit - 1]![1] : seenTo
  return { rows, ...(position > 1 && { next: encodeCursor(secret, owner, position) }) }
}

/** `seenTo`: sessions with a smaller id were not looked at. Zero: all were. */
function selectSessions(
  sql: Statements,
  owner: string | null,
  status: SessionStatus | undefined,
  below: number,
  limit: number,
): { found: ReturnType<Statements['listSessions']['all']>; seenTo: number } {
  if (status === 'waiting') return { found: sql.listWaiting.all(owner, below, limit), seenTo: 0 }
  if (status !== undefined) {
    const end = Math.min(below, (sql.lastSession.one()?.[0] ?? 0) + 1)
    const seenTo = Math.max(0, end - STATUS_WINDOW)
    return { found: sql.listByStatus.all(owner, end, limit, status, seenTo), seenTo }
  }
  const found =
    owner === null ? sql.listAllSessions.all(below, limit) : sql.listSessions.all(owner, below, limit)
  return { found, seenTo: 0 }
}

function listPayments(sql: Statements, page: PaymentPage): Awaited<ReturnType<PaymentStore['list']>> {
  const { after, payer, session, open, limit } = page
  const from = [after === undefined ? Number.MAX_SAFE_INTEGER : Number(after), pageRows(page)] as const
  const isOpen = open ? 1 : 0
  const all = open ? sql.listOpenPayments : sql.listPayments
  const found =
    session !== undefined
      ? sql.listPaymentsFor.all(...from, session, isOpen)
      : payer !== undefined
        ? sql.listPaymentsBy.all(...from, payer, isOpen)
        : all.all(...from)
  const rows = found.slice(0, limit).map(([, version, body]) => keptPayment(version, body))
  return found.length > limit ? { rows, next: String(found[limit - 1]![0]) } : { rows }
}
