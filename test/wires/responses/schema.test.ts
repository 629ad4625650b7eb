// The check of every event and resource (schema/wire.ts) finds what is wrong, and knows every event that the wire sends.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { readDeclarations, resolve, type Type } from './schema/declarations.ts'
import { checkAnswers, eventProblems, frameProblems, resourceProblems } from './schema/wire.ts'

const delta = {
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  sequence_number: 4,
  delta: 'Hi',
  logprobs: [],
}

test('an event with a missing, a wrong and an unknown field has these problems', () => {
  assert.deepEqual(eventProblems(delta), [])
  const { item_id: _, ...less } = delta
  const wrong = { ...less, delta: 7, more: true }
  assert.deepEqual(eventProblems(wrong).sort(), [
    'response.output_text.delta.delta is 7, not string',
    'response.output_text.delta.item_id is missing',
    'response.output_text.delta.more is not in the type',
  ])
  assert.notDeepEqual(eventProblems({ ...delta, type: 'response.unheard' }), [])
})

test('an item of an event is checked too, also for what only Open Responses requires', () => {
  const item = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c1',
    name: 'f',
    arguments: '{}',
    status: 'completed',
  }
  const event = { type: 'response.output_item.done', output_index: 0, sequence_number: 1, item }
  assert.deepEqual(eventProblems(event), [])
  const { status: _, ...less } = item
  assert.deepEqual(eventProblems({ ...event, item: { ...less, arguments: {} } } as typeof event), [
    'response.output_item.done.item.arguments is {}, not string',
    'response.output_item.done.item.status is missing (Open Responses)',
  ])
})

test('frames and resources are checked', () => {
  assert.deepEqual(frameProblems({ ...delta, stream_id: 's' }), [])
  assert.notDeepEqual(frameProblems({ ...delta, stream_id: 7 }), [])
  assert.notDeepEqual(frameProblems({ type: 'error', status: '400', error: {} }), [])
  const conversation = { id: 'conv_1', object: 'conversation', created_at: 1, metadata: {} }
  assert.deepEqual(resourceProblems('POST', '/v1/conversations', 200, conversation), [])
  assert.notDeepEqual(resourceProblems('DELETE', '/v1/conversations/conv_1', 200, conversation), [])
  assert.notDeepEqual(resourceProblems('GET', '/v1/conversations/conv_1', 404, { error: 'none' }), [])
})

test('what leaves a server is checked on its way', async t => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: x\ndata: ${JSON.stringify({ ...delta, delta: null })}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  const check = checkAnswers(server)
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo // It listens on TCP.
  await (await fetch(`http://127.0.0.1:${port}/v1/responses`)).text()
  assert.throws(check, /delta is null, not string/)
})

/** The values of `type` of a union's members. */
function typesOf(type: Type): string[] {
  if (type.kind === 'name') return typesOf(resolve(type.path, type.scope))
  if (type.kind === 'union' || type.kind === 'all') return type.of.flatMap(typesOf)
  if (type.kind !== 'object') return []
  return type.members.flatMap(({ name, type: own }) =>
    name === 'type' && own.kind === 'literal' ? [String(own.value)] : [],
  )
}

test(cites('RESP-RES-12', 'every event that the wire can send is one of the API'), () => {
  const sdk = join(import.meta.dirname, '../../../node_modules/openai/resources/responses/responses.d.ts')
  const known = new Set(typesOf(resolve(['ResponsesServerEvent'], readDeclarations(sdk))))
  const source = globSync('src/wires/responses/*.ts')
    .filter(file => !file.endsWith('.test.ts'))
    .map(file => readFileSync(file, 'utf8'))
    .join('\n')
  // Names of events in the code, or their beginnings; the frames of a client, and the `object` of resources, are no events.
  const others = /^response\.(?:create|steer|processed|compaction|input_tokens|deleted)$/
  const sent = [...source.matchAll(/'(response\.[a-z_.]+)'/g)].map(([, name]) => name!)
  const events = [...new Set(sent)].filter(name => !others.test(name))
  assert.ok(events.length > 20, events.join(' '))
  for (const event of events)
    assert.ok(
      [...known].some(name => name === event || name.startsWith(`${event}.`)),
      event,
    )
})
