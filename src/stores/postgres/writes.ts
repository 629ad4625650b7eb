// The writes of the store port as plain data: what each holds, and how a group of them becomes the arrays that the
// statements take. Nothing here talks to the database.
import type { Append, BlobPiece, NewSession, SessionFacts, SessionRow } from '../../engine/ports.ts'
import { checkEncoded, type EncodedLog, encodeLog, sizeOf } from '../encoded-log.ts'
import type { Parameter } from './database.ts'
import { arrayOf, toText } from './text.ts'

/** `size` is about the number of characters. */
export type Write = { session: string; epoch?: number; size: number } & (
  | { kind: 'create'; created: NewSession; log: EncodedLog }
  | { kind: 'append'; epoch: number; batch: Append; log: EncodedLog }
  | { kind: 'claim'; recovering: boolean }
  | { kind: 'remove' }
  | { kind: 'putBlob'; name: string; body: string }
  | ({ kind: 'addPiece'; name: string } & BlobPiece)
)
export type Creation = Extract<Write, { kind: 'create' }>
export type Appending = Extract<Write, { kind: 'append' }>
export type Claiming = Extract<Write, { kind: 'claim' }>
export type PieceWrite = Extract<Write, { kind: 'addPiece' }>

export function creationOf(created: NewSession): Creation {
  const { row, events, summary } = created
  const log = encodeLog({ events, status: row.status, ...(summary && { summary }) })
  return { kind: 'create', session: row.id, created, log, size: sizeOf(log) }
}

export function appendingOf(batch: Append): Appending {
  const { session, epoch } = batch
  const log = encodeLog(batch)
  return { kind: 'append', session, epoch, batch, log, size: sizeOf(log) }
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

type LogColumns = {
  session: string[]
  first: number[]
  last: number[]
  size: number[]
  body: string[]
  summarised: string[]
  summary: string[]
}

class LogArrays {
  readonly #columns: LogColumns = {
    session: [],
    first: [],
    last: [],
    size: [],
    body: [],
    summarised: [],
    summary: [],
  }

  /** Gives the number of events. */
  addBodies(session: string, seq: number, { bodies }: EncodedLog): number {
    let next = seq
    for (const { count, body } of bodies) {
      this.#columns.session.push(session)
      this.#columns.first.push(next)
      this.#columns.last.push(next + count - 1)
      this.#columns.size.push(body.length)
      this.#columns.body.push(body)
      next += count
    }
    return next - seq
  }

  addSummary(session: string, summary: string | undefined): void {
    if (summary === undefined) return
    this.#columns.summarised.push(session)
    this.#columns.summary.push(summary)
  }

  get summarises(): boolean {
    return this.#columns.summary.length > 0
  }

  get parameters(): Parameter[] {
    const { summarised, summary, ...log } = this.#columns
    return [...Object.values(log), summarised, summary].map(column => arrayOf(column))
  }
}

/** The parameters of `createSessions`. Positions are above `floor`. */
export function creationParameters(creations: readonly Creation[], floor: number): Parameter[] {
  const logs = new LogArrays()
  const rows = creations.map(({ created: { row, request }, log, size }) => {
    const id = toText(row.id)
    const head = logs.addBodies(id, 1, log)
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
  return [...columnsOf(rows), floor, ...logs.parameters]
}

/** The parameters of `appendEvents`: without a summary, two fewer. */
export function appendParameters(runs: readonly (readonly Appending[])[]): {
  summarises: boolean
  parameters: Parameter[]
} {
  const logs = new LogArrays()
  const rows = runs.map(run => {
    const { epoch, batch } = run[0]!
    const id = toText(batch.session)
    let [count, size] = [0, 0]
    let lastAt: number | null = null
    let summary: string | undefined
    let facts: SessionFacts | undefined
    for (const { batch: each, log, size: more } of run) {
      count += logs.addBodies(id, batch.seq + count, log)
      size += more
      lastAt = log.lastAt ?? lastAt
      summary = log.summary ?? summary
      facts = each.facts ?? facts
    }
    logs.addSummary(id, summary)
    const { status } = run.at(-1)!.batch
    return [
      id,
      epoch,
      batch.seq,
      count,
      size,
      status,
      lastAt,
      facts ? JSON.stringify(facts) : null,
      resumes(facts),
    ]
  })
  const { summarises, parameters } = logs
  return {
    summarises,
    parameters: [...columnsOf(rows), ...(summarises ? parameters : parameters.slice(0, -2))],
  }
}

/** The session goes on although nobody asks for it, should it wait. Null: as before. */
function resumes(facts: SessionFacts | undefined): boolean | null {
  return facts ? facts.atWork === true || facts.dueAt !== undefined : null
}

function columnsOf(rows: readonly (readonly (string | number | boolean | null)[])[]): Parameter[] {
  const width = rows[0]?.length ?? 0
  return Array.from({ length: width }, (_, column) => arrayOf(rows.map(row => row[column]!)))
}

export type Created = { epoch: number } | { existing: string; hash: string }
export type Claimed = { epoch: number; row: SessionRow }
