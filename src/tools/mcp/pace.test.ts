import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitedLog, Paced, perMinute } from './pace.ts'

test('a limited log writes 120 lines a minute, and one that says so', () => {
  let at = 0
  const lines: string[] = []
  const log = limitedLog(
    (level, message, fields) => void lines.push(`${level} ${message} ${JSON.stringify(fields)}`),
    'noisy',
    () => at,
  )
  for (let count = 0; count < 50_000; count += 1) log('info', `line ${count}`, {})
  assert.equal(lines.length, 121)
  assert.match(lines[120] ?? '', /^warn .*more than 120 lines.*"server":"noisy"/)
  at = 60_000
  log('info', 'later', {})
  assert.equal(lines.length, 122)
})

test('a time of day that is set forward or back changes nothing', t => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000 })
  const may = perMinute(20)
  const times = () => Array.from({ length: 15 }, may).filter(Boolean).length
  assert.equal(times(), 15)
  t.mock.timers.setTime(1_000_000_000 + 3_600_000)
  assert.equal(times(), 5)
  t.mock.timers.setTime(1_000)
  assert.equal(times(), 0)
})

test('a count per minute starts anew after a minute', () => {
  let at = 0
  const may = perMinute(2, () => at)
  assert.deepEqual([may(), may(), may()], [true, true, false])
  at = 59_999
  assert.equal(may(), false)
  at = 60_000
  assert.equal(may(), true)
})

test('paced work is done ten times a minute, then once when the minute is over', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let at = 0
  let done = 0
  const paced = new Paced(
    () => {
      done += 1
    },
    () => at,
  )
  for (let count = 0; count < 10_000; count += 1) paced.ask()
  assert.equal(done, 10)
  at = 60_000
  t.mock.timers.tick(60_000)
  assert.equal(done, 11)
  for (let count = 0; count < 10_000; count += 1) paced.ask()
  assert.equal(done, 20)
  paced.stop()
  at = 120_000
  t.mock.timers.tick(60_000)
  assert.equal(done, 20)
})
