import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DiffLine, diffLines, foldSame, readUnifiedDiff } from './line-diff.ts'
import { isUnifiedDiff } from './unified-diff.ts'

const side = (lines: readonly DiffLine[], kind: 'added' | 'removed'): string =>
  lines
    .filter(line => line.kind === 'same' || line.kind === kind)
    .map(line => line.text)
    .join('\n')

test('a diff holds both texts, whatever they are', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 }).map(lines => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      assert.equal(side(lines, 'removed'), before)
      assert.equal(side(lines, 'added'), after)
    }),
  )
})

test('what is the same stays the same', () => {
  const lines = diffLines('a\nb\nc', 'a\nx\nc')
  assert.deepEqual(
    lines.map(line => `${line.kind} ${line.text}`),
    ['same a', 'removed b', 'added x', 'same c'],
  )
  assert.deepEqual(
    lines.map(({ before, after }) => [before, after]),
    [
      [1, 1],
      [2, undefined],
      [undefined, 2],
      [3, 3],
    ],
  )
})

test('texts that have nothing in common are shown whole', () => {
  const before = Array.from({ length: 12_000 }, (_, index) => `a${index}`).join('\n')
  const after = before.replaceAll('a', 'b')
  const lines = diffLines(before, after)
  assert.equal(side(lines, 'removed'), before)
  assert.equal(side(lines, 'added'), after)
})

test('lines far from a change are folded', () => {
  const text = Array.from({ length: 40 }, (_, index) => `line ${index}`)
  const changed = text.with(20, 'other')
  const blocks = foldSame(diffLines(text.join('\n'), changed.join('\n')))
  assert.deepEqual(
    blocks.map(block => ('folded' in block ? -block.folded.length : block.lines.length)),
    [-17, 8, -16],
  )
})

test('a patch is read with its line numbers', () => {
  const patch = '--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@\n same\n-old\n+new'
  assert.ok(isUnifiedDiff(patch))
  assert.ok(!isUnifiedDiff('- a list\n+ of things'))
  assert.deepEqual(
    readUnifiedDiff(patch)
      .slice(3)
      .map(({ kind, text, before, after }) => [kind, text, before, after]),
    [
      ['same', 'same', 3, 3],
      ['removed', 'old', 4, undefined],
      ['added', 'new', undefined, 4],
    ],
  )
})
