import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readScript } from './script-data.ts'

test('an error in a script read from data names the place and the wrong word', () => {
  const good = [{ text: 'hi', calls: [{ name: 'read', input: null }], fault: [{ kind: 'crlf' }] }]
  assert.deepEqual(readScript(good), good)
  assert.throws(() => readScript({}), /script must be a list of turns, not object/)
  assert.throws(() => readScript([{ txt: 'x' }]), /script\[0\]\.txt is not known: use one of thinking/)
  assert.throws(() => readScript([{ calls: [{ input: {} }] }]), /script\[0\]\.calls\[0\]\.name is missing/)
  assert.throws(() => readScript([{ chunk: '3' }]), /script\[0\]\.chunk must be number, not string/)
  assert.throws(() => readScript([{ fault: { kind: 'flood' } }]), /fault\.kind "flood" is not known/)
})
