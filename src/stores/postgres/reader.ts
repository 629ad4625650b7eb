// The reads of the store. Each sees every write that resolved before: all of them ask the primary.
import type { BlobName, BlobRange, ListPage, ListSummary, Spent, Store } from '../../engine/ports/index.ts'
import type { Recorded } from '../../language/events.ts'
import { checkLimit, decodeCursor, encodeCursor } from '../cursor.ts'
import { EventPage } from '../encoded-log.ts'
import type { SessionColumns } from '../session-rows.ts'
import { spender } from '../spending-rows.ts'
import type { Database, Parameter } from './database.ts'
import { type ListedColumns, type Statements, sessionRow } from './statements.ts'
import { fromText, toText } from './text.ts'

/** Characters of events that one statement gives at most, but for the last row. */
const LARGEST_ANSWER = 4 * 1024 * 1024

export class Reader {
  readonly #db: Database
  readonly #sql: Statements
  readonly #cursorSecret: string

  constructor(db: Database, sql: Statements, cursorSecret: string) {
    this.#db = db
    this.#sql = sql
    this.#cursorSecret = cursorSecret
  }

  async row(session: string): ReturnType<Store['row']> {
    const [columns] = await this.#rows<SessionColumns>(this.#sql.selectSession, [toText(session)])
    return columns && sessionRow(columns)
  }

  async requested(owner: string, key: string): Promise<string | undefined> {
    const parameters = [toText(owner), toText(key)]
    const [found] = await this.#rows<[session: string]>(this.#sql.selectRequest, parameters)
    return found && fromText(found[0])
  }

  async read(session: string, after: number, maxBytes: number): Promise<Recorded[]> {
    const page = new EventPage(after, maxBytes)
    for (;;) {
      const before = page.last
      const room = Math.min(Math.max(page.room, 1), LARGEST_ANSWER)
      const parameters = [toText(session), Math.max(before, 0), room]
      const rows = await this.#rows<[firstSeq: number, body: string]>(this.#sql.selectEvents, parameters)
      for (const [firstSeq, body] of rows) if (!page.add(firstSeq, body)) return page.events
      if (page.last === before || page.room <= 0) return page.events
    }
  }

  async list(owner: string | null, { after, limit, status }: ListPage): ReturnType<Store['list']> {
    checkLimit(limit)
    const start = { position: Number.MAX_SAFE_INTEGER, id: '' }
    const below = after === undefined ? start : decodeCursor(this.#cursorSecret, owner, after)
    // One more than the limit tells whether there is a next page.
    const found = await this.#rows<ListedColumns>(this.#sql.listSessions(owner !== null, status), [
      below.position,
      below.id,
      limit + 1,
      ...(owner === null ? [] : [toText(owner)]),
    ])
    const rows = found.slice(0, limit).map(([summary, ...columns]) => {
      const row = sessionRow(columns)
      // It was written from a ListSummary.
      return summary === null ? row : { ...row, summary: JSON.parse(summary) as ListSummary }
    })
    if (found.length <= limit) return { rows }
    const [, position, id] = found[limit - 1]!
    return { rows, next: encodeCursor(this.#cursorSecret, owner, position, id) }
  }

  async owners(): Promise<string[]> {
    const owners: string[] = []
    let [next] = await this.#rows<[owner: string]>(this.#sql.firstOwner, [])
    while (next) {
      owners.push(fromText(next[0]))
      ;[next] = await this.#rows<[owner: string]>(this.#sql.nextOwner, next)
    }
    return owners
  }

  async usage(owner: string): ReturnType<Store['usage']> {
    const [found] = await this.#rows<[sessions: number, bytes: number]>(this.#sql.selectUsage, [
      toText(owner),
    ])
    const [sessions, bytes] = found!
    return { sessions, bytes }
  }

  async spent(...[of, period]: Parameters<NonNullable<Store['spent']>>): Promise<Spent> {
    const { kind, name } = spender(of)
    const [found] = await this.#rows<[tokens: number, money: string, calls: number]>(this.#sql.selectSpent, [
      kind,
      toText(name),
      period,
    ])
    const [tokens, money, calls] = found!
    return { tokens, money: Number(money), calls }
  }

  /** `self`: the node that asks. */
  async unfinished(self: string | null): Promise<string[]> {
    const rows = await this.#rows<[id: string]>(this.#sql.listUnfinished, [self])
    return rows.map(([id]) => fromText(id))
  }

  async blob(session: string, name: string): Promise<string | undefined> {
    const [found] = await this.#rows<[body: string]>(this.#sql.selectBlob, [toText(session), toText(name)])
    return found && fromText(found[0])
  }

  async blobs(session: string): Promise<BlobName[]> {
    const rows = await this.#rows<[name: string, inPieces: boolean]>(this.#sql.selectBlobNames, [
      toText(session),
    ])
    return rows.map(([name, inPieces]) => ({ name: fromText(name), inPieces }))
  }

  async blobRange(
    session: string,
    name: string,
    from: number,
    length: number,
  ): Promise<BlobRange | undefined> {
    const key = [toText(session), toText(name)]
    const [found] = await this.#rows<[size: number, whole: boolean]>(this.#sql.selectPieced, key)
    if (!found?.[1]) return undefined
    const end = from + length
    const rows = await this.#rows<[start: number, body: Uint8Array]>(this.#sql.selectPieces, [
      ...key,
      from,
      end,
    ])
    const parts = rows.map(([start, body]) =>
      body.subarray(Math.max(from - start, 0), Math.max(end - start, 0)),
    )
    return { bytes: new Uint8Array(Buffer.concat(parts)), size: found[0] }
  }

  #rows<Row extends readonly unknown[]>(text: string, parameters: readonly Parameter[]): Promise<Row[]> {
    return this.#db.steadily(() => this.#db.run<Row>(text, parameters))
  }
}
