import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitNames } from '../language/events.ts'
import { checkLimits, defaultLimits } from './limits.ts'

test('without settings, every limit has its default', () => {
  assert.deepEqual(checkLimits(), {
    steps: 50,
    calls: 200,
    identicalCalls: 5,
    time: 600_000,
    bytes: 10_000_000,
    sessionBytes: 128 * 1024 * 1024,
    tokens: 2_000_000,
    money: 20,
  })
  assert.deepEqual(Object.keys(defaultLimits).sort(), [...limitNames].sort())
})

test('a setting replaces only its own default', () => {
  assert.deepEqual(checkLimits({ steps: 3 }), { ...defaultLimits, steps: 3 })
  assert.equal(defaultLimits.steps, 50)
})

test('the limit of money may be below 1, but not 0 or infinite', () => {
  assert.equal(checkLimits({ money: 0.05 }).money, 0.05)
  for (const money of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => checkLimits({ money }), { code: 'config_invalid', message: /"money".*above 0/ })
})

test('an unknown limit is refused with the names of the known ones', () => {
  const typo: Record<string, number> = { step: 3 }
  assert.throws(() => checkLimits(typo), { code: 'config_invalid', message: /"step".*steps, calls/ })
  const inherited: Record<string, number> = { toString: 3 }
  assert.throws(() => checkLimits(inherited), { code: 'config_invalid' })
})

for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5'])
  test(`a limit of ${JSON.stringify(value)} (${String(value)}) is refused`, () => {
    // A configuration file can hold any value.
    const partial = { calls: value } as Record<string, number>
    assert.throws(() => checkLimits(partial), { code: 'config_invalid', message: /"calls".*whole number/ })
  })
