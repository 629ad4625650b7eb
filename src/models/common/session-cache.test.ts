import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { joinText } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import { SessionCache } from './session-cache.ts'

const said = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })

describe('folds over a history', () => {
  function counting() {
    const visited: number[] = []
    const cache = new SessionCache()
    const indexes = (history: readonly Entry[], key = 'x'): number[] =>
      cache.fold(history, {
        key,
        start: (): number[] => [],
        add(value, _history, index) {
          visited.push(index)
          value.push(index)
        },
      })
    return { visited, indexes }
  }

  test('a longer history is visited from where the last one ended', () => {
    const { visited, indexes } = counting()
    const history = [said('a'), said('b')]
    assert.deepEqual(indexes(history), [0, 1])
    history.push(said('c'))
    assert.deepEqual(indexes(history), [0, 1, 2])
    // Another list with the same entries is the same history.
    assert.deepEqual(indexes([...history]), [0, 1, 2])
    assert.deepEqual(visited, [0, 1, 2])
  })

  test('a history that differs or is shorter is visited anew', () => {
    const { visited, indexes } = counting()
    const [a, b, c] = [said('a'), said('b'), said('c')]
    indexes([a, b])
    visited.length = 0
    assert.deepEqual(indexes([a, c]), [0, 1])
    assert.deepEqual(visited, [0, 1])
    assert.deepEqual(indexes([a]), [0])
    assert.deepEqual(indexes([]), [])
  })

  test('each key has a value of its own', () => {
    const { visited, indexes } = counting()
    const history = [said('a')]
    indexes(history, 'x')
    indexes(history, 'y')
    assert.deepEqual(visited, [0, 0])
  })
})

describe('encodings', () => {
  test('each entry is encoded once per key and variant', () => {
    const history = [said('a'), said('b')]
    const cache = new SessionCache()
    let made = 0
    const run = (entries: Entry[], key: string, variant: (index: number) => string = () => '') => {
      const encode = (entry: Entry): string => `${entry.role}${made++}`
      const { pieces, encoded } = cache.encode(entries, { key, variant, encode })
      return { pieces: [...pieces], encoded }
    }
    assert.deepEqual(run(history, 'k'), { pieces: ['user0', 'user1'], encoded: 2 })
    assert.deepEqual(run([...history, said('c')], 'k'), { pieces: ['user0', 'user1', 'user2'], encoded: 1 })
    assert.equal(run(history, 'k', index => (index === 1 ? 'moved' : '')).encoded, 1)
    assert.equal(run(history, 'other').encoded, 2)
    assert.deepEqual(run([], 'k'), { pieces: [], encoded: 0 })
  })

  test('a range of the history is encoded alone, and the rest when it is asked for', () => {
    const history = Array.from({ length: 150 }, (_, index) => said(`${index}`))
    const cache = new SessionCache()
    const encode = (from?: number, to?: number) => {
      const encoder = {
        key: 'k',
        variant: () => '',
        encode: (entry: Entry) => joinText(entry.role === 'user' ? entry.parts : []),
      }
      const { encoded, join } = cache.encode(history, encoder, from, to)
      return { encoded, text: join(before => (before < 0 ? '' : ' ')).text }
    }
    const texts = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, index) => index + from).join(' ')
    assert.deepEqual(encode(100), { encoded: 50, text: texts(100, 150) })
    assert.deepEqual(encode(0, 70), { encoded: 70, text: texts(0, 70) })
    assert.deepEqual(encode(), { encoded: 30, text: texts(0, 150) })
    assert.deepEqual(encode(0, 100), { encoded: 0, text: texts(0, 100) })
  })

  test('joining from cached blocks gives the same text, however the history changes', () => {
    const first = said('first')
    const step = fc.record({
      keep: fc.nat({ max: 400 }),
      add: fc.array(fc.constantFrom('a', 'b', ''), { maxLength: 150, size: 'max' }),
      moved: fc.option(fc.nat({ max: 400 })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8, size: 'max' }), steps => {
        let history = [first]
        const cache = new SessionCache()
        for (const { keep, add, moved } of steps) {
          history = [...history.slice(0, keep + 1), ...add.map(said)]
          const variant = (index: number): string => (index === moved ? 'moved' : '')
          const { pieces, join } = cache.encode(history, {
            key: 'k',
            variant,
            encode: (entry, index) => (entry.role === 'user' && joinText(entry.parts) + variant(index)) || '',
          })
          const between = (before: number, index: number): string =>
            before < 0 ? '' : pieces[before] === pieces[index] ? '=' : ','
          let [text, last] = ['', -1]
          for (const [index, piece] of pieces.entries()) {
            if (piece === '') continue
            text += between(last, index) + piece
            last = index
          }
          const joined = join(between)
          assert.deepEqual([joined.text, joined.last], [text, last])
          assert.deepEqual([joined.head + joined.tail, joined.tail === ''], [text, text === ''])
        }
      }),
    )
  })
})

test('a session keeps one cache in its memory', () => {
  const memory = {}
  assert.equal(SessionCache.of(memory), SessionCache.of(memory))
  assert.notEqual(SessionCache.of(undefined), SessionCache.of(undefined))
})
