import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Flow, widthOf } from './flow.ts'

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

test('wide characters count twice and may be broken between', () => {
  assert.equal(widthOf('日本 e\u0301'), 6)
  assert.equal(flowed(8, '日本語日本語'), '  日本語\n  日本語\n')
})

test('a word that is longer than the line stands alone', () => {
  assert.equal(flowed(8, 'a abcdefghij b'), '  a\n  abcdefghij\n  b\n')
})

test('nothing is written for nothing', () => {
  assert.equal(flowed(8, '', '  '), '')
})
