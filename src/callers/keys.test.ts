// Keys as they are made: nobody can guess one, and what is kept of it does not give it away.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha256 } from '../lib/json/hash.ts'
import { Keys, newKey } from './keys.ts'

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
