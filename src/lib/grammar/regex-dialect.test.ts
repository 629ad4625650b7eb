// Our automata compared with re2js's own matcher, and the patterns for which we differ on purpose.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { compileGrammar } from './index.ts'

const atom = fc.constantFrom(
  'a',
  'b',
  '[ab]',
  '[^a]',
  '.',
  '\\n',
  '_',
  '(?i:a)',
  '(?s:.)',
  '^',
  '$',
  '\\b',
  '\\B',
  '(?m:^)',
  '(?m:$)',
)
const pattern = fc.letrec<{ node: string; piece: string }>(tie => ({
  piece: fc
    .tuple(
      fc.oneof(
        { maxDepth: 2 },
        atom,
        tie('node').map(inner => `(${inner})`),
      ),
      fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}'),
    )
    .map(([body, suffix]) =>
      /^[\\^$(]/.test(body) && suffix !== '' ? `(?:${body})${suffix}` : body + suffix,
    ),
  node: fc
    .array(fc.array(tie('piece'), { maxLength: 3 }), { minLength: 1, maxLength: 2 })
    .map(options => options.map(pieces => pieces.join('')).join('|')),
})).node
const text = fc
  .array(fc.constantFrom('a', 'b', 'A', '\n', ' ', '_', 'é'), { maxLength: 7 })
  .map(parts => parts.join(''))

test('our verdicts on whole texts equal those of re2js, also with assertions', () => {
  let matches = 0
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 6, maxLength: 6 }), (source, texts) => {
      const recogniser = compileGrammar('regex', source)
      const reference = RE2JS.compile(source)
      for (const candidate of texts) {
        const expected = reference.matches(candidate)
        if (expected) matches += 1
        assert.equal(
          recogniser.match(candidate) === null,
          expected,
          `${source} on ${JSON.stringify(candidate)}`,
        )
      }
    }),
    { seed: 7, numRuns: 400 },
  )
  assert.ok(matches > 100, `matches are common: ${matches}`)
})

const WHOLE: [source: string, accepts: string[], refuses: string[]][] = [
  ['\\d+', ['42', '٤٢'], ['x']],
  ['\\w+', ['naïve_1', '名前', 'é'], ['a b', '-']],
  ['\\s+', [' \t\n\u00a0\u2003'], ['x', '\u200b']],
  ['\\S\\W\\D', ['é-x', '名 y'], [' -x', 'éxx', 'é-1']],
  ['[\\s\\d]+', ['1 2\u3000'], ['a']],
  ['[^\\s]+', ['añb'], ['a b', '\u00a0']],
  ['[\\W]+[\\S]', ['- é'], ['é', '-- ']],
  ['[^\\W_]+', ['abcé9'], ['a_', '-']],
  ['[\\D]', ['a'], ['5', '٤']],
  ['\\u00e9\\u{1F389}\\U0001F389\\x41\\x{42}', ['é🎉🎉AB'], ['e🎉🎉AB']],
  ['a{,2}b{}c{x}', ['b{}c{x}', 'aab{}c{x}'], ['aaab{}c{x}', 'a']],
  ['[]a]+[[:digit:]][[]', [']a]5['], ['a5', 'b5[']],
  ['(?i)straße|(?-i:A)', ['STRASSE'.replace('SS', 'ß'), 'A'], ['a']],
  ['\\p{Lu}\\P{Lu}\\pN', ['Éé5'], ['éé5', 'ÉÉ5']],
  ['\\Aab\\Z', ['ab'], ['ab\n', 'b']],
  ['.', ['x', '🎉'], ['\n', '', 'xx']],
]

for (const [source, accepted, refused] of WHOLE) {
  test(`the dialect of ${source}`, () => {
    const recogniser = compileGrammar('regex', source)
    for (const candidate of accepted) assert.equal(recogniser.match(candidate)?.message, undefined, candidate)
    for (const candidate of refused) assert.notEqual(recogniser.match(candidate), null, candidate)
  })
}

test('anchors at the edges of a terminal are dropped, also in groups and alternatives', () => {
  for (const source of [
    '^ab$',
    '(^ab$)',
    '^(?:ab$)',
    '\\Aab\\z',
    '^ab|^cd$',
    '((^ab)|cd$)',
    '(?i)^ab$',
    '^^ab$$',
  ]) {
    const recogniser = compileGrammar('lark', `start: "<" /${source}/ ">"`)
    assert.equal(recogniser.match('<ab>'), null, source)
    assert.notEqual(recogniser.match('ab>'), null, source)
  }
})

test('a counted pattern of Unicode classes is not refused as too large', () => {
  assert.equal(compileGrammar('regex', '\\w{1,900}[^\\s]{0,900}').match('x'.repeat(1_800)), null)
})
