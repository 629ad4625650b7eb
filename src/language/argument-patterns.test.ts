import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json } from '../lib/json/index.ts'
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

  test('a star in the host of an address covers hosts, whatever the value puts behind them', () => {
    const ofSite = 'https://*.example.org/'
    for (const value of ['https://a.example.org/', 'https://a.b.example.org', 'HTTPS://A.Example.ORG:443/'])
      assert.ok(covers(ofSite, value), value)
    for (const value of [
      'https://evil.test#.example.org/',
      'https://evil.test/.example.org/',
      'https://evil.test?.example.org/',
      'https://evil.test%23.example.org/',
      'https://evil.test%2f.example.org/',
      'https://evil.test\\.example.org/',
      'https://x@a.example.org/',
      'https://a.example.org@evil.test/',
      'https://a.example.org:8443/',
      'https://a.example.org.evil.test/',
      'https://a.example.org/x',
      'https://a.example.org/?x',
      'https://a.example.org/#x',
      'https:a.example.org/',
      'https:/a.example.org/',
      'http://a.example.org/',
      ' https://a.example.org/',
      'https://a.example.org\u3002evil.test/',
      'https://a.example.org/ ',
      'javascript://a.example.org/',
      'https://.example.org/',
    ])
      assert.equal(covers(ofSite, value), false, value)
  })

  test('paths of addresses are compared apart from queries; ** at the end stands for all that follows', () => {
    assert.ok(covers('https://api.test/users/*', 'https://api.test/users/ana'))
    assert.ok(covers('https://api.test/users/**', 'https://api.test/users/ana/notes?page=2#top'))
    assert.ok(covers('https://api.test/users?id=*', 'https://api.test/users?id=5'))
    assert.ok(covers('https://api.test:8443/**', 'https://api.test:8443/x'))
    assert.ok(covers('https://api.test:443/**', 'https://api.test/x'))
    assert.ok(covers('https://**', 'https://any.test:99/x?y#z'))
    assert.ok(covers('*://api.test/x', 'ftp://api.test/x'))
    assert.ok(covers('https://*.b\u00fccher.test/', 'https://www.b\u00fccher.test/'))
    for (const value of [
      'https://api.test/users/..',
      'https://api.test/users/%2e%2e/admin',
      'https://api.test/users/%2E./admin',
      'https://api.test/users/%252e%252e/admin',
      'https://api.test/users/..%2fadmin',
      'https://api.test/users/..;/admin',
      'https://api.test/users/%c0%ae%c0%ae/admin',
      'https://api.test/users/a%00b',
      'https://evil.test/users/x',
      'https://api.test#/users/x',
      'https://api.test?/users/x',
      'https://api.test:81/users/x',
    ])
      assert.equal(covers('https://api.test/users/**', value), false, value)
    for (const value of [
      'https://api.test/users/a%2fb',
      'https://api.test/users/a?admin=1',
      'https://api.test/users/a#b',
      'https://api.test/users/.',
    ])
      assert.equal(covers('https://api.test/users/*', value), false, value)
    assert.equal(covers('https://api.test/users?id=*', 'https://api.test/users?id=5&role=admin'), false)
    assert.equal(covers('https://api.test/users?id=*', 'https://api.test/users?id=5%26role=admin'), false)
    assert.equal(covers('http://127.0.0.*/', 'http://0x7f000001/'), false)
    assert.ok(covers('http://127.0.0.*/', 'http://127.0.0.1/'))
  })

  test('an address is covered by no pattern that is none of an address', () => {
    for (const pattern of ['*', 'http**', '**.example.org/**', '**example.org**'])
      assert.equal(covers(pattern, 'https://evil.test#.example.org/'), false, pattern)
    assert.equal(covers('https*', 'https:evil.test'), false)
    assert.equal(covers('/**', '//evil.test/x'), false)
    assert.equal(covers('/**', '/\\evil.test/x'), false)
    assert.ok(covers('//cdn.test/**', '//cdn.test/x'))
    assert.ok(covers('see **', 'see https://evil.test'), 'a text that has one is a text')
  })

  test('a path is compared as it is written and with its escapes decoded', () => {
    assert.ok(covers('/users/**', '/users/a%20b'))
    for (const value of [
      '/users/%2e%2e',
      '/users/%2e%2e/admin',
      '/users/.%2E/admin',
      '/users/%252e%252e%252fadmin',
      '/users/..%2fadmin',
      '/users/..%5cadmin',
      '/users/x%0a',
      '/users/%ff',
      '/users/..;/admin',
      '/users/./x',
      '/users/.',
    ])
      assert.equal(covers('/users/**', value), false, value)
    assert.equal(covers('/users/*', '/users/a%2fb'), false)
    assert.equal(covers('*', '%2e%2e'), false)
    assert.ok(covers('at **', 'at 100% of 5'), 'a percent sign that escapes nothing')
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
