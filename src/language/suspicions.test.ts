import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSuspicions } from './suspicions.ts'

test('hidden characters are counted and named, and those that turn the direction are pointed out', () => {
  assert.deepEqual(findSuspicions({ to: 'ana\u200b', note: 'a\u009bb\nc' }), [
    '2 hidden or control characters: U+200B, U+009B.',
  ])
  assert.deepEqual(findSuspicions('invoice\u202efdp.exe'), [
    '1 hidden or control characters: U+202E.',
    'Some of them change the direction of text: it may be shown in another order than it is used.',
  ])
  const many = findSuspicions('\u200b\u200c\u200d\u2060\u2061')
  assert.match(many[0] ?? '', /^5 hidden .*U\+200B, U\+200C, U\+200D and others\.$/)
})

test('words that mix alphabets are named wherever they stand, in names and far into a long text', () => {
  for (const value of [
    { host: 'p\u0430ypal.com' },
    { 'p\u0430th': 1 },
    [`${'x '.repeat(200_000)}p\u0430ypal`],
    'micr\u03bfsoft',
    '\u0561bc',
    '\u0430\u0440\u0440\u04cf\u0435.com',
  ])
    assert.ok(
      findSuspicions(value).some(words => /mixes letters of several alphabets/.test(words)),
      JSON.stringify(value).slice(0, 60),
    )
  assert.deepEqual(findSuspicions({ name: 'Москва', city: 'Αθήνα', both: 'Москва Paris' }), [])
})
