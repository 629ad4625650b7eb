// Batches are found by their session's newest and each one's predecessor, not by an index: an append then writes to the
// end of the log and to its session's row alone. Published: never edited, only followed by another number.
//
// The table has a new name: a process of an older version that has the file open must fail, for what it would append would
// be in no chain.
// Without an index on `session` a cascade would search the whole log for each session that is deleted, so there is none.
// Sessions at work are looked for once, when a process starts, among all of them: an index would be written twice a turn.
export const logChains = `
ALTER TABLE sessions ADD COLUMN last_batch INTEGER;
CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  previous INTEGER,
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  body TEXT NOT NULL
);
INSERT INTO batches (id, session, previous, seq, count, body)
SELECT id, session, (
  SELECT id FROM log AS before WHERE before.session = log.session AND before.seq < log.seq ORDER BY before.seq DESC LIMIT 1
), seq, count, body FROM log ORDER BY id;
UPDATE sessions SET last_batch = (SELECT id FROM log WHERE session = sessions.id ORDER BY seq DESC LIMIT 1);
DROP TABLE log;
DROP INDEX sessions_running;
`
