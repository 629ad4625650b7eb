import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateLimit } from './rate-limit.ts'

test('T-25 an owner in a hurry is slowed down, others are not, and time heals', () => {
  let now = 0
  const take = rateLimit(10, 20, () => now)
  for (let count = 0; count < 20; count += 1) take('ana')
  assert.throws(() => take('ana'), { code: 'rate_limited' })
  take('ben')
  now += 100
  take('ana')
  assert.throws(() => take('ana'), { code: 'rate_limited' })
  now += 1_000_000
  for (let count = 0; count < 20; count += 1) take('ana')
  assert.throws(() => take('ana'), { code: 'rate_limited' })
})
