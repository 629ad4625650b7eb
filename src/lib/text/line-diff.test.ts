import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { lineDiff } from './line-diff.ts'

const shown = (before: string, after: string): string[] =>
  lineDiff(before, after).map(line => (line.mark === '…' ? '…' : `${line.mark}${line.text}`))

describe('line diff', () => {
  test('shows what was removed and added, and a few lines around it', () => {
    const before = 'a\nb\nc\nd\ne\nf\ng\n'
    assert.deepEqual(shown(before, 'a\nb\nc\nD\ne\nf\ng\n'), ['…', ' b', ' c', '-d', '+D', ' e', ' f', '…'])
    assert.deepEqual(shown('', 'new\n'), ['+new'])
    assert.deepEqual(shown('old', ''), ['-old'])
    assert.deepEqual(shown(before, before), ['…'])
  })

  test('far lines aside, the old text is what is kept and removed, the new one what is kept and added', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }).map(lines => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after)
        if (lines.some(line => line.mark === '…')) return
        const of = (mark: '-' | '+'): string =>
          lines.flatMap(line => (line.mark === ' ' || line.mark === mark ? [line.text] : [])).join('\n')
        assert.equal(of('-'), before)
        assert.equal(of('+'), after)
      }),
      { numRuns: 200 },
    )
  })

  test('large differences take no time', () => {
    const many = (mark: string): string => Array.from({ length: 5000 }, (_, at) => `${mark}${at}`).join('\n')
    assert.equal(lineDiff(many('a'), many('b')).length, 10_000)
  })
})
