// Keys as they are made: nobody can guess one, and what is kept of it does not give it away.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sha256 } from '../lib/json/hash.ts'
import { addKey, Keys, newKey, removeKey } from './keys.ts'

test('a new key has 192 random bits, and only its hash is kept', () => {
  const made = Array.from({ length: 50 }, () => newKey('ana'))
  assert.equal(new Set(made.map(({ key }) => key)).size, made.length)
  for (const { key, entry } of made) {
    const random = /[\w-]{32}$/.exec(key)?.[0] ?? ''
    assert.equal(Buffer.from(random, 'base64url').length * 8, 192, key)
    assert.ok(!JSON.stringify(entry).includes(random))
    assert.equal(new Keys([entry]).admit(sha256(key))?.principal.owner, 'ana')
    assert.equal(new Keys([entry]).admit(sha256(`${key.slice(0, -1)}!`)), undefined)
  }
})

test('requests share a look at the file: what another process changes is seen a few milliseconds later', t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-keys-'))
  t.after(() => rmSync(folder, { recursive: true }))
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const ana = addKey(folder, 'ana')
  const keys = new Keys([], folder)
  const isAdmitted = (key: string): boolean => keys.admit(sha256(key)) !== undefined
  assert.equal(isAdmitted(ana), true)
  // As another process does.
  const { key, entry } = newKey('bert')
  writeFileSync(join(folder, 'keys.json'), JSON.stringify([entry]))
  now = 4
  assert.deepEqual([isAdmitted(ana), isAdmitted(key)], [true, false])
  now = 6
  assert.deepEqual([isAdmitted(ana), isAdmitted(key)], [false, true])
  // As this one does: at once.
  removeKey(folder, 'bert')
  assert.equal(isAdmitted(key), false)
})
