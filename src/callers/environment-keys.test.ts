import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { environmentKeys, keyText } from './environment-keys.ts'
import { newKey } from './keys.ts'

const ann = newKey('ann').entry
const root = newKey('root@ops', true).entry

test('keys come from a variable and from a file, separated by commas, spaces or lines', t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-keys-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keys')
  writeFileSync(file, `#comment\n${keyText(root)}\n`)
  const env = { TURNWIRE_KEYS: `${keyText(ann)}, `, TURNWIRE_KEYS_FILE: file }
  assert.deepEqual(environmentKeys(env), [ann, root])
  assert.deepEqual(environmentKeys({}), [])
})

test('an entry that cannot be read is refused without its text, which may be a key', () => {
  const { key } = newKey('ann')
  assert.throws(
    () => environmentKeys({ TURNWIRE_KEYS: `${keyText(ann)} ann=${key}` }),
    (error: Error) => /^Entry 2 of TURNWIRE_KEYS/.test(error.message) && !error.message.includes(key),
  )
  assert.throws(() => environmentKeys({ TURNWIRE_KEYS_FILE: '/nowhere/keys' }), {
    code: 'config_invalid',
    message: /names \/nowhere\/keys/,
  })
})
