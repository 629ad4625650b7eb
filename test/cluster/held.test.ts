// The short form of `npm run bench -- node-held`: one node on PostgreSQL holds idle streams and turns at the same time, and
// loses none of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hold } from '../../bench/held.ts'
import { own } from '../stores/postgres/server.ts'

test('300 idle streams and 50 turns on one node, none lost', own, async () => {
  const turns = 50
  const held = await hold({ streams: 300, turns, thinkMs: 500, idleMs: 10 })
  assert.deepEqual([held.answered, held.shown, held.lost], [turns, turns, 0])
})
