// The keys of receipts: made once in the folder, rotated beside a server that runs, the same on each node of a cluster.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { keysInFolder, openReceiptKeys, rotateKey } from './receipt-keys.ts'

const folders: string[] = []
const newFolder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'receipt-keys-'))
  folders.push(made)
  return made
}
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
const given = ''

test('a key is made on first use, stays, and only its owner can read it', () => {
  const folder = newFolder()
  const one = openReceiptKeys({ folder, given })
  assert.equal(openReceiptKeys({ folder, given }).current().key, one.current().key)
  assert.equal(statSync(join(folder, 'receipts.json')).mode & 0o777, 0o600)
  assert.match(readFileSync(join(folder, 'receipts.json'), 'utf8'), /"d":/)
  assert.ok(!JSON.stringify([one.published(), keysInFolder(folder)]).includes('"d"'))
})

test('a new key signs from then on in a server that runs, and the old one stays public with the time of its end', () => {
  const folder = newFolder()
  const running = openReceiptKeys({ folder, given })
  const before = running.current().key
  const { kid, x } = rotateKey(folder, () => 1_000)
  assert.equal(running.current().key, x)
  const [old, current] = running.published()
  assert.deepEqual([old?.x, old?.retired, current?.kid, current?.retired], [before, 1_000, kid, undefined])
  assert.equal((readFileSync(join(folder, 'receipts.json'), 'utf8').match(/"d":/g) ?? []).length, 1)
})

test('an old key is dated as retired only once no server signs with it any more', () => {
  const folder = newFolder()
  const running = openReceiptKeys({ folder, given })
  const signing: string[] = []
  const { x } = rotateKey(folder, () => signing.push(running.current().key))
  const [old] = running.published()
  assert.equal(signing[old!.retired! - 1], x)
})

test('nodes that share a secret have the same key, and others another', () => {
  const shared = 'a-secret-of-a-cluster-for-tests-only-1'
  const [one, two] = [
    openReceiptKeys({ folder: undefined, given, shared }),
    openReceiptKeys({ folder: undefined, given, shared }),
  ]
  assert.equal(one.current().key, two.current().key)
  assert.deepEqual(one.published(), two.published())
  const other = openReceiptKeys({ folder: undefined, given, shared: `${shared}2` })
  assert.notEqual(other.current().key, one.current().key)
  // What one signs, the other would have signed so too.
  assert.equal(one.current().sign('text'), two.current().sign('text'))
})

test('of several secrets from the environment the first signs and all are public', () => {
  const [fresh, old] = ['a-new-secret-for-tests-only-123456789', 'an-old-secret-for-tests-only-12345678']
  const before = openReceiptKeys({ folder: undefined, given: old })
  const now = openReceiptKeys({ folder: undefined, given: `${fresh} ${old}` })
  assert.notEqual(now.current().key, before.current().key)
  const names = now.published().map(({ x }) => x)
  assert.deepEqual(names, [before.current().key, now.current().key])
  assert.throws(() => openReceiptKeys({ folder: undefined, given: 'short' }), /at least 32 characters/)
})

test('a damaged file is refused, with what to do', () => {
  const folder = newFolder()
  for (const text of ['', '{}', '{"keys":[{"x":"no key"}]}']) {
    writeFileSync(join(folder, 'receipts.json'), text)
    assert.throws(
      () => openReceiptKeys({ folder, given }).current(),
      /cannot be read.*turnwire receipts rotate/s,
    )
  }
})
