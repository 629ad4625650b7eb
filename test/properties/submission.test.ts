// A client's submission is accepted whole or refused whole, whatever is pending and whatever calls it names.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Respond } from '../../src/engine/rules/commands.ts'
import { decideRespond } from '../../src/engine/rules/decide.ts'
import { outcomes } from '../../src/engine/rules/outcomes.ts'
import { settledCalls } from '../../src/engine/rules/state.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'
import { type Grown, growWaiting } from './tape.ts'

const stray = ['call_none', '', '__proto__', 'call_999']

const submission = fc.record({
  tape: fc.array(fc.nat({ max: 255 }), { minLength: 8, maxLength: 120, size: 'max' }),
  results: fc.array(fc.nat({ max: 8 }), { maxLength: 2 }),
  decisions: fc.array(
    fc.record({ at: fc.nat({ max: 8 }), granted: fc.boolean(), seen: fc.constantFrom(undefined, 'a', 'b') }),
    { maxLength: 2 },
  ),
})

/** Mostly the id of a call that waits for this kind of answer, else any other id, or one that does not exist. */
function idAt({ state }: Grown, at: number, stage: 'handed' | 'asking'): string {
  const fit = state.batch.filter(call => call.stage === stage).map(call => call.part.id)
  const any = [...state.batch.map(call => call.part.id), ...stray, ...settledCalls(state)]
  return (at < 7 ? fit[at % Math.max(1, fit.length)] : undefined) ?? any[at % any.length]!
}

/** Whether it must be accepted, computed independently of `decide`. */
function acceptable({ state }: Grown, { results, decisions }: Respond): boolean {
  const ids = [...results, ...decisions].map(each => each.callId)
  const stageOf = (id: string): string | undefined => state.batch.find(call => call.part.id === id)?.stage
  return (
    ids.length > 0 &&
    new Set(ids).size === ids.length &&
    results.every(({ callId }) => stageOf(callId) === 'handed') &&
    decisions.every(({ callId, seen }) => stageOf(callId) === 'asking' && seen !== 'b')
  )
}

test('a submission of results and decisions is accepted whole or refused whole', () => {
  let [taken, refused] = [0, 0]
  fc.assert(
    fc.property(submission, ({ tape, results, decisions }) => {
      const grown = growWaiting(tape)
      const respond: Respond = {
        results: results.map(at => ({
          callId: idAt(grown, at, 'handed'),
          outcome: outcomes.failed('x', 'mine'),
        })),
        decisions: decisions.map(({ at, granted, seen }) => ({
          callId: idAt(grown, at, 'asking'),
          granted,
          by: 'ana',
          ...(seen !== undefined && { seen }),
        })),
      }
      const before = structuredClone(grown.state)
      const expected = acceptable(grown, respond)
      let events: Event[] | undefined
      try {
        events = decideRespond(grown.state, respond, grown.context)
      } catch (error) {
        assert.ok(error instanceof TurnwireError)
      }
      assert.equal(events !== undefined, expected)
      assert.deepStrictEqual(grown.state, before, 'deciding changes nothing')
      if (!events) {
        refused += 1
        return
      }
      taken += 1
      for (const { callId } of respond.results)
        assert.equal(
          events.filter(event => event.type === 'call.settled' && event.callId === callId).length,
          1,
        )
      for (const { callId, granted } of respond.decisions) {
        const own: string[] = events
          .filter(event => 'callId' in event && event.callId === callId)
          .map(event => event.type)
        assert.deepEqual(own, granted ? ['approval.decided'] : ['approval.decided', 'call.settled'])
      }
      grown.take(events)
      const named = new Set([...respond.results, ...respond.decisions].map(each => each.callId))
      for (const call of grown.state.batch)
        if (!named.has(call.part.id))
          assert.equal(call.stage, before.batch.find(each => each.part.id === call.part.id)?.stage)
    }),
    { numRuns: 2000 },
  )
  assert.ok(taken > 20 && refused > 20, `${taken} taken and ${refused} refused prove little`)
})
