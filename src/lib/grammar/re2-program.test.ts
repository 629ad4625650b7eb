// Pins the form of re2js's programs, which its types do not promise: an upgrade that changes it fails here first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileProgram, OP, PatternError } from './re2-program.ts'

function ops(source: string): number[] {
  return compileProgram(source).instructions.map(({ op }) => op)
}

test('the instructions of known patterns', () => {
  assert.deepEqual(ops('(a)$'), [OP.fail, OP.capture, 9, OP.capture, OP.emptyWidth, OP.match])
  assert.ok(ops('a*').includes(OP.alt))
  assert.ok(ops('(?:|a)').includes(OP.nop))
  assert.ok(ops('[ab]').includes(OP.rune))
  assert.ok(ops('.').includes(OP.runeAnyNotNewline))
})

test('a rune instruction tests one code point, folded where asked', () => {
  const fold = compileProgram('(?i:k)').instructions.find(({ runes }) => runes.length > 0)
  assert.deepEqual(
    ['k', 'K', '\u212a', 'j'].map(char => fold?.matchRune(char.codePointAt(0) ?? 0)),
    [true, true, true, false],
  )
})

test('a pattern outside the dialect is a PatternError', () => {
  assert.throws(() => compileProgram('a**{2}'), PatternError)
})
