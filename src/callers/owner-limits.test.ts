import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnerAccounts } from './owner-limits.ts'

function accountsAt(clock: { now: number }): OwnerAccounts {
  return new OwnerAccounts({ perOwner: { requests: 10, burst: 20, streams: 2 } }, 100, () => clock.now)
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
  const ana = new OwnerAccounts({ perOwner: { requests: 2, burst: 1 } }, 100, () => 0).of('ana')
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

test('all wallets together have limits of their own, and each its own besides', () => {
  const limits = { perOwner: { burst: 5, streams: 2 }, allWallets: { burst: 8, streams: 3, requests: 2 } }
  const accounts = new OwnerAccounts(limits, 100, () => 0)
  const ended = ['wallet:a', 'wallet:b', 'wallet:c'].map(owner => accounts.enter(owner, false).leave)
  assert.equal(accounts.open, 3)
  assert.throws(() => accounts.enter('wallet:d', false), { code: 'rate_limited', message: /all wallets/ })
  assert.equal(accounts.of('wallet:d').opened, 0)
  accounts.enter('a key', false)
  for (const end of ended) {
    end()
    end()
  }
  assert.equal(accounts.wallets.opened, 0)
  // Four requests are left, whoever the callers say that they are.
  for (let sent = 0; sent < 4; sent += 1) accounts.enter(`wallet:${sent}`, true).leave()
  assert.throws(() => accounts.enter('wallet:x', true), { code: 'rate_limited', retryAfterMs: 500 })
  assert.throws(() => accounts.enter('wallet:a', false), { code: 'rate_limited', retryAfterMs: 500 })
  accounts.enter('a key', false)
})
