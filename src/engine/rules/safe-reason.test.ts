import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { safeReason } from './safe-reason.ts'

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

test('the words of a tool’s author are told', () => {
  assert.equal(safeReason(new Error('There is no such city.')), 'There is no such city.')
  assert.equal(safeReason('just text'), 'just text')
  assert.ok(safeReason(new Error('x'.repeat(9000))).length < 600)
})

test('of the system’s and the language’s own errors only the kind is', () => {
  const missing = thrownBy(() => readFileSync('/nowhere/secret-customers.csv'))
  assert.equal(safeReason(missing), 'it met the error ENOENT.')
  const refused = new TypeError('fetch failed', {
    cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
  })
  assert.equal(safeReason(refused), 'it met the error ECONNREFUSED.')
  const unread = thrownBy(() => JSON.parse('{"password": hunter2}'))
  assert.equal(safeReason(unread), 'it has a defect (SyntaxError).')
})
