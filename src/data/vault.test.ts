// Sealed texts: each is opened for the use that it was sealed for, and those of older versions only where they were kept.
import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { SealUse } from '../language/seals.ts'
import { createVault } from './vault.ts'

const key = Buffer.alloc(32, 7)
const vault = createVault(key)
const refused = { code: 'config_invalid', message: /cannot be opened/ }

const kept: SealUse[] = ['option', 'arguments', 'mcp tokens']
const carried: SealUse[] = [
  'wallet token',
  'console cookie',
  'oidc sign-in',
  'agui value',
  'responses answer',
  'responses summary',
  'mcp request state',
]
const uses = [...kept, ...carried]

/** As versions sealed that knew no uses. */
function sealedWithoutUse(text: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

test('what was sealed for one use is opened for no other', () => {
  for (const use of uses) {
    const sealed = vault.seal('the text', use)
    assert.equal(vault.open(sealed, use), 'the text')
    for (const other of uses.filter(each => each !== use))
      assert.throws(() => vault.open(sealed, other), refused, `${use} as ${other}`)
  }
})

test('a seal without a use is opened where older versions kept one, and never for what clients carry', () => {
  const sealed = sealedWithoutUse('old')
  for (const use of kept) assert.equal(vault.open(sealed, use), 'old')
  for (const use of carried) {
    assert.throws(() => vault.open(sealed, use), refused, use)
    assert.throws(() => vault.open(`2.${sealed}`, use), refused, use)
  }
})

test('a seal does not lose its use with its mark, and nothing else is opened', () => {
  const sealed = vault.seal('token', 'wallet token')
  for (const text of [sealed.slice(2), '', '2.', 'AAAA', `${sealed}AAAA`, `${sealed}!`, sealed.slice(0, 20)])
    for (const use of uses) assert.throws(() => vault.open(text, use), refused)
  assert.throws(() => createVault(Buffer.alloc(32, 8)).open(sealed, 'wallet token'), refused)
})
