// Old logs, read by today's code: they fold to what they folded to when they were written.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fold } from '../../src/engine/index.ts'
import { stateToJson, stateVersion } from '../../src/engine/rules/snapshot-state.ts'
import type { EventType } from '../../src/language/events.ts'
import { isJsonObject, type Json } from '../../src/lib/json/index.ts'
import { wrongHistory } from '../sim/model.ts'
import { summaryOf, type Transcript } from './summary.ts'

const folder = fileURLToPath(new URL('./fixtures/', import.meta.url))
const files = globSync(`${folder}*.json`).sort()

function read(file: string): Transcript {
  return JSON.parse(readFileSync(file, 'utf8')) as Transcript // What record.ts wrote.
}

/** Less what states hold by now and did not hold when the transcript was made. */
function withinKnown(now: Json, then: Json): Json {
  if (Array.isArray(now) && Array.isArray(then))
    return now.map((item, at) => (then[at] === undefined ? item : withinKnown(item, then[at])))
  if (!isJsonObject(now) || !isJsonObject(then)) return now
  return Object.fromEntries(
    Object.entries(now).flatMap(([key, value]) =>
      then[key] === undefined ? [] : [[key, withinKnown(value, then[key])]],
    ),
  )
}

for (const file of files)
  test(`${basename(file, '.json')} replays`, () => {
    const { log, summary } = read(file)
    const { id } = summary as { id: string } // A summary is of a session, which has an id.
    const state = fold(id, log)
    assert.deepEqual(withinKnown(summaryOf(state), summary), summary)
    if (state.batch.length === 0) assert.equal(wrongHistory(state.view), undefined)
  })

test('states that fold to something else have another version, so that no old snapshot is used', () => {
  const states = files.map(file => {
    const { log, summary } = read(file)
    const state = fold((summary as { id: string }).id, log) // See above.
    return [...log.map(({ seq }) => stateToJson(fold(state.id, log.slice(0, seq)))), state.entries]
  })
  const seen = {
    version: stateVersion,
    hash: createHash('sha256').update(JSON.stringify(states)).digest('hex'),
  }
  // When this fails because `evolve` or the state changed: raise `stateVersion` in snapshot-state.ts, then note both here.
  // When it fails because a transcript was added: note the new hash.
  assert.deepEqual(seen, {
    version: 9,
    hash: 'f2f2030918e4200248b8a1098993b4f1a2335c6492b044cee0b2d5a5eee42f4c',
  })
})

test('every type of event stands in a transcript', () => {
  const types: Record<EventType, true> = {
    'session.created': true,
    'message.queued': true,
    'message.delivered': true,
    'message.withdrawn': true,
    'session.configured': true,
    'request.accepted': true,
    'turn.started': true,
    'turn.asked': true,
    'model.answered': true,
    'call.handed': true,
    'call.claimed': true,
    'approval.requested': true,
    'approval.voted': true,
    'approval.refused': true,
    'approval.expired': true,
    'approval.decided': true,
    'call.edited': true,
    'call.allowed': true,
    'call.started': true,
    'question.asked': true,
    'question.answered': true,
    'question.expired': true,
    'question.withdrawn': true,
    'call.nested': true,
    'call.suspended': true,
    'call.postponed': true,
    'call.delegated': true,
    'call.used': true,
    'agent.changed': true,
    'call.settled': true,
    'call.late': true,
    'call.referenced': true,
    'call.reconciled': true,
    'turn.ended': true,
    'grant.given': true,
    'grant.revoked': true,
    'control.taken': true,
    'control.returned': true,
    'history.compacted': true,
    'history.rewound': true,
    'hook.acted': true,
    'model.sampled': true,
    'payment.recorded': true,
    'budget.decided': true,
    'policy.applied': true,
    'policy.shadowed': true,
    'call.forbidden': true,
    'log.signed': true,
  }
  const seen = new Set(files.flatMap(file => read(file).log.map(({ event }) => event.type)))
  assert.deepEqual(
    Object.keys(types).filter(type => !seen.has(type as EventType)),
    [],
  )
})

test('a start stands in a transcript both with the verdict in it and without', () => {
  const starts = files.flatMap(file =>
    read(file).log.flatMap(({ event }) => (event.type === 'call.started' ? [event] : [])),
  )
  assert.deepEqual(new Set(starts.map(({ allowed }) => allowed !== undefined)), new Set([true, false]))
})
