// The SQL of nodes: their leases, and who has which session. All time is the database's own. The columns of a lease are in no
// index, so that a heartbeat changes one row in its page and nothing else.

export type NodeColumns = [id: string, address: string | null, version: string, leftMs: number]
export type HolderColumns = [
  epoch: number,
  node: string | null,
  address: string | null,
  version: string | null,
  leftMs: number | null,
]
export type AbandonedColumns = [
  id: string,
  epoch: number,
  status: string,
  facts: string | null,
  summary: string | null,
]

const leftMs = `(extract(epoch FROM n.lease_until - clock_timestamp()) * 1000)::bigint`
const forLease = `interval '1 millisecond'`

/** Whether the node of this id has a lease now. `id` is an expression. */
export function lives(schema: string, id: string): string {
  return `EXISTS (SELECT 1 FROM ${schema}.nodes AS n WHERE n.id = ${id} AND n.lease_until > clock_timestamp())`
}

/** Whether the node `self` may take the session: it has it, or nobody with a lease has. `self` is an expression. */
export function isFree(schema: string, self: string): string {
  return `(s.node IS NULL OR s.node = ${self} OR NOT ${lives(schema, 's.node')})`
}

export function nodeStatements(schema: string) {
  return {
    joinNode: `
      INSERT INTO ${schema}.nodes (id, address, version, lease_until)
      VALUES ($1, $2, $3, clock_timestamp() + $4::bigint * ${forLease})
      ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`,
    /** Those that ended a day ago: nobody asks for them any more, and a session that names one has no holder. */
    forgetNodes: `DELETE FROM ${schema}.nodes WHERE lease_until < clock_timestamp() - interval '1 day'`,
    /** A lease that has ended is renewed only if no other node lives. */
    renewNode: `
      UPDATE ${schema}.nodes SET lease_until = clock_timestamp() + $2::bigint * ${forLease}
      WHERE id = $1 AND (lease_until > clock_timestamp() OR NOT EXISTS (
        SELECT 1 FROM ${schema}.nodes AS n WHERE n.id <> $1 AND n.lease_until > clock_timestamp()))
      RETURNING id`,
    endNode: `UPDATE ${schema}.nodes SET lease_until = clock_timestamp() WHERE id = $1`,
    listNodes: `
      SELECT n.id, n.address, n.version, ${leftMs} FROM ${schema}.nodes AS n
      WHERE n.lease_until > clock_timestamp() - interval '1 day'`,
    selectHolder: `
      SELECT s.epoch, s.node, n.address, n.version, ${leftMs}
      FROM ${schema}.sessions AS s LEFT JOIN ${schema}.nodes AS n ON n.id = s.node WHERE s.id = $1`,
    adoptSession: `
      UPDATE ${schema}.sessions AS s SET epoch = s.epoch + 1, node = $3
      WHERE s.id = $1 AND s.epoch = $2 AND s.node IS DISTINCT FROM $3 AND ${isFree(schema, '$3')}
        AND ${lives(schema, '$3')}
      RETURNING s.id`,
    releaseSession: `UPDATE ${schema}.sessions SET node = NULL WHERE id = $1 AND epoch = $2`,
    /** Reads the sessions at work, in the order of their ids, and not the others. */
    listAbandoned: `
      SELECT s.id, s.epoch, s.status, s.facts, u.body FROM ${schema}.sessions AS s
      LEFT JOIN ${schema}.summaries AS u ON u.session = s.id
      WHERE s.at_work AND s.id > $1 AND (s.node IS NULL OR NOT ${lives(schema, 's.node')})
      ORDER BY s.id LIMIT $2`,
  }
}
