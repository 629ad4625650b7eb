import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { SchemaError } from './keywords.ts'
import { translatePattern } from './pattern.ts'

const matches = (pattern: string, text: string): boolean =>
  RE2JS.compile(translatePattern(pattern)).test(text)

test('white space, line ends and properties are those of ECMA-262', () => {
  for (const space of ['\t', '\v', '\u00a0', '\u2003', '\u2028', '\u2029', '\ufeff', ' ']) {
    const code = space.codePointAt(0)?.toString(16) ?? ''
    assert.ok(matches('^\\s$', space) && matches('^[a\\s]$', space), `\\s matches U+${code}`)
    assert.ok(!matches('^\\S$', space) && !matches('^[a\\S]$', space), `\\S does not match U+${code}`)
  }
  assert.ok(!matches('^\\s$', '\u0085') && !matches('^\\s$', '\u200b') && matches('^[\\S]$', '\u200b'))
  for (const end of ['\n', '\r', '\u2028', '\u2029']) assert.ok(!matches('^a.b$', `a${end}b`))
  assert.ok(matches('^\\p{Letter}cole$', 'École') && !matches('^\\p{Letter}$', '1'))
  assert.ok(matches('^\\p{gc=Nd}+\\p{digit}$', '৪২') && matches('^\\P{L}$', '1'))
  assert.ok(matches('^[\\p{Script=Greek}\\p{Lu}]+$', 'αβA') && !matches('^\\p{sc=Greek}$', 'a'))
  assert.ok(!matches('^\\d$', '৪') && !matches('^\\w$', 'é'))
  assert.ok(matches('^\\u{1F600}\\uD83D\\uDE00$', '😀😀') && matches('^[^]$', '\n') && !matches('[]', 'a'))
})

test('what RE2 cannot match is refused, with what to use instead', () => {
  for (const [pattern, words] of [
    ['^(?=.*\\d).+$', /looks ahead or behind. Use "allOf" .* "not"/],
    ['(?!a)b', /looks ahead or behind/],
    ['(?<=a)b', /looks ahead or behind/],
    ['(?<!a)b', /looks ahead or behind/],
    ['(a)\\1', /refers back to a group/],
    ['(?<n>a)\\k<n>', /refers back to a group/],
    ['((a{30}){30}){30}', /repeats more than 1000 times/],
    ['\\p{Nothing}', /is not known; there are general categories/],
    ['[[:alpha:]]', /not of ECMA-262/],
    ['\\Qa\\E', /\\Q .* is not an escape/],
    ['(?s:.)', /a group begins with/],
    ['(', /\) is missing/],
    [')', /closes no group/],
    ['[a', /\] is missing/],
    ['[b-a]', /out of order/],
    ['a{3,2}', /out of order/],
    ['a**', /nothing that \* could repeat/],
    ['|+', /nothing that \+ could repeat/],
    ['\\', /single/],
  ] as const)
    assert.throws(
      () => translatePattern(pattern),
      (error: unknown) => error instanceof SchemaError && words.test(error.message),
      pattern,
    )
})

test('what other dialects write for the same is read', () => {
  assert.ok(matches('(?i)^abc$', 'ABC') && matches('\\A(?P<n>a)\\z', 'a') && !matches('\\Aa\\Z', 'ba'))
  assert.ok(matches('^[\\w-\\.]+\\@a{b}$', 'x-y.z@a{b}'))
})

const pieces = [
  ...[
    'a',
    'b',
    '(',
    ')',
    '(?:',
    '(?<n>',
    '[',
    '[^',
    ']',
    '|',
    '*',
    '+',
    '?',
    '{2}',
    '{2,}',
    '{3,40}',
    '{0}',
    '.',
  ],
  ...[
    '{1001}',
    '^',
    '$',
    '\\d',
    '\\S',
    '\\s',
    '\\W',
    '\\b',
    '\\p{L}',
    '\\u0041',
    '\\x41',
    '\\-',
    '-',
    '{',
    '}',
  ],
  ...[',', '\\n', 'é', '😀', '\\/', ' ', '\\cA', '\\0', '(?i:', '\\B'],
]
const texts = [
  '',
  'a',
  'b',
  'aab',
  'A',
  'é',
  '😀',
  '\u00a0',
  '\n',
  'a\r',
  '-',
  ',',
  '/',
  '3',
  '\u2028b',
  'abab',
]

test('a pattern is refused, or RE2 takes it and matches what ECMA-262 matches', () => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), parts => {
      const pattern = parts.join('')
      let translated: string
      try {
        translated = translatePattern(pattern)
      } catch (error) {
        assert.ok(error instanceof SchemaError)
        return
      }
      const program = RE2JS.compile(translated)
      let native: RegExp
      try {
        native = new RegExp(pattern, 'u')
      } catch {
        return
      }
      compared += 1
      for (const text of texts) assert.equal(program.test(text), native.test(text), JSON.stringify(text))
    }),
    { numRuns: 3_000 },
  )
  assert.ok(compared > 100)
})
