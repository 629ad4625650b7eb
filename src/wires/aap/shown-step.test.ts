import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { ShownStep } from './shown-step.ts'

/** What a client has read after these attempts at one answer, the last of which is the answer. */
function read(attempts: readonly (readonly string[])[]): string {
  const step = new ShownStep()
  let client = ''
  for (const [index, pieces] of attempts.entries()) {
    if (index > 0) step.restart()
    for (const piece of pieces) client += step.take('text', piece)
  }
  return client + step.rest('text', attempts.at(-1)?.join('') ?? '')
}

test('one attempt is read as it is', () => {
  fc.assert(fc.property(fc.array(fc.string()), pieces => read([pieces]) === pieces.join('')))
})

test('whatever was shown before, what stands last is the whole answer', () => {
  const attempt = fc.array(fc.stringMatching(/^[ab]{0,3}$/), { minLength: 1 })
  fc.assert(
    fc.property(fc.array(attempt, { minLength: 1, maxLength: 4 }), attempts =>
      read(attempts).endsWith(attempts.at(-1)!.join('')),
    ),
  )
})

test('an attempt that goes on where the last one broke off repeats nothing', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat(), (text, cut, size) => {
      const pieces: string[] = []
      for (let at = 0; at < text.length; at += 1 + (size % 5))
        pieces.push(text.slice(at, at + 1 + (size % 5)))
      return read([[text.slice(0, cut % (text.length + 1))], pieces]) === text
    }),
  )
})

test('text that was never delivered in pieces comes whole at the end', () => {
  const step = new ShownStep()
  assert.equal(step.rest('text', 'all of it'), 'all of it')
  assert.ok(step.nothing)
  step.take('thinking', 'hm')
  assert.ok(!step.nothing)
  assert.equal(step.rest('text', ''), '')
  assert.equal(step.rest('thinking', ''), '')
})
