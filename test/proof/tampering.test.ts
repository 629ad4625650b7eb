// Tampering where logs are kept: rows that are changed by SQL, every bit of an export, sealed files.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { exportSessions } from '../../src/data/copies/export.ts'
import { importSessions } from '../../src/data/copies/import.ts'
import { digestForm, Salts } from '../../src/language/receipts.ts'
import { readRedaction } from '../../src/proof/redaction.ts'
import { readSealed, sealLog } from '../../src/proof/sealed-form.ts'
import { sealedPage } from '../../src/proof/sealed-page.ts'
import { firstFlaw, verifyFile } from '../../src/proof/verify-file.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { stopAll } from '../engine/rig.ts'
import { play, trusted, verifyStored } from './rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'proof-'))
after(async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
})

test('a row that is changed by SQL in SQLite is found', async () => {
  const file = join(folder, 'sessions.db')
  const store = sqliteStore({ file })
  const { session } = await play({ store }, 2)
  assert.equal((await verifyStored(store, session.id)).broken, undefined)
  const database = new DatabaseSync(file)
  const rows = database.prepare('SELECT rowid AS id, body FROM batches').all() as {
    id: number
    body: string
  }[]
  const set = database.prepare('UPDATE batches SET body = ? WHERE rowid = ?')
  let changed = 0
  for (const { id, body } of rows) {
    const other = body.replace(/"(maria|paid|seen|pay it|Done\.)"/, '"forged"')
    if (other === body) continue
    changed += 1
    set.run(other, id)
    assert(/forged/.test(other))
    assert((await verifyStored(store, session.id)).broken, body)
    set.run(body, id)
  }
  assert(changed >= 4)
  assert.equal((await verifyStored(store, session.id)).broken, undefined)
  database.close()
  await store.close()
})

async function exported(): Promise<{ file: string; id: string }> {
  const { rig, session } = await play()
  const file = join(folder, `${session.id}.jsonl`)
  let text = ''
  await exportSessions(
    rig.store,
    () => true,
    async line => {
      text += line
    },
  )
  writeFileSync(file, text)
  return { file, id: session.id }
}

test('an export verifies, and after an import the session does', async () => {
  const { file, id } = await exported()
  const verified = await verifyFile(file, trusted)
  assert.equal(firstFlaw(verified), undefined)
  assert(verified.kind === 'export' && verified.sessions[0]?.calls === 2)
  const store = memoryStore()
  await importSessions(store, file)
  assert.equal((await verifyStored(store, id)).broken, undefined)
  assert.match(firstFlaw(await verifyFile(file, new Map())) ?? '', /none of those that you trust/)
})

test('a bit of an export that is changed is found, whichever it is: 1,500 of them, chosen at random', async () => {
  const { file } = await exported()
  const whole = readFileSync(file)
  const changed = join(folder, 'changed.jsonl')
  const isFound = async (bit: number): Promise<boolean> => {
    const bytes = Buffer.from(whole)
    const at = Math.floor(bit / 8)
    bytes[at] = whole[at]! ^ (1 << (bit % 8))
    writeFileSync(changed, bytes)
    return (await verifyFile(changed, trusted).then(firstFlaw, error => String(error))) !== undefined
  }
  // A random choice of all bits: another one in each run.
  await fc.assert(fc.asyncProperty(fc.nat(whole.length * 8 - 1), isFound), { numRuns: 1_500 })
})

test('an export whose own hashes were made anew is found by its signatures', async () => {
  const { rig, session, log } = await play()
  const forged = structuredClone(log)
  const decided = forged.find(({ event }) => event.type === 'approval.decided')
  assert(decided?.event.type === 'approval.decided')
  decided.event.by = 'nobody'
  const store = { ...rig.store, read: async (_: string, last = 0) => forged.slice(last) } as typeof rig.store
  let text = ''
  await exportSessions(
    store,
    () => true,
    async line => {
      text += line
    },
  )
  const file = join(folder, 'forged.jsonl')
  writeFileSync(file, text)
  const verified = await verifyFile(file, trusted)
  assert(verified.kind === 'export')
  assert.equal(verified.sessions.find(each => each.session === session.id)?.broken?.seq, decided.seq)
})

test('a sealed file verifies, with events left out too, and finds what was changed', async () => {
  const { session, log } = await play({}, 2)
  for (const what of [undefined, 'all', 'results', 'arguments,messages', '2-4']) {
    const removes = what === undefined ? undefined : readRedaction(what)
    const sealed = sealLog(session.id, log, removes)
    const file = join(folder, 'sealed.html')
    const html = sealedPage(sealed)
    writeFileSync(file, html)
    assert.equal(firstFlaw(await verifyFile(file, trusted)), undefined, what)
    if (what === 'all') assert(!/"paid"|"seen"|pay it/.test(html))
    assert.equal(readSealed(html).receipts.length, 4)
    for (const [from, to] of [
      ['maria', 'marie'],
      ['"seq":3,', '"seq":4,'],
    ] as const) {
      writeFileSync(file, html.replace(from, to))
      assert(firstFlaw(await verifyFile(file, trusted)), `${what} ${from}`)
    }
  }
  assert.equal(readRedaction('everything'), undefined)
})

test('no secret and no sealed text is in a sealed file', async () => {
  const secret = 'xyzzy-secret'
  const { session, log } = await play({
    gate: { redact: [{ name: 'secret', pattern: /xyzzy-secret/ }] },
    script: [
      {
        calls: [
          { name: 'look', input: { note: secret } },
          { name: 'pay', input: { n: 2 } },
        ],
      },
      { text: 'Done.' },
    ],
  })
  const html = sealedPage(sealLog(session.id, log))
  assert(!html.includes(secret))
  const answered = log.find(({ event }) => event.type === 'model.answered')!
  assert.notDeepEqual(digestForm(answered.event, new Salts('any'), 2), answered.event)
  assert(!html.includes('sealed('))
})
