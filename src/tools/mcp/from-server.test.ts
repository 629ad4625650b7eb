// What a server writes to its log: so many lines a minute, by a clock that nobody sets.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { handleRequests, RunningCalls } from './from-server.ts'

type Handler = (notification: { params: { level: string; data: unknown } }) => void

/** Sends so many lines; gives how many were logged. */
function logging(): (lines: number) => number {
  const handlers = new Map<string, Handler>()
  let logged = 0
  const stand = {
    setRequestHandler: () => {},
    setNotificationHandler: (method: string, handler: Handler) => void handlers.set(method, handler),
  }
  // Only these two methods are used here.
  const client = stand as unknown as Client
  handleRequests(client, 'noisy', { log: () => (logged += 1) }, new RunningCalls())
  return lines => {
    const before = logged
    for (let line = 0; line < lines; line += 1)
      handlers.get('notifications/message')?.({ params: { level: 'info', data: `line ${line}` } })
    return logged - before
  }
}

test('a server that floods the log is cut off for the rest of the minute', t => {
  let now = 5_000
  t.mock.method(performance, 'now', () => now)
  const send = logging()
  assert.equal(send(500), 120)
  now += 59_000
  assert.equal(send(10), 0)
  now += 2_000
  assert.equal(send(500), 120)
})

test('a time of day that is set forward or back changes nothing', t => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000 })
  const send = logging()
  assert.equal(send(100), 100)
  t.mock.timers.setTime(1_000_000_000 + 3_600_000)
  assert.equal(send(100), 20)
  t.mock.timers.setTime(1_000)
  assert.equal(send(100), 0)
})
