import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOccurrences, replaceOccurrences } from './occurrences.ts'

test('occurrences are found as by splitting, in short texts and in long ones', () => {
  const filler = 'xy\ud83d\ude00'.repeat(2_000)
  for (const [text, wanted] of [
    ['', 'a'],
    ['aaaa', 'aa'],
    ['aaaaa', 'aa'],
    ['abcabc', 'abc'],
    [`${filler}needle${filler}needle`, 'needle'],
    ['ab'.repeat(3_000), `${'ab'.repeat(200)}a`],
    ['a'.repeat(5_000), 'a'.repeat(499)],
    [filler, '\ud83d'.repeat(1_000)],
  ] as const) {
    assert.equal(countOccurrences(text, wanted), text.split(wanted).length - 1)
    assert.equal(replaceOccurrences(text, wanted, '<$&>'), text.split(wanted).join('<$&>'))
  }
})

test('a text that is almost everywhere costs no more than one that is nowhere', () => {
  const text = 'a'.repeat(1_000_000)
  const cost = (wanted: string): number => {
    const before = process.threadCpuUsage()
    assert.equal(countOccurrences(text, wanted), 0)
    const { user, system } = process.threadCpuUsage(before)
    return user + system
  }
  const nowhere = `${'b'.repeat(50_001)}`
  const almost = `${'a'.repeat(25_000)}b${'a'.repeat(25_000)}`
  // Code is compiled while it runs first; whatever else the machine does only adds.
  const best = (wanted: string): number => Math.min(...[1, 2, 3].map(() => cost(wanted)))
  const reference = best(nowhere)
  assert.ok(best(almost) < reference * 20 + 20_000, `the reference took ${reference} µs`)
})
