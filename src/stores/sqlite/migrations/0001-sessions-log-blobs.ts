// The first shape of the file. Published: never edited, only followed by another number.
//
// One row per appended batch, in a rowid table, so that appends go to the end of the file; the index holds only
// small numbers. `sessions.id` stands for the session in the other tables and orders sessions by their creation.
export const sessionsLogBlobs = `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value
);
INSERT INTO meta (key, value) VALUES ('cursor_secret', randomblob(32)), ('opened', 0);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  agent TEXT NOT NULL,
  status TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  head INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  request_key TEXT,
  request_hash TEXT
);
CREATE INDEX sessions_of_owner ON sessions (owner);
CREATE UNIQUE INDEX sessions_of_request ON sessions (owner, request_key) WHERE request_key IS NOT NULL;
CREATE INDEX sessions_running ON sessions (status) WHERE status = 'running';

CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX log_of_session ON log (session, seq);

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX blobs_of_session ON blobs (session, name);
`
