import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json } from '../lib/json.ts'
import { checkPatterns, coversArguments, exactPattern } from './argument-patterns.ts'

const covers = (pattern: string, value: Json): boolean => coversArguments({ it: pattern }, { it: value })

describe('patterns of arguments', () => {
  test('a star stands for one word, and stops at whatever separates two', () => {
    assert.ok(covers('*@example.org', 'ana.b+c@example.org'))
    for (const value of [
      'eve@evil.example,ana@example.org',
      'eve@evil.example ana@example.org',
      'eve@evil.example;ana@example.org',
      '<eve@evil.example>ana@example.org',
      'a@b@example.org',
      '@example.org',
      'ana@example.org.evil.example',
      'ana@example.org\n',
      '"x"@example.org',
    ])
      assert.equal(covers('*@example.org', value), false, value)
  })

  test('a pattern of a folder is not left by dots, slashes or hidden characters', () => {
    assert.ok(covers('/srv/shop/**', '/srv/shop/src/cart.ts'))
    assert.ok(covers('/srv/shop/*', '/srv/shop/notes..txt'))
    for (const value of [
      '/srv/shop/../../etc/passwd',
      '/srv/shop/src/..',
      '/srv/shop/a\\..\\b',
      '/srv/shop/a\u202e',
      '/srv/shop/a\u0000',
      '/srv/shop/',
    ])
      assert.equal(covers('/srv/shop/**', value), false, value)
    assert.equal(covers('/srv/shop/*', '/srv/shop/src/cart.ts'), false)
  })

  test('an argument without a pattern is not covered, and one that is missing neither', () => {
    const patterns = { to: '*@example.org', body: '**' }
    assert.ok(coversArguments(patterns, { to: 'ana@example.org', body: 'Hi\nthere' }))
    assert.ok(coversArguments(patterns, { to: 'ana@example.org' }), '** covers an absent argument')
    assert.equal(coversArguments(patterns, { body: 'Hi' }), false)
    assert.equal(coversArguments(patterns, { to: 'ana@example.org', body: '', bcc: 'eve@x' }), false)
    assert.equal(coversArguments({ constructor: '**' }, { toString: 1 }), false)
  })

  test('numbers and flags are compared by their text; lists and objects only by **', () => {
    assert.ok(covers('5', 5))
    assert.ok(covers('true', true))
    assert.equal(covers('5', 50), false)
    assert.ok(covers('**', { deep: [1] }))
    assert.equal(covers('*', ['a']), false)
    assert.equal(covers('null', null), false)
    assert.ok(coversArguments({ input: 'ls *' }, 'ls src'))
    assert.equal(coversArguments({ input: 'ls *' }, 'ls src; rm -rf x'), false)
  })

  test('an exact pattern covers its value and nothing else, stars and backslashes included', () => {
    for (const value of ['a*b', 'a\\*b', '**', '\\', 7, false, 'ünï 🙂']) {
      const pattern = exactPattern(value)!
      assert.ok(covers(pattern, value), pattern)
      assert.equal(covers(pattern, `${value}x`), false)
      assert.equal(covers(pattern, 'aXb'), false)
    }
    assert.deepEqual(
      [exactPattern([]), exactPattern({}), exactPattern(null), exactPattern('')],
      [undefined, undefined, undefined, undefined],
    )
  })

  test('the cost is bounded: a long text is not covered by a star', () => {
    assert.equal(covers('*', 'a'.repeat(4001)), false)
    assert.ok(covers(`${'*a'.repeat(200)}`, 'a'.repeat(4000)))
  })

  test('what cannot be meant is refused with what to do', () => {
    assert.throws(() => checkPatterns({}), /at least one argument/)
    assert.throws(() => checkPatterns({ to: '' }), /where\.to.*1 to 500/)
    assert.throws(() => checkPatterns({ to: 'x'.repeat(501) }), /1 to 500/)
    assert.doesNotThrow(() => checkPatterns({ to: '**' }))
  })
})
