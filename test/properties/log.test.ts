// Properties of every log that valid commands can make, in any order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fold, next, sessionStatus } from '../../src/engine/index.ts'
import { StatusTracker } from '../../src/engine/log/status-tracker.ts'
import { evolve } from '../../src/engine/rules/evolve.ts'
import { stateFromJson, stateToJson } from '../../src/engine/rules/snapshot-state.ts'
import { emptyState } from '../../src/engine/rules/state.ts'
import type { Recorded } from '../../src/language/events.ts'
import { ShownFold } from '../../src/language/show.ts'
import { refusals } from '../faults/accepted.ts'
import { LogRules } from '../sim/log-rules.ts'
import { wrongHistory } from '../sim/model.ts'
import { grow } from './tape.ts'

const tapes = fc.array(fc.nat({ max: 255 }), { maxLength: 200, size: 'max' })
const runs = { numRuns: 400 }

test('every prefix of a log folds, and its status agrees with what `next` would do', () => {
  fc.assert(
    fc.property(tapes, numbers => {
      const grown = grow(numbers)
      const state = emptyState('sess_1')
      for (const { event } of grown.log) {
        evolve(state, event)
        const action = next(state, grown.limits)
        const status = { rest: 'idle', wait: 'waiting' }[String(action.do)] ?? 'running'
        assert.equal(sessionStatus(state), status)
        if ('calls' in action) assert.ok(action.calls.length > 0)
        if (action.do === 'ask-model') assert.equal(wrongHistory(state.view), undefined)
      }
    }),
    runs,
  )
})

test('every vendor takes a history that messages joined while its turn ran', () => {
  let joined = 0
  fc.assert(
    fc.property(tapes, numbers => {
      const grown = grow(numbers)
      const state = emptyState('sess_1')
      let isNew = false
      for (const { event } of grown.log) {
        evolve(state, event)
        isNew ||= event.type === 'message.delivered'
        if (!isNew || next(state, grown.limits).do !== 'ask-model') continue
        isNew = false
        joined += 1
        assert.deepEqual(refusals(state.view), [])
      }
    }),
    { numRuns: 60 },
  )
  assert.ok(joined > 50, `messages were delivered ${joined} times`)
})

test('folding a log from JSON gives the state that was kept event by event', () => {
  fc.assert(
    fc.property(tapes, numbers => {
      const grown = grow(numbers)
      // The log is JSON by construction.
      const stored = JSON.parse(JSON.stringify(grown.log)) as Recorded[]
      assert.deepStrictEqual(fold('sess_1', stored), grown.state)
    }),
    runs,
  )
})

test('a state that was a snapshot at any point of the log goes on as if it had not been', () => {
  fc.assert(
    fc.property(tapes, fc.nat(), (numbers, at) => {
      const { log, state: whole } = grow(numbers)
      const before = fold('sess_1', log.slice(0, at % (log.length + 1)))
      const json = JSON.parse(JSON.stringify({ head: stateToJson(before), entries: before.entries }))
      const state = stateFromJson(json.head, json.entries)
      assert.deepStrictEqual(state, before)
      assert.equal(state.view === state.entries, before.view === before.entries)
      for (const { event } of log.slice(before.seq)) evolve(state, event)
      assert.deepStrictEqual(state, whole)
    }),
    runs,
  )
})

test('no command makes a log that breaks a promise', () => {
  const trustOf = (name: string) =>
    name === 'mine' ? undefined : ({ trust: name === 'trusted' ? 'trusted' : 'ask', exposed: true } as const)
  fc.assert(
    fc.property(tapes, numbers => {
      const grown = grow(numbers)
      const rules = new LogRules('sess_1', trustOf, grown.limits)
      for (const { event } of grown.log) assert.equal(rules.append([event], 1), undefined)
    }),
    runs,
  )
})

test('the status that is tracked through the log is that of the folded state', () => {
  fc.assert(
    fc.property(tapes, numbers => {
      const { log, requests } = grow(numbers)
      for (const { first } of requests) {
        const tracker = new StatusTracker()
        const state = emptyState('sess_1')
        for (const recorded of log) {
          evolve(state, recorded.event)
          tracker.take(recorded, first)
          assert.equal(
            tracker.status,
            sessionStatus(state),
            `after event ${recorded.seq} (${recorded.event.type})`,
          )
        }
      }
    }),
    runs,
  )
})

test('the calls that are shown from the log are those of the folded state, and wait for the same', () => {
  const seen = ({ calls, waits }: ShownFold) => ({
    calls: [...calls.values()].map(({ part, text, state, waitsFor }) => [part.id, text, state, waitsFor]),
    waits: [...waits.values()].map(wait => `${wait.callId} ${wait.for}`).toSorted(),
  })
  fc.assert(
    fc.property(tapes, numbers => {
      const shown = new ShownFold()
      const state = emptyState('sess_1')
      for (const { seq, event } of grow(numbers).log) {
        evolve(state, event)
        shown.take(event)
        // A history no longer has the calls of an answer once all of them are settled.
        if (state.batch.length > 0)
          assert.deepEqual(
            seen(shown),
            seen(new ShownFold(state.batch)),
            `after event ${seq} (${event.type})`,
          )
      }
    }),
    runs,
  )
})

test('a request that was accepted before stops where the session first came to rest after it', () => {
  fc.assert(
    fc.property(tapes, numbers => {
      const { log, requests } = grow(numbers)
      for (const { first, own } of requests) {
        const tracker = new StatusTracker()
        const keyed = log[first - 1]?.event.type === 'request.accepted'
        const earliest = first + (keyed ? own - 1 : 0)
        for (const recorded of log) {
          tracker.take(recorded, first)
          if (!tracker.stopped) continue
          assert.ok(recorded.seq >= earliest, `it stopped at ${recorded.seq}, before ${earliest}`)
          break
        }
      }
    }),
    runs,
  )
})
