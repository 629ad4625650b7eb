import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasPhrases, searchExcerpt, searchPhrases, searchWords } from './search-words.ts'

const has = (text: string, query: string): boolean => hasPhrases(searchWords(text), searchPhrases(query))

test('words are compared without case, accents and signs', () => {
  assert.equal(searchWords('  Zürich, CAFÉ — send_mail("a@b.org")!'), 'zurich cafe send mail a b org')
  assert.ok(has('Grüße aus Zürich', 'ZURICH'))
  assert.ok(has('{"to":"bo@example.org"}', 'bo@example.org'))
  assert.ok(!has('something', 'thing'), 'a word is found by its beginning')
})

test('an unfinished word is a beginning; a sign or quotes end it', () => {
  assert.ok(has('number 77', 'number 7'))
  assert.ok(!has('number 77', 'number 7?'))
  assert.ok(has('number 7', '"number 7"'))
  assert.ok(!has('number 77', '"number 7"'))
  assert.ok(!has('7 number', '"number 7"'))
})

test('scripts without spaces are found by any part, and data is not indexed', () => {
  assert.ok(has('天気はどうですか', 'どう'))
  assert.equal(searchWords(`x ${'A'.repeat(500)} y`), 'x y')
})

test('signs alone look for nothing', () => {
  assert.deepEqual(searchPhrases('" * ( - ) :'), [])
  assert.ok(!has('anything', '*'))
})

test('an excerpt begins near the words', () => {
  const text = `${'before '.repeat(40)}the Needle is here ${'after '.repeat(40)}`
  const excerpt = searchExcerpt(text, searchPhrases('needle'), 60)
  assert.match(excerpt, /^… .*Needle.* …$/)
  assert.ok(excerpt.length < 70)
  assert.equal(searchExcerpt('short', searchPhrases('nothing'), 60), 'short')
})
