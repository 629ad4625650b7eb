import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGrammar, GrammarError } from './index.ts'

function refusal(work: () => unknown): GrammarError {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof GrammarError)
    return error
  }
  assert.fail('nothing was thrown')
}

/** A pseudo-random text of a and b, the same on every run. */
function noise(length: number): string {
  let seed = 1
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 16) % 2 === 0 ? 'a' : 'b'
  }).join('')
}

test('a regex grammar matches the whole text, anchored or not', () => {
  for (const definition of ['[a-c]+[0-9]{2}', '^[a-c]+[0-9]{2}$', '(?P<head>[a-c]+)(\\d\\d)']) {
    const recogniser = compileGrammar('regex', definition)
    assert.equal(recogniser.match('abc42'), null)
    assert.notEqual(recogniser.match('abc42\n'), null)
    assert.equal(recogniser.match('abx42')?.offset, 2)
    assert.equal(recogniser.match('abc4')?.offset, 4)
    assert.equal(recogniser.match('')?.offset, 0)
  }
})

test('a mismatch of a regex grammar says what was found and what was expected', () => {
  assert.deepEqual(compileGrammar('regex', 'id-\\d+').match('id-\nx'), {
    offset: 3,
    line: 1,
    column: 4,
    expected: ['/id-\\d+/'],
    message:
      'The text does not match the grammar at line 1, column 4, after "id-": found "\\n", but expected /id-\\d+/.',
  })
  const ended = compileGrammar('regex', 'a+').match('aab')
  assert.deepEqual(ended?.expected, ['/a+/', 'the end of the text'])
})

test('features that RE2 does not have are refused with their position', () => {
  const cases: [string, number, RegExp][] = [
    ['a(?!b)', 2, /lookarounds/],
    ['a(?<=b)', 2, /lookarounds/],
    ['ab*?', 3, /lazy/],
    ['(a)\\1', 4, /back references/],
    ['a\\', 2, /backslash/],
    ['(a', 1, /not closed/],
    ['[a', 1, /not closed/],
    ['[a&&b]', 3, /set operations/],
    ['(?x)a', 1, /inline flags/],
    ['*a', 1, /RE2's dialect/],
  ]
  for (const [definition, column, says] of cases) {
    const error = refusal(() => compileGrammar('regex', definition))
    assert.match(error.message, says)
    assert.deepEqual([error.line, error.column], [1, column], definition)
  }
})

test('columns count code points, offsets count UTF-16 units', () => {
  const mismatch = compileGrammar('regex', '(?:🎉|\\n)+').match('🎉\n🎉🎉x')
  assert.deepEqual([mismatch?.offset, mismatch?.line, mismatch?.column], [7, 2, 3])
})

test('a definition or a text above its byte limit is refused without further work', () => {
  const error = refusal(() => compileGrammar('regex', 'é'.repeat(6), { maxGrammarBytes: 11 }))
  assert.match(error.message, /12 bytes and at most 11/)
  assert.equal(error.line, undefined)
  const recogniser = compileGrammar('regex', 'é*', { maxInputBytes: 11 })
  assert.equal(recogniser.match('é'.repeat(5)), null)
  assert.match(recogniser.match('é'.repeat(6))?.message ?? '', /12 bytes and at most 11/)
})

test('a definition is compiled once while it is among the recently used', () => {
  const first = compileGrammar('regex', 'cached')
  assert.equal(compileGrammar('regex', 'cached'), first)
  assert.notEqual(compileGrammar('regex', 'cached', { maxSteps: 5 }), first)
  for (let i = 0; i < 60; i++) {
    compileGrammar('regex', `other${i}`)
    if (i < 20) assert.equal(compileGrammar('regex', 'cached'), first)
  }
  assert.notEqual(compileGrammar('regex', 'cached'), first)
})

test('a grammar gives the same answers after its states were dropped', () => {
  const recogniser = compileGrammar('regex', '(?:a|b)*a(?:a|b){12}')
  const text = noise(20_000)
  const matching = `${text}a${'b'.repeat(12)}`
  for (let i = 0; i < 3; i++) {
    assert.equal(recogniser.match(matching), null)
    assert.equal(recogniser.match(`${text}${'b'.repeat(13)}`)?.offset, text.length + 13)
  }
})

test('patterns that explode elsewhere take linear time', () => {
  assert.equal(compileGrammar('regex', '(a+)+').match(`${'a'.repeat(100_000)}!`)?.offset, 100_000)
  assert.equal(compileGrammar('regex', '(a|aa|a*)*b').match('a'.repeat(100_000))?.offset, 100_000)
})

test('a text with lone surrogates is matched like any other', () => {
  assert.equal(compileGrammar('regex', '.*').match('\ud83d x \udf89'), null)
  assert.equal(compileGrammar('regex', '[a-z]*').match('ab\ud83d')?.offset, 2)
})
