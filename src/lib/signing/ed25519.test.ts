import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveSigningKey, isSignedBy, makeSigner, newKey, thumbprint } from './ed25519.ts'

// RFC 8037, appendix A.
const rfc = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const

test('signatures and thumbprints are those of RFC 8037', () => {
  const text = 'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc'
  const signature = 'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg'
  assert.equal(makeSigner(rfc)(text), signature)
  assert.equal(isSignedBy(rfc.x, text, signature), true)
  assert.equal(thumbprint(rfc.x), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

test('a signature has one form, and holds for one text and one key', () => {
  const key = newKey()
  const signature = makeSigner(key)('text')
  assert.equal(isSignedBy(key.x, 'text', signature), true)
  assert.equal(isSignedBy(key.x, 'texts', signature), false)
  assert.equal(isSignedBy(newKey().x, 'text', signature), false)
  assert.equal(isSignedBy('no key', 'text', signature), false)
  // The last character carries four bits that no byte needs.
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    const other = signature.slice(0, -1) + last
    assert.equal(isSignedBy(key.x, 'text', other), other === signature)
  }
  assert.equal(isSignedBy(key.x, 'text', `${signature}=`), false)
})

test('a secret gives the same key for the same use, and another one for another', () => {
  const secret = 's'.repeat(40)
  assert.deepEqual(deriveSigningKey(secret, 'a'), deriveSigningKey(secret, 'a'))
  assert.notEqual(deriveSigningKey(secret, 'a').x, deriveSigningKey(secret, 'b').x)
  const key = deriveSigningKey(secret, 'a')
  assert.equal(isSignedBy(key.x, 'text', makeSigner(key)('text')), true)
})
