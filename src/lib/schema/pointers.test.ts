import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTarget, pointer } from './pointers.ts'

const root = {
  $defs: { 'a/b': { type: 'string' }, 'x~y': { type: 'number' }, '50%': { type: 'null' }, '~1': true },
  prefixItems: [{ type: 'integer' }],
}

test('a reference is followed by names and indexes, with percent escapes read before tildes', () => {
  assert.equal(findTarget(root, '#'), root)
  assert.deepEqual(findTarget(root, '#/$defs/a~1b'), { type: 'string' })
  assert.deepEqual(findTarget(root, '#/%24defs/x%7E0y'), { type: 'number' })
  assert.deepEqual(findTarget(root, '#/$defs/50%'), { type: 'null' })
  assert.equal(findTarget(root, '#/$defs/~01'), true)
  assert.deepEqual(findTarget(root, '#/prefixItems/0'), { type: 'integer' })
})

test('anchors, addresses, missing and inherited names lead nowhere', () => {
  for (const ref of ['#anchor', 'other.json', '#/$defs/gone', '#/$defs/toString', '#/$defs/a~1b/type/x'])
    assert.equal(findTarget(root, ref), undefined, ref)
})

test('a pointer that is written leads back to its name', () => {
  for (const name of Object.keys(root.$defs))
    assert.notEqual(findTarget(root, `#${pointer('/$defs', name)}`), undefined, name)
})
