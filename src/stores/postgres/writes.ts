// The writes of the store port as plain data: what each holds, and how a group of them becomes the arrays that the
// statements take. Nothing here talks to the database.
import type {
  Append,
  BlobPiece,
  NewRecord,
  NewSession,
  SessionFacts,
  SessionRow,
} from '../../engine/ports/index.ts'
import { checkEncoded, type EncodedLog, encodeLog } from '../encoded-log.ts'
import type { SpendingRow } from '../spending-rows.ts'
import type { Parameter } from './database.ts'
import { recordTexts } from './records.ts'
import type { AppendForm } from './statements.ts'
import { arrayLiteral, toText } from './text.ts'

/** `size` is about the number of characters. */
export type Write = { session: string; epoch?: number; size: number } & (
  | { kind: 'create'; created: NewSession; log: EncodedLog }
  | { kind: 'append'; epoch: number; batch: Append; log: EncodedLog }
  | { kind: 'claim'; recovering: boolean }
  | { kind: 'remove' }
  /** Of the node of this id; `session` is no session. */
  | { kind: 'renew'; node: string; leaseMs: number }
  | { kind: 'putBlob'; name: string; body: string }
  | ({ kind: 'addPiece'; name: string } & BlobPiece)
)
export type Creation = Extract<Write, { kind: 'create' }>
export type Appending = Extract<Write, { kind: 'append' }>
export type Claiming = Extract<Write, { kind: 'claim' }>
export type OtherWrite = Exclude<Write, { kind: 'create' | 'append' | 'claim' | 'renew' }>
export type PieceWrite = Extract<Write, { kind: 'addPiece' }>

export function toCreation(created: NewSession): Creation {
  const { row, events, summary } = created
  const log = encodeLog({ events, status: row.status, ...(summary && { summary }) })
  return { kind: 'create', session: row.id, created, log, size: log.size }
}

export function toAppending(batch: Append): Appending {
  const { session, epoch } = batch
  const log = encodeLog(batch)
  return { kind: 'append', session, epoch, batch, log, size: log.size }
}

/** The second begins where the first ends, and has the same writer: they can be made as one. */
export function isNextAppend(first: Write, second: Write): boolean {
  return (
    first.kind === 'append' &&
    second.kind === 'append' &&
    first.epoch === second.epoch &&
    first.batch.seq + first.batch.events.length === second.batch.seq &&
    first.log.error === undefined &&
    second.log.error === undefined
  )
}

/** Throws if events of it are not JSON. */
export function checkRun(run: readonly Write[]): void {
  for (const write of run) if (write.kind === 'append' || write.kind === 'create') checkEncoded(write.log)
}

// ---- columns ---------------------------------------------------------------------------------------------------

/** The rows of events and the summaries of a group, column by column. */
class LogArrays {
  readonly #rows = { session: [] as string[], first: [] as number[], body: [] as string[] }
  readonly #summaries = { session: [] as string[], body: [] as string[] }
  /** A session's spending, row by row. */
  readonly #spending: (string | number)[][] = []
  /** A session and one of its records, row by row. */
  readonly #notes: (string | number | null)[][] = []

  addRow(session: string, first: number, body: string): void {
    this.#rows.session.push(session)
    this.#rows.first.push(first)
    this.#rows.body.push(body)
  }

  addSummary(session: string, summary: string | undefined): void {
    if (summary === undefined) return
    this.#summaries.session.push(session)
    this.#summaries.body.push(summary)
  }

  addSpending(session: string, rows: readonly SpendingRow[]): void {
    for (const { kind, name, day, tokens, money, calls } of rows)
      this.#spending.push([session, kind, toText(name), day, tokens, money, calls])
  }

  addRecords(session: string, records: readonly NewRecord[]): void {
    for (const record of records) this.#notes.push([session, ...recordTexts(record)])
  }

  get notes(): Parameter[] {
    return toColumns(this.#notes)
  }

  get spending(): Parameter[] {
    return toColumns(this.#spending)
  }

  get form(): AppendForm {
    return {
      further: this.#rows.body.length > 0,
      summarises: this.#summaries.body.length > 0,
      spends: this.#spending.length > 0,
      notes: this.#notes.length > 0,
    }
  }

  get rows(): Parameter[] {
    return Object.values(this.#rows).map(column => arrayLiteral(column))
  }

  get summaries(): Parameter[] {
    return Object.values(this.#summaries).map(column => arrayLiteral(column))
  }
}

/** The parameters of `createSessions`. Positions are above `floor`. */
export function creationParameters(
  creations: readonly Creation[],
  floor: number,
  node: string | null,
): Parameter[] {
  const logs = new LogArrays()
  const rows = creations.map(({ created: { row, request }, log, size }) => {
    const id = toText(row.id)
    let head = 0
    for (const { count, body } of log.bodies) {
      logs.addRow(id, head + 1, body)
      head += count
    }
    logs.addSummary(id, log.summary)
    return [
      id,
      toText(row.owner),
      toText(row.agent),
      row.status,
      row.createdAt,
      log.lastAt ?? row.createdAt,
      head,
      size,
      row.status === 'running',
      request ? toText(request.key) : null,
      request ? toText(request.hash) : null,
    ]
  })
  return [...toColumns(rows), floor, ...logs.rows, ...logs.summaries, node]
}

/** Rows of at most this length are joined, and go with the row of their session. */
const SMALL_BODY = 64 * 1024

/** The parameters of `appendEvents`, and which of its forms takes them. */
export function appendParameters(runs: readonly (readonly Appending[])[]): {
  form: AppendForm
  parameters: Parameter[]
} {
  const logs = new LogArrays()
  const rows = runs.map(run => {
    const { epoch, batch } = run[0]!
    const id = toText(batch.session)
    let [count, size] = [0, 0]
    let first: string | null = null
    // Events after a row of its own cannot be joined with those before it.
    let isOpen = true
    let lastAt: number | null = null
    let summary: string | undefined
    let facts: SessionFacts | undefined
    let told: string | null = null
    for (const { batch: each, log, size: more } of run) {
      for (const { count: events, body } of log.bodies) {
        const joined: string | undefined =
          count === 0 ? body : first && isOpen ? joinedBodies(first, body) : undefined
        isOpen = joined !== undefined && joined.length <= SMALL_BODY
        if (isOpen) first = joined!
        else logs.addRow(id, batch.seq + count, body)
        count += events
      }
      size += more
      lastAt = log.lastAt ?? lastAt
      summary = log.summary ?? summary
      facts = each.facts ?? facts
      told = log.facts ?? told
      if (log.spending) logs.addSpending(id, log.spending)
      if (log.records) logs.addRecords(id, log.records)
    }
    logs.addSummary(id, summary)
    const { status } = run.at(-1)!.batch
    return [id, epoch, batch.seq, count, size, status, lastAt, told, resumes(facts), first]
  })
  const { form } = logs
  const { further, summarises, spends, notes } = form
  const parameters = [
    ...toColumns(rows),
    ...(summarises ? logs.summaries : []),
    ...(further ? logs.rows : []),
    ...(spends ? logs.spending : []),
    ...(notes ? logs.notes : []),
  ]
  return { form, parameters }
}

/** Two lists of JSON as one. Neither is empty. */
function joinedBodies(one: string, two: string): string {
  return `${one.slice(0, -1)},${two.slice(1)}`
}

/** The session goes on although nobody asks for it, should it wait. Null: as before. */
function resumes(facts: SessionFacts | undefined): boolean | null {
  return facts ? facts.atWork === true || facts.dueAt !== undefined : null
}

/** Parameters for `unnest`. */
export function toColumns(rows: readonly (readonly (string | number | boolean | null)[])[]): Parameter[] {
  const width = rows[0]?.length ?? 0
  return Array.from({ length: width }, (_, column) => arrayLiteral(rows.map(row => row[column]!)))
}

export type Created = { epoch: number } | { existing: string; hash: string }
export type Claimed = { epoch: number; row: SessionRow }
