// Pins the form of re2js's programs, which is not part of its public API. An upgrade that changes it fails here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileProgram, OP, PatternError } from './re2-program.ts'

function ops(source: string): number[] {
  return compileProgram(source).instructions.map(({ op }) => op)
}

test('known patterns compile to known instructions', () => {
  assert.deepEqual(ops('(a)$'), [OP.fail, OP.capture, 9, OP.capture, OP.emptyWidth, OP.match])
  assert.ok(ops('a*').includes(OP.alt))
  assert.ok(ops('(?:|a)').includes(OP.nop))
  assert.ok(ops('[ab]').includes(OP.rune))
  assert.ok(ops('.').includes(OP.runeAnyNotNewline))
})

test('a rune instruction tests one code point, with case folding if the pattern says so', () => {
  const fold = compileProgram('(?i:k)').instructions.find(({ runes }) => runes.length > 0)
  assert.deepEqual(
    ['k', 'K', '\u212a', 'j'].map(char => fold?.matchRune(char.codePointAt(0) ?? 0)),
    [true, true, true, false],
  )
})

test('a pattern outside RE2’s dialect throws a PatternError', () => {
  assert.throws(() => compileProgram('a**{2}'), PatternError)
})
