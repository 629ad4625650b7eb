// Input that steers a response, where the response ends meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Accepted } from '../../engine/index.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { ResponsesCaller } from './caller.ts'
import { Steering } from './steering.ts'

test('a response waits for input that is on its way, so that what it begins is shown', async () => {
  const said = Promise.withResolvers<Accepted>()
  const helper = { name: 'helper', models: [], tools: [], clientTools: true, images: {} }
  const caller = {
    name: 'ada',
    host: { about: { agents: [helper], models: [] }, serverTools: new Set() },
    engine: { command: () => said.promise, summary: async () => ({ messages: [], calls: [] }) },
  } as unknown as ResponsesCaller // What is asked of them.
  const frames: JsonObject[] = []
  const steering = new Steering(caller, frame => void frames.push(frame))
  const active = steering.begin('resp_1', 'helper', 'lane', { owner: 'ada', session: 's' })
  const steered = steering.steer({ previous_response_id: 'resp_1', input: 'And blue.' })
  steering.end(active)
  let isSettled = false
  const settling = steering.settle(active).finally(() => {
    isSettled = true
  })
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual([isSettled, frames], [false, []])
  said.resolve({} as Accepted)
  assert.equal(await settling, true)
  await steered
  assert.deepEqual(
    frames.map(({ type, stream_id }) => [type, stream_id]),
    [['response.steer.accepted', 'lane']],
  )
})
