// Writes whole sessions as JSON lines: the log as it is, what is kept beside it, and the payments for its turns. A session that
// is at work is left out: its copy would go on with the same work. Snapshots are left out, because an import makes them anew.
import { createHash } from 'node:crypto'
import { isSnapshotName, type SessionRow, type Store } from '../../engine/index.ts'
import { type PaymentRecord, walletOwner } from '../../language/payments.ts'
import { keepsPayments, type PaymentStore } from '../../payments/port.ts'
import { copyVersion, type Line } from './format.ts'

export type Exported = { sessions: number; leftOut: string[] }

/** Takes one line with its LF. */
export type WriteLine = (line: string) => Promise<void>

const pageBytes = 1024 * 1024
const pageRows = 100
const exportPieceBytes = 512 * 1024

/** `wants`: which sessions. Payments without a session count as one of the wallet that paid. */
export async function exportSessions(
  store: Store,
  wants: (row: Pick<SessionRow, 'id' | 'owner' | 'agent'>) => boolean,
  writeText: WriteLine,
): Promise<Exported> {
  const done: Exported = { sessions: 0, leftOut: [] }
  const whole = createHash('sha256')
  const write: WriteLine = text => {
    whole.update(text)
    return writeText(text)
  }
  const writeLine = (line: Line): Promise<void> => write(`${JSON.stringify(line)}\n`)
  await writeLine({ turnwire: 'export', version: copyVersion })
  for await (const row of allRows(store)) {
    if (!wants(row)) continue
    if (row.status === 'running' || row.facts?.atWork) done.leftOut.push(row.id)
    else {
      await exportSession(store, row, write)
      done.sessions += 1
    }
  }
  let payments = 0
  if (keepsPayments(store))
    for await (const payment of allPayments(store.payments)) {
      const { payer, agent, id, session = id } = payment
      if (!wants({ id: session, owner: walletOwner(payer), agent })) continue
      await writeLine({ payment })
      payments += 1
    }
  const last: Line = { sessions: done.sessions, payments, sha256: whole.digest('hex') }
  await writeText(`${JSON.stringify(last)}\n`)
  return done
}

/** Whole, oldest first, so that they are imported in their order. */
async function* allPayments(store: PaymentStore): AsyncGenerator<PaymentRecord, void, undefined> {
  const ids: string[] = []
  let after: string | undefined
  do {
    const page = await store.list({ limit: pageRows, ...(after !== undefined && { after }) })
    ids.push(...page.rows.map(({ record }) => record.id))
    after = page.next
  } while (after !== undefined)
  for (const id of ids.reverse()) {
    const kept = await store.find(id)
    if (kept) yield kept.record
  }
}

/** Newest first. */
export async function* allRows(store: Store): AsyncGenerator<SessionRow, void, undefined> {
  let after: string | undefined
  do {
    const page = await store.list(null, { limit: pageRows, ...(after !== undefined && { after }) })
    yield* page.rows
    after = page.next
  } while (after !== undefined)
}

/** As it was when its row was read: it may have grown since. */
async function exportSession(store: Store, { id, head }: SessionRow, write: WriteLine): Promise<void> {
  const hash = createHash('sha256')
  const writeLine = (line: Line): Promise<void> => {
    const text = `${JSON.stringify(line)}\n`
    hash.update(text)
    return write(text)
  }
  await writeLine({ session: id, events: head })
  for (let last = 0; last < head; ) {
    const page = await store.read(id, last, { maxBytes: pageBytes })
    // It was deleted meanwhile: the file would be refused as damaged, which it is.
    if (page.length === 0)
      throw new Error(`The session ${id} was deleted while it was exported. Export again.`)
    for (const { seq, event } of page) if (seq <= head) await writeLine({ seq, event })
    last = page.at(-1)!.seq
  }
  for (const { name, inPieces } of await store.blobs(id)) {
    if (isSnapshotName(name)) continue
    if (inPieces) await exportPieces(store, id, name, writeLine)
    else await writeLine({ blob: name, body: (await store.blob(id, name)) ?? '' })
  }
  await write(`${JSON.stringify({ end: id, sha256: hash.digest('hex') } satisfies Line)}\n`)
}

async function exportPieces(
  store: Store,
  id: string,
  blob: string,
  writeLine: (line: Line) => Promise<void>,
): Promise<void> {
  for (let at = 0; ; ) {
    const found = await store.blobRange(id, blob, at, exportPieceBytes)
    if (!found) return
    const end = at + found.bytes.length
    const piece = Buffer.from(found.bytes).toString('base64')
    await writeLine({ blob, at, piece, ...(end >= found.size && { last: true }) })
    if (end >= found.size) return
    at = end
  }
}
