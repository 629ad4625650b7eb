// Exported sessions: what was exported is imported whole, and nothing of a file that is damaged.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { exportSessions } from '../../src/data/copies/export.ts'
import { importSessions } from '../../src/data/copies/import.ts'
import type { Store } from '../../src/engine/ports/index.ts'
import type { Event } from '../../src/language/events.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { tool } from '../../src/tools/index.ts'
import { samplePayment } from '../contracts/payment-store.ts'
import { begin, makeRig, owner, say, stopAll } from '../engine/rig.ts'
import { tempFolder } from '../temp-folder.ts'

after(stopAll)

type Lifetime = { after(end: () => unknown): void }

function folder(t: Lifetime): string {
  return tempFolder(t, 'turnwire-copies-')
}

const long = 'é\u2028\ud800 and more, '.repeat(5_000)
const give = tool({
  name: 'give',
  description: 'Gives much.',
  input: { type: 'object' },
  trust: 'trusted',
  readOnly: true,
  run: () => long,
})
const mail = tool({
  name: 'mail',
  description: 'Asks.',
  input: { type: 'object' },
  trust: 'ask',
  run: () => 'ok',
})

/** Three sessions: one with a long result, one that waits for a person, and one with a large blob in pieces. */
async function filled(): Promise<{ store: Store; ids: string[] }> {
  const store = memoryStore()
  const script = [{ calls: [{ name: 'give', input: {} }] }, { text: 'Given.' }]
  const first = await begin(
    makeRig({ store, script, tools: [give], snapshotGrowth: { events: 1, bytes: 1 } }),
  )
  await say(first, 'Give.')
  const second = await begin(
    makeRig({ store, script: [{ calls: [{ name: 'mail', input: {} }] }], tools: [mail] }),
  )
  await say(second, 'Mail.')
  const third = await begin(makeRig({ store }))
  const bytes = Buffer.alloc(1_300_000, 'ab\0')
  await store.addPiece(third.id, 'call.output', { epoch: 1, at: 0, bytes, last: true })
  await store.putBlob(third.id, 'mark', long)
  await new Promise(resolve => setImmediate(resolve))
  return { store, ids: [first.id, second.id, third.id] }
}

async function exported(t: Lifetime, store: Store): Promise<string> {
  const file = join(folder(t), 'sessions.jsonl')
  let text = ''
  await exportSessions(
    store,
    () => true,
    async line => {
      text += line
    },
  )
  writeFileSync(file, text)
  return file
}

/** All that is to be the same in a copy. */
async function contentOf(store: Store, id: string): Promise<unknown> {
  const row = await store.row(id)
  assert.ok(row)
  const names = (await store.blobs(id)).filter(({ name }) => !name.startsWith('state:'))
  const blobs: unknown[] = []
  for (const { name, inPieces } of names.sort((a, b) => a.name.localeCompare(b.name)))
    blobs.push([name, inPieces ? await store.blobRange(id, name, 0, 1e9) : await store.blob(id, name)])
  const { rows } = await store.list(row.owner, { limit: 100 })
  const { owner, agent, status, createdAt, updatedAt, head } = row
  const summary = rows.find(each => each.id === id)?.summary
  return {
    row: { owner, agent, status, createdAt, updatedAt, head },
    summary,
    log: await store.read(id),
    blobs,
  }
}

test('payments are exported with what they pay for, and imported once', async t => {
  const store = memoryStore()
  const all = [
    samplePayment('pay_a', { session: 'sess_1', request: { said: 'Hi' }, answer: { text: 'Hello' } }),
    samplePayment('pay_b', { agent: 'other' }),
  ]
  for (const record of all) await store.payments.reserve(record)
  const file = await exported(t, store)
  const copy = sqliteStore({ file: join(folder(t), 'sessions.db') })
  t.after(() => copy.close())
  for (let times = 0; times < 2; times += 1) await importSessions(copy, file)
  for (const record of all) assert.deepEqual((await copy.payments.find(record.id))?.record, record)
  const { rows } = await copy.payments.list({ limit: 10 })
  assert.deepEqual(
    rows.map(({ record }) => record.id),
    ['pay_b', 'pay_a'],
  )
  let some = ''
  await exportSessions(
    store,
    ({ id }) => id === 'sess_1',
    async line => {
      some += line
    },
  )
  assert.deepEqual([/pay_a/.test(some), /pay_b/.test(some)], [true, false])
})

test('sessions are imported with their logs, lists and blobs, and go on', async t => {
  const { store, ids } = await filled()
  const names = (await store.blobs(ids[0]!)).map(({ name }) => name)
  assert.ok(names.includes('state:head'), 'there is a snapshot')
  const file = await exported(t, store)
  const copy = sqliteStore({ file: join(folder(t), 'sessions.db') })
  t.after(() => copy.close())
  assert.deepEqual(await importSessions(copy, file), { imported: 3, there: 0 })
  for (const id of ids) assert.deepEqual(await contentOf(copy, id), await contentOf(store, id))
  assert.doesNotMatch(readFileSync(file, 'utf8'), /state:/)
  const rig = makeRig({ store: copy, script: [{ text: 'Sent.' }], tools: [mail] })
  const session = await rig.engine.open(owner, ids[1]!)
  const callId = session.state.batch[0]!.part.id
  await session.respond({ results: [], decisions: [{ callId, granted: true, by: 'bo' }] })
  await session.driver.settle()
  assert.equal(session.status, 'idle')
})

test('importing again changes nothing, and continues what was interrupted', async t => {
  const { store, ids } = await filled()
  const file = await exported(t, store)
  for (let writes = 1; ; writes += 1) {
    const copy = memoryStore()
    let left = writes
    const failing =
      <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
      (...args: Args): Promise<Result> =>
        left-- > 0 ? run(...args) : Promise.reject(new Error('killed'))
    const mortal: Store = {
      ...copy,
      create: failing(session => copy.create(session)),
      append: failing(batch => copy.append(batch)),
      putBlob: failing((...blob) => copy.putBlob(...blob)),
      addPiece: failing((...piece) => copy.addPiece(...piece)),
    }
    const died = await importSessions(mortal, file).then(
      () => false,
      () => true,
    )
    const { imported, there } = await importSessions(copy, file)
    assert.equal(imported + there, 3)
    for (const id of ids)
      assert.deepEqual(await contentOf(copy, id), await contentOf(store, id), `${writes} writes`)
    if (died) continue
    assert.equal(there, 3)
    assert.ok(writes > 6, `only ${writes} writes`)
    return
  }
})

test('a session that is at work is left out, and refused if it stands in a file', async t => {
  const { store, ids } = await filled()
  const { epoch } = (await store.claim(ids[2]!))!
  const event: Event = {
    v: 1,
    at: 2,
    type: 'turn.started',
    turn: 't',
    wire: 'test',
    parts: [{ type: 'text', text: 'Go.' }],
  }
  await store.append({ session: ids[2]!, epoch, seq: 2, events: [event], status: 'running' })
  const done = await exportSessions(
    store,
    () => true,
    async () => {},
  )
  assert.deepEqual(done, { sessions: 2, leftOut: [ids[2]] })
  await store.append({ session: ids[2]!, epoch, seq: 3, events: [], status: 'idle' })
  const file = await exported(t, store)
  await assert.rejects(importSessions(memoryStore(), file), /the session is at work/)
})

const damages: [what: string, damage: (lines: string[]) => string[], why: RegExp][] = [
  ['is empty', () => [], /the end of the file is missing/],
  ['is another file', () => ['{"hello":"world"}'], /line 1: this is no file of turnwire export/],
  ['is no JSON', () => ['hello'], /line 1: /],
  ['is newer', lines => ['{"turnwire":"export","version":2}', ...lines.slice(1)], /line 1: it has version 2/],
  ['was cut off', lines => lines.slice(0, -1), /the end of the file is missing/],
  ['was cut off in a line', lines => [...lines.slice(0, -2), lines.at(-2)!.slice(0, 20)], /line \d+: /],
  ['lacks an event', lines => lines.toSpliced(2, 1), /line 3: event 1 is missing/],
  [
    'lacks the last event',
    lines => lines.filter(line => !line.includes('"turn.ended"')),
    /event \d+ is missing/,
  ],
  ['has an event twice', lines => lines.toSpliced(2, 0, lines[2]!), /line 4: event 2 is missing/],
  [
    'lacks a piece',
    lines => lines.filter(line => !line.includes('"at":524288')),
    /a piece of "call.output" is missing/,
  ],
  [
    'lacks a blob',
    lines => lines.filter(line => !line.startsWith('{"blob":"mark"')),
    /was changed after it was exported/,
  ],
  [
    'lacks a session',
    lines => lines.filter((_, at) => at === 0 || at > lines.findIndex(l => l.startsWith('{"end"'))),
    /3 sessions were exported, 2 are here/,
  ],
  [
    'was changed',
    lines => lines.map(line => line.replace('Given.', 'Taken.')),
    /was changed after it was exported/,
  ],
  [
    'has an unknown event',
    lines => lines.map(line => line.replace('"turn.ended"', '"turn.upended"')),
    /cannot read/,
  ],
  ['has more after its end', lines => [...lines, lines[1]!], /nothing may follow/],
]

for (const [what, damage, why] of damages)
  test(`a file that ${what} is refused, and nothing of it is imported`, async t => {
    const file = await exported(t, (await filled()).store)
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    writeFileSync(
      file,
      damage(lines)
        .map(line => `${line}\n`)
        .join(''),
    )
    const copy = memoryStore()
    await assert.rejects(importSessions(copy, file), error => {
      assert.match(String(error), why)
      assert.match(String(error), /Nothing was imported/)
      return true
    })
    assert.deepEqual(await copy.owners(), [])
  })

test('a session that is another one here is refused, and nothing is imported', async t => {
  const { store, ids } = await filled()
  const file = await exported(t, store)
  const copy = memoryStore()
  const created = (await store.read(ids[0]!))[0]!.event
  const row = { id: ids[0]!, owner, agent: 'helper', status: 'idle', createdAt: 1 } as const
  await copy.create({ row, events: [{ ...created, at: 1 }] })
  await assert.rejects(
    importSessions(copy, file),
    /there is another session \S+ here, which differs from event 1 on/,
  )
  assert.equal(await copy.row(ids[1]!), undefined)
})
