// The schema of the database, as numbered migrations: the first is number 1. A published migration is never edited; to
// change the schema, append another.
//
// Several nodes may migrate at once, and no lock keeps them apart: each statement can be repeated, and runs on its own. A
// node of the version before may still be at work: a migration only adds what that version does not notice.
//
// Every primary key but those of `requests`, `payments`, `spending` and `records` begins with the session, so that all tables can
// be partitioned or sharded by it. Nothing refers to another table, and no column counts up by itself: not every engine that
// speaks to PostgreSQL's clients shards these well. Statements that delete a session delete its rows everywhere.

/** The migration from which on payments are in a table. Before, each was a session: see payments.ts. */
export const PAYMENTS_MIGRATION = 3

/** Each migration is a list of statements. `schema` is a quoted name. */
export const migrations: readonly ((schema: string) => string[])[] = [
  schema => [
    `CREATE TABLE IF NOT EXISTS ${schema}.meta (
      key text PRIMARY KEY,
      value text NOT NULL
    )`,
    // The row is rewritten by every append: pages keep room, so that it stays in its page and its indexes are left alone.
    `CREATE TABLE IF NOT EXISTS ${schema}.sessions (
      id text PRIMARY KEY,
      owner text NOT NULL,
      agent text NOT NULL,
      status text NOT NULL,
      epoch bigint NOT NULL,
      head bigint NOT NULL,
      bytes bigint NOT NULL,
      blob_bytes bigint NOT NULL,
      recoveries bigint NOT NULL,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      -- Microseconds of the database's clock at creation: the order of lists.
      position bigint NOT NULL,
      -- It goes on without being asked, by its facts; and by its facts and its status.
      resumes boolean NOT NULL,
      at_work boolean NOT NULL,
      facts text,
      request_key text
    ) WITH (fillfactor = 75)`,
    `CREATE INDEX IF NOT EXISTS sessions_by_owner ON ${schema}.sessions (owner, position, id)`,
    `CREATE INDEX IF NOT EXISTS sessions_by_age ON ${schema}.sessions (position, id)`,
    `CREATE INDEX IF NOT EXISTS sessions_waiting_by_owner ON ${schema}.sessions (owner, position, id)
      WHERE status = 'waiting'`,
    `CREATE INDEX IF NOT EXISTS sessions_waiting_by_age ON ${schema}.sessions (position, id)
      WHERE status = 'waiting'`,
    `CREATE INDEX IF NOT EXISTS sessions_at_work ON ${schema}.sessions (id) WHERE at_work`,
    // The epoch tells who wrote it: after a lost connection this is how a writer knows its own rows.
    `CREATE TABLE IF NOT EXISTS ${schema}.events (
      session text NOT NULL,
      first_seq bigint NOT NULL,
      epoch bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (session, first_seq)
    )`,
    // Apart from `sessions`, because that row is rewritten by every append.
    `CREATE TABLE IF NOT EXISTS ${schema}.summaries (
      session text PRIMARY KEY,
      body text NOT NULL
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.requests (
      owner text NOT NULL,
      key text NOT NULL,
      session text NOT NULL,
      hash text NOT NULL,
      PRIMARY KEY (owner, key)
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.blobs (
      session text NOT NULL,
      name text NOT NULL,
      size bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (session, name)
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.blobs_in_pieces (
      session text NOT NULL,
      name text NOT NULL,
      size bigint NOT NULL,
      whole boolean NOT NULL,
      PRIMARY KEY (session, name)
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.pieces (
      session text NOT NULL,
      name text NOT NULL,
      start bigint NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (session, name, start)
    )`,
  ],
  // Nodes. A heartbeat rewrites one row of the small table, so its pages keep much room. No index on the lease.
  schema => [
    `CREATE TABLE IF NOT EXISTS ${schema}.nodes (
      id text PRIMARY KEY,
      address text,
      version text NOT NULL,
      lease_until timestamptz NOT NULL
    ) WITH (fillfactor = 50)`,
    // The node that has the session. Null: nobody.
    `ALTER TABLE ${schema}.sessions ADD COLUMN IF NOT EXISTS node text`,
  ],
  // Payments. Only the small body is rewritten by each change: the other two texts are kept outside of the row.
  schema => [
    `CREATE TABLE IF NOT EXISTS ${schema}.payments (
      id text PRIMARY KEY,
      payer text NOT NULL,
      session text,
      open boolean NOT NULL,
      version bigint NOT NULL,
      -- Microseconds of the database's clock when it was reserved: the order of lists.
      position bigint NOT NULL,
      body text NOT NULL,
      request text,
      answer text
    )`,
    `CREATE INDEX IF NOT EXISTS payments_by_age ON ${schema}.payments (position, id)`,
    `CREATE INDEX IF NOT EXISTS payments_by_payer ON ${schema}.payments (payer, position, id)`,
    `CREATE INDEX IF NOT EXISTS payments_by_session ON ${schema}.payments (session, position, id)
      WHERE session IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS open_payments ON ${schema}.payments (position, id) WHERE open`,
  ],
  // What owners and agents have spent on a day. Appends of several nodes add to the same row.
  schema => [
    `CREATE TABLE IF NOT EXISTS ${schema}.spending (
      kind text NOT NULL,
      name text NOT NULL,
      day text NOT NULL,
      tokens bigint NOT NULL,
      money double precision NOT NULL,
      calls bigint NOT NULL,
      PRIMARY KEY (kind, name, day)
    ) WITH (fillfactor = 50)`,
  ],
  // Small records beside the logs. A change moves one in the index of those that are due.
  schema => [
    `CREATE TABLE IF NOT EXISTS ${schema}.records (
      kind text NOT NULL,
      name text NOT NULL,
      session text,
      at bigint NOT NULL,
      due_at bigint,
      version bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (kind, name)
    )`,
    `CREATE INDEX IF NOT EXISTS records_by_age ON ${schema}.records (kind, at, name)`,
    `CREATE INDEX IF NOT EXISTS records_that_are_due ON ${schema}.records (kind, due_at, name)
      WHERE due_at IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS records_by_session ON ${schema}.records (session) WHERE session IS NOT NULL`,
  ],
]
