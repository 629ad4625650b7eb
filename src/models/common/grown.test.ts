import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from '../../language/history.ts'
import { grown } from './grown.ts'

const said = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })

function counted() {
  const looked: number[] = []
  const lengths = grown<{ places: number[] }, { from: string }>({
    key: ({ from }) => from,
    begin: () => ({ places: [] }),
    add(found, _history, index) {
      looked.push(index)
      found.places.push(index)
    },
  })
  return { looked, lengths }
}

test('a history that has grown is looked at from where it ended before', () => {
  const { looked, lengths } = counted()
  const history = [said('a'), said('b')]
  assert.deepEqual(lengths(history, { from: 'x' }).places, [0, 1])
  history.push(said('c'))
  assert.deepEqual(lengths(history, { from: 'x' }).places, [0, 1, 2])
  // Another list with the same entries is the same history.
  assert.deepEqual(lengths([...history], { from: 'x' }).places, [0, 1, 2])
  assert.deepEqual(looked, [0, 1, 2])
})

test('a history that went another way, or is shorter, is looked at anew', () => {
  const { looked, lengths } = counted()
  const [a, b, c] = [said('a'), said('b'), said('c')]
  lengths([a, b], { from: 'x' })
  looked.length = 0
  assert.deepEqual(lengths([a, c], { from: 'x' }).places, [0, 1])
  assert.deepEqual(looked, [0, 1])
  assert.deepEqual(lengths([a], { from: 'x' }).places, [0])
  assert.deepEqual(lengths([], { from: 'x' }).places, [])
})

test('what is found for one question says nothing of another', () => {
  const { looked, lengths } = counted()
  const history = [said('a')]
  lengths(history, { from: 'x' })
  lengths(history, { from: 'y' })
  assert.deepEqual(looked, [0, 0])
})
