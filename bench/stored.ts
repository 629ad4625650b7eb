// P9: the size of sessions on disk, at any length, and the time to open a long one.
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Result, Trial } from './harness.ts'
import { begin, cycle, cycleModel, join, makeEngine, sqliteStore, tempFolder } from './parts.ts'

/** The size of the closed file, of the events in it, and of the messages they make. */
async function bytesFor(sessions: number, cycles: number) {
  const folder = tempFolder()
  const file = join(folder.path, 'turnwire.db')
  const store = sqliteStore({ file })
  const engine = makeEngine(store, cycleModel())
  const sizes = { disk: 0, events: 0, messages: 0 }
  for (let count = 0; count < sessions; count += 1) {
    const session = await begin(engine)
    for (let turn = 0; turn < cycles; turn += 1) await cycle(session)
    await session.flushed()
    for (const { event } of await store.read(session.id)) sizes.events += JSON.stringify(event).length
    for (const entry of session.state.entries) sizes.messages += JSON.stringify(entry).length
  }
  await store.close()
  sizes.disk = statSync(file).size
  folder.remove()
  return sizes
}

/** An empty file has some pages already, so sessions of one cycle are measured a thousand at a time. */
export async function bytesOnDisk(): Promise<Result> {
  const medians: Result['medians'] = {}
  const bars: Result['bars'] = []
  for (const [sessions, cycles] of [
    [1000, 1],
    [30, 30],
    [1, 3000],
  ] as const) {
    const { disk, events, messages } = await bytesFor(sessions, cycles)
    const name = cycles === 1 ? 'one cycle' : `${cycles.toLocaleString('en')} cycles`
    medians[`${name}, a session on disk`] = disk / sessions / 1024
    medians[`${name}, its events as JSON`] = events / sessions / 1024
    medians[`${name}, its messages as JSON`] = messages / sessions / 1024
    const ratio = disk / events
    const ours = `${name}, a session on disk`
    bars.push({ id: 'P9', ours, floor: 'its events as JSON', most: 1.3, ratio, met: ratio <= 1.3 })
  }
  return { trial: 'a session on disk', unit: 'KiB', medians, bars }
}

/** Opening a session of 3,000 calls, against selecting its rows (two for each cycle, as committed) and joining them. */
export async function openLongSession(): Promise<Trial> {
  const folder = tempFolder()
  const file = join(folder.path, 'turnwire.db')
  const store = sqliteStore({ file })
  const model = cycleModel()
  const session = await begin(makeEngine(store, model))
  for (let turn = 0; turn < 3000; turn += 1) await cycle(session)
  const log = await store.read(session.id)
  const bare = new DatabaseSync(join(folder.path, 'bare.db'))
  bare.exec(
    'CREATE TABLE log (session TEXT, seq INT, body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID; BEGIN',
  )
  const insert = bare.prepare('INSERT INTO log VALUES (?, ?, ?)')
  let row: unknown[] = []
  for (const { seq, event } of log) {
    row.push(event)
    if (event.type !== 'call.started' && event.type !== 'turn.ended') continue
    insert.run(session.id, seq, JSON.stringify(row))
    row = []
  }
  bare.exec('COMMIT')
  const select = bare.prepare('SELECT body FROM log WHERE session = ? ORDER BY seq')
  const rows = (): string[] => select.all(session.id).map(row => String(row['body']))
  const ours = 'turnwire opens it'
  return {
    name: `opening a session of 3,000 calls, ${log.length.toLocaleString('en')} events (CPU)`,
    measure: 'cpu',
    units: 1,
    rounds: 11,
    warmUps: 10,
    collects: true,
    variants: [
      { name: 'select and concatenate', run: () => Buffer.byteLength(`[${rows().join(',')}]`) },
      { name: 'select and parse', run: () => rows().map(row => JSON.parse(row)).length },
      { name: ours, run: async () => (await makeEngine(store, model).open('bench', session.id)).state.seq },
    ],
    bars: [{ id: 'P9', ours, floor: 'select and concatenate', most: 1.2 }],
    async close() {
      bare.close()
      await store.close()
      folder.remove()
    },
  }
}
