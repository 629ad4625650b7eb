// A process that acknowledges commits before they are synced (`synchronous = NORMAL`). The power-cut test must find
// losses here, else it proves nothing about the store.
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const db = new DatabaseSync(process.argv[2]!)
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE said (n INTEGER PRIMARY KEY)')
const insert = db.prepare('INSERT INTO said (n) VALUES (?)')
for (let n = 1; n <= 40; n++) {
  insert.run(n)
  writeSync(1, `acked ${n}\n`)
}
process.exit(0)
