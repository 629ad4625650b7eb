// The node that uses this store, and the others that share its database: leases, and who has which session.
import type {
  AbandonedSession,
  Holder,
  ListSummary,
  NodeInfo,
  SeenNode,
  SessionFacts,
} from '../../engine/ports/index.ts'
import type { Database } from './database.ts'
import type { AbandonedColumns, HolderColumns, NodeColumns } from './node-statements.ts'
import type { Statements } from './statements.ts'
import { fromText, toText } from './text.ts'

/** The node of a store, from when it joined. */
export type SelfNode = { id: string; leaseMs: number }

export class Nodes {
  readonly #db: Database
  readonly #sql: Statements

  constructor(db: Database, sql: Statements) {
    this.#db = db
    this.#sql = sql
  }

  async join({ id, address, version }: NodeInfo, leaseMs: number): Promise<void> {
    const { joinNode, forgetNodes } = this.#sql
    await this.#db.steadily(() => this.#db.run(joinNode, [id, address ?? null, version, leaseMs]))
    await this.#db.steadily(() => this.#db.run(forgetNodes, []))
  }

  async end({ id }: SelfNode): Promise<void> {
    await this.#db.steadily(() => this.#db.run(this.#sql.endNode, [id]))
  }

  async list(): Promise<SeenNode[]> {
    const rows = await this.#db.steadily(() => this.#db.run<NodeColumns>(this.#sql.listNodes, []))
    return rows.map(([id, address, version, leftMs]) => seenNode(id, address, version, leftMs))
  }

  async holder(session: string): Promise<Holder | undefined> {
    const parameters = [toText(session)]
    const rows = await this.#db.steadily(() =>
      this.#db.run<HolderColumns>(this.#sql.selectHolder, parameters),
    )
    const [found] = rows
    if (!found) return undefined
    const [epoch, node, address, version, leftMs] = found
    if (node === null) return { epoch }
    return { epoch, node: seenNode(node, address, version ?? '', leftMs ?? -Infinity) }
  }

  async adopt({ id }: SelfNode, session: string, epoch: number): Promise<boolean> {
    const parameters = [toText(session), epoch, id]
    const rows = await this.#db.steadily(() => this.#db.run(this.#sql.adoptSession, parameters))
    return rows.length > 0
  }

  async release(session: string, epoch: number): Promise<void> {
    const parameters = [toText(session), epoch]
    await this.#db.steadily(() => this.#db.run(this.#sql.releaseSession, parameters))
  }

  async abandoned(after: string, limit: number): Promise<AbandonedSession[]> {
    const parameters = [toText(after), limit]
    const rows = await this.#db.steadily(() =>
      this.#db.run<AbandonedColumns>(this.#sql.listAbandoned, parameters),
    )
    return rows.map(([id, epoch, status, facts, summary]) => {
      // They were written from a ListSummary and from SessionFacts.
      const { parent } = summary === null ? {} : (JSON.parse(summary) as ListSummary)
      const { atWork } = facts === null ? {} : (JSON.parse(facts) as Partial<SessionFacts>)
      return {
        id: fromText(id),
        epoch,
        ...(parent !== undefined && { parent }),
        ...(status === 'waiting' && !atWork && { rests: true as const }),
      }
    })
  }
}

function seenNode(id: string, address: string | null, version: string, leftMs: number): SeenNode {
  return { id, version, leftMs, ...(address !== null && { address }) }
}
