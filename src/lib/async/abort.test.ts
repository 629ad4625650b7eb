import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { Abort, deadline, untilAborted } from './abort.ts'

test('a deadline aborts with a TimeoutError and reports timedOut()', async () => {
  const limit = deadline(1)
  await assert.rejects(untilAborted(new Promise(() => {}), limit.signal), { name: 'TimeoutError' })
  assert.equal(limit.timedOut(), true)
})

test('a deadline of 0 or less is aborted at once', () => {
  for (const ms of [0, -5, Number.NaN]) {
    const limit = deadline(ms)
    assert.equal(limit.signal.aborted, true)
    assert.equal(limit.timedOut(), true)
  }
})

test('an abort of the parent passes on its reason and does not count as a timeout', () => {
  const parent = new AbortController()
  const limit = deadline(60_000, parent.signal)
  parent.abort(new Error('stop'))
  assert.equal(limit.signal.reason.message, 'stop')
  assert.equal(limit.timedOut(), false)
  assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
  const late = deadline(60_000, parent.signal)
  assert.equal(late.signal.reason.message, 'stop')
})

test('clear() removes the timer and the listener, and the signal does not abort', () => {
  const parent = new AbortController()
  const limit = deadline(60_000, parent.signal)
  limit.clear()
  limit.clear()
  assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
  parent.abort()
  assert.equal(limit.signal.aborted, false)
})

test('a deadline beyond the longest timer does not fire at once', async () => {
  const limits = [deadline(Infinity), deadline(2 ** 40)]
  await new Promise(resolve => setTimeout(resolve, 5))
  for (const limit of limits) {
    assert.equal(limit.signal.aborted, false)
    limit.clear()
  }
})

test('untilAborted settles as the promise does and leaves no listener', async () => {
  const { signal } = new AbortController()
  assert.equal(await untilAborted(Promise.resolve(7), signal), 7)
  await assert.rejects(untilAborted(Promise.reject(new Error('no')), signal), /no/)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('untilAborted rejects with the reason, and swallows the late rejection', async () => {
  const controller = new AbortController()
  const work = Promise.withResolvers<number>()
  const waiting = untilAborted(work.promise, controller.signal)
  controller.abort('enough')
  await assert.rejects(waiting, reason => reason === 'enough')
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  work.reject(new Error('late'))
  await assert.rejects(untilAborted(Promise.reject(new Error('x')), controller.signal), r => r === 'enough')
  // An unhandled rejection would fail the run here.
  await new Promise(resolve => setImmediate(resolve))
})

test('Abort makes its signal on demand and keeps its first reason', async () => {
  const stop = new Abort()
  const told: string[] = []
  const forget = stop.onAbort(() => told.push('forgotten'))
  stop.onAbort(() => told.push('told'))
  forget()
  const until = stop.until(new Promise(() => {}))
  stop.abort('first')
  stop.abort('second')
  assert.deepEqual(told, ['told'])
  assert.equal(stop.aborted, true)
  assert.equal(stop.signal.aborted, true)
  assert.equal(stop.signal.reason, 'first')
  await assert.rejects(until, reason => reason === 'first')
  stop.onAbort(() => told.push('late'))
  assert.deepEqual(told, ['told', 'late'])
})

test('Abort.until settles as the promise does if nothing aborts', async () => {
  const stop = new Abort()
  assert.equal(await stop.until(Promise.resolve(1)), 1)
  await assert.rejects(stop.until(Promise.reject(new Error('own'))), /own/)
  assert.equal(stop.signal.aborted, false)
  stop.abort('now')
  assert.equal(stop.signal.aborted, true)
})
