import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnerAccounts } from './owner-limits.ts'

function accountsAt(clock: { now: number }): OwnerAccounts {
  return new OwnerAccounts({ requests: 10, burst: 20, streams: 2 }, 100, () => clock.now)
}

test('an owner in a hurry is slowed down, others are not, and time heals', () => {
  const clock = { now: 0 }
  const accounts = accountsAt(clock)
  const ana = accounts.of('ana')
  for (let count = 0; count < 20; count += 1) ana.request()
  assert.throws(() => ana.request(), { code: 'rate_limited' })
  accounts.of('ben').request()
  clock.now += 100
  accounts.of('ana').request()
  assert.throws(() => ana.request(), { code: 'rate_limited' })
  clock.now += 1_000_000
  for (let count = 0; count < 20; count += 1) ana.request()
  assert.throws(() => ana.request(), { code: 'rate_limited' })
})

test('a refused request says how long to wait', () => {
  const ana = new OwnerAccounts({ requests: 2, burst: 1 }, 100, () => 0).of('ana')
  ana.request()
  assert.throws(() => ana.request(), { code: 'rate_limited', retryAfterMs: 500 })
})

test('streams count while they are open, and closing one twice counts once', () => {
  const accounts = accountsAt({ now: 0 })
  const ana = accounts.of('ana')
  const close = ana.open()
  ana.open()
  assert.throws(() => ana.open(), { code: 'rate_limited' })
  accounts.of('ben').open()
  close()
  close()
  ana.open()
  assert.throws(() => ana.open(), { code: 'rate_limited' })
})

test('bodies of eight times the largest size may be read at once', () => {
  const ana = accountsAt({ now: 0 }).of('ana')
  for (let count = 0; count < 8; count += 1) ana.takeBody(100)
  assert.throws(() => ana.takeBody(1), { code: 'rate_limited' })
  ana.releaseBody(100)
  ana.takeBody(100)
})

test('frames that were read are paid for before more are read', () => {
  const clock = { now: 0 }
  const ana = accountsAt(clock).of('ana')
  for (let count = 0; count < 20; count += 1) ana.frame()
  assert.equal(ana.debtMs, 0)
  for (let count = 0; count < 5; count += 1) ana.frame()
  assert.equal(ana.debtMs, 500)
  assert.throws(() => ana.request(), { code: 'rate_limited' })
  clock.now += 500
  assert.equal(ana.debtMs, 0)
})
