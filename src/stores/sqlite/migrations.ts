// The schema of the database file, as numbered migrations: the first is number 1, and the file's `user_version` is the
// number of the last one it has. A published migration is never edited; to change the schema, append another.
//
// An append writes two places, the end of `batches` and the row of its session, because every further page in a synced
// commit costs time (docs/decisions/0014). So batches are not indexed one by one: each names the previous batch of its
// session, the session names the newest, and only landmarks, about one batch in 256 events, are in an index. Summaries
// have their own table, because an append rewrites the whole session row.

/** True of a batch that holds an event whose number is a multiple of 256. A query must repeat it to use the index. */
export const IS_LANDMARK = 'last_seq / 256 > (first_seq - 1) / 256'

/** The migration from which on payments are in a table. Before, each was a session: see move-payments.ts. */
export const PAYMENTS_MIGRATION = 4

export const migrations: readonly string[] = [
  `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value
);
INSERT INTO meta (key, value) VALUES ('cursor_secret', lower(hex(randomblob(32)))), ('opened', 0);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  agent TEXT NOT NULL,
  status TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  head INTEGER NOT NULL,
  last_batch INTEGER,
  bytes INTEGER NOT NULL DEFAULT 0,
  blob_bytes INTEGER NOT NULL DEFAULT 0,
  recoveries INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  request_key TEXT,
  request_hash TEXT
);
CREATE INDEX sessions_by_owner ON sessions (owner);
CREATE UNIQUE INDEX sessions_by_request ON sessions (owner, request_key) WHERE request_key IS NOT NULL;

CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  previous INTEGER,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX landmarks ON batches (session, first_seq) WHERE ${IS_LANDMARK};

CREATE TABLE summaries (
  session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  body TEXT NOT NULL
);

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX blobs_by_session ON blobs (session, name);
`,
  `
ALTER TABLE sessions ADD COLUMN facts TEXT;
CREATE INDEX sessions_that_wait ON sessions (id) WHERE status = 'waiting';
`,
  `
CREATE TABLE blobs_in_pieces (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  size INTEGER NOT NULL,
  whole INTEGER NOT NULL
);
CREATE UNIQUE INDEX blobs_in_pieces_by_session ON blobs_in_pieces (session, name);

CREATE TABLE pieces (
  id INTEGER PRIMARY KEY,
  blob INTEGER NOT NULL REFERENCES blobs_in_pieces (id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_start ON pieces (blob, start);
`,
  `
CREATE TABLE payments (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  payer TEXT NOT NULL,
  session TEXT,
  open INTEGER NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  request TEXT,
  answer TEXT
);
CREATE INDEX payments_by_payer ON payments (payer, position);
CREATE INDEX payments_by_session ON payments (session, position) WHERE session IS NOT NULL;
CREATE INDEX open_payments ON payments (position) WHERE open;
`,
  `
CREATE TABLE spending (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  day TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  money REAL NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (kind, name, day)
) WITHOUT ROWID;
`,
  `
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  session TEXT,
  at INTEGER NOT NULL,
  due_at INTEGER,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX records_by_name ON records (kind, name);
CREATE INDEX records_by_age ON records (kind, at, name);
CREATE INDEX records_that_are_due ON records (kind, due_at, name) WHERE due_at IS NOT NULL;
CREATE INDEX records_by_session ON records (session) WHERE session IS NOT NULL;
`,
]
