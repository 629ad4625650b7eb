import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { describeThrown, safeReason } from './safe-reason.ts'

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
  assert.equal(
    safeReason(unread),
    'it has a defect (SyntaxError). Other arguments may work; if not, go on without it.',
  )
})

test('a defect that the language describes by names in the code is told, and is bounded', () => {
  const nothing: { city?: { name: string } } = {}
  const read = thrownBy(() => (nothing.city as { name: string }).name)
  assert.match(
    safeReason(read),
    /^it has a defect \(TypeError: Cannot read properties of undefined \(reading 'name'\)\)\. Other/,
  )
  assert.ok(safeReason(new RangeError('x'.repeat(9000))).length < 500)
})

test('of several errors, a failed request and a thrown object the reason is told too', async () => {
  const any = await Promise.any([
    Promise.reject(new Error('No car.')),
    Promise.reject(new Error('No train.')),
  ]).catch((error: unknown) => error)
  assert.equal(safeReason(any), 'several errors: No car. No train.')
  assert.deepEqual(describeThrown(any).cause, ['No car.', 'No train.'])
  const itself = new AggregateError([new Error('No bus.')])
  itself.errors.push(itself)
  assert.equal(safeReason(itself), 'several errors: No bus.')
  const refused = new TypeError('fetch failed', { cause: new Error('bad port') })
  assert.equal(safeReason(refused), 'a request that it made failed.')
  assert.equal(safeReason({ code: 5, message: 'No such row.' }), 'No such row.')
  assert.equal(safeReason({ code: 5 }), 'it threw an object without a message.')
  assert.deepEqual(describeThrown({ code: 5 }), { message: '{"code":5}' })
})

test('its author gets the message, the causes and the innermost places', () => {
  const inner = new Error('no route', { cause: 'the cable' })
  const { message, cause, stack = [] } = describeThrown(new TypeError('fetch failed', { cause: inner }))
  assert.deepEqual([message, cause], ['TypeError: fetch failed', ['no route', 'the cable']])
  assert.match(stack[0] ?? '', /safe-reason\.test\.ts/)
  assert.ok(stack.length <= 12)
  assert.deepEqual(describeThrown('just text'), { message: 'just text' })
  const unreadable = Object.defineProperty(new Error('x'), 'stack', {
    get: () => assert.fail('no'),
  })
  assert.deepEqual(describeThrown(unreadable), { message: 'an error that cannot be read' })
})
