import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnWidth, Flow } from './flow.ts'

function flowed(width: number, ...pieces: string[]): string {
  let text = ''
  const flow = new Flow(written => (text += written), { indent: '  ', width: () => width })
  const plain = (word: string): string => word
  for (const piece of pieces) flow.add(piece, plain)
  flow.end()
  return text
}

test('words are broken before the edge, whatever pieces they come in', () => {
  const expected = '  one two\n  three\n  four\n'
  assert.equal(flowed(11, 'one two three four'), expected)
  assert.equal(flowed(11, ...'one two three four'.split('')), expected)
  assert.equal(flowed(Number.POSITIVE_INFINITY, 'one two three four'), '  one two three four\n')
})

test('line feeds are kept, also empty lines', () => {
  assert.equal(flowed(80, 'a\n\nb\n'), '  a\n\n  b\n')
})

test('code and tables keep their spaces; a line that is broken here begins without', () => {
  assert.equal(flowed(80, ' if x:\n    return  1\n\tpass'), '  if x:\n      return  1\n      pass\n')
  assert.equal(flowed(80, ...'| a   | b |\n  | 1 |'.split('')), '  | a   | b |\n    | 1 |\n')
  assert.equal(flowed(9, 'a\n  bcd   efg'), '  a\n    bcd\n  efg\n')
})

test('a line that is begun elsewhere is gone on with', () => {
  let text = '→ name '
  const flow = new Flow(written => (text += written), { indent: '    ', width: () => 14 })
  flow.beginAt(7)
  flow.add('one two three', word => word)
  flow.end()
  assert.equal(text, '→ name one two\n    three\n')
})

test('wide characters count twice and may be broken between', () => {
  assert.equal(columnWidth('日本 e\u0301'), 6)
  assert.equal(flowed(8, '日本語日本語'), '  日本語\n  日本語\n')
})

test('a word that is longer than the line stands alone', () => {
  assert.equal(flowed(8, 'a abcdefghij b'), '  a\n  abcdefghij\n  b\n')
})

test('nothing is written for nothing', () => {
  assert.equal(flowed(8, '', '  '), '')
})
