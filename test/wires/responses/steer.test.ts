// Steering a response over its WebSocket, with the official SDK as the client.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import type { Model } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { tool } from '../../../src/tools/index.ts'
import { serve } from '../stateless/rig.ts'
import { weather } from './rig.ts'
import { frameProblems } from './schema/wire.ts'

type Frame = OpenAI.Responses.ResponsesServerEvent & {
  response?: OpenAI.Responses.Response
  steer?: { id?: string; previous_response_id: string }
  error?: { code: string }
}

type Steering = { steer: { id?: string; input?: unknown }; error?: { code: string } }

function held() {
  const [go, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async () => {
      begun.resolve()
      await go.promise
      return 'done'
    },
  })
  return { tool: slow, go: go.resolve, begun: begun.promise }
}

async function connect(t: TestContext, model: Model, tools: ReturnType<typeof held>['tool'][] = []) {
  const at = await serve(t, { helper: model }, { agent: { tools, responses: { serverTools: true } } })
  const client = new OpenAI({ apiKey: 'any', baseURL: `${at.url}/v1` })
  const socket = new ResponsesWS(client)
  t.after(() => socket.close())
  const all: Frame[] = []
  let wake = (): void => {}
  void (async () => {
    for await (const event of socket.stream()) {
      if (event.type !== 'message') continue
      // Its stubs are no items yet.
      if (event.message.type !== 'response.steer.pending')
        assert.deepEqual(frameProblems({ ...event.message } as never), [])
      all.push(event.message as Frame)
      wake()
    }
  })()
  const until = async (type: string, count = 1): Promise<Frame> => {
    for (;;) {
      const found = all.filter(frame => frame.type === type)
      if (found.length >= count) return found[count - 1]!
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return { at, client, socket, all, until }
}

const textOf = ({ response }: Frame): string =>
  (response?.output ?? [])
    .flatMap(item => (item.type === 'message' ? item.content : []))
    .map(part => (part.type === 'output_text' ? part.text : ''))
    .join('')

test('input that is accepted in time ends the response as steered, and begins its successor', async t => {
  const slow = held()
  const model = scripted([
    { text: 'A moment.', calls: [{ name: 'slow' }] },
    { text: 'In blue.', expect: { lastUser: 'blue', results: [{ text: 'done' }] } },
    { text: 'Paint was wet.' },
  ])
  const { client, socket, all, until } = await connect(t, model, [slow.tool])
  socket.send({ type: 'response.create', model: 'helper', input: 'Paint.' })
  const { response } = await until('response.created')
  await slow.begun
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input: 'Make it blue.' })
  const { steer } = await until('response.steer.accepted')
  assert.equal(steer?.previous_response_id, response!.id)
  slow.go()
  const { response: ended } = await until('response.incomplete')
  assert.deepEqual(
    [ended?.id, ended?.status, ended?.incomplete_details, ended?.output.map(({ type }) => type)],
    [response!.id, 'incomplete', { reason: 'steered' }, ['message', 'mcp_call']],
  )
  const last = await until('response.completed')
  assert.equal(textOf(last), 'In blue.')
  assert.deepEqual(
    all.flatMap(({ type, response: each }) => (each ? [[type, each.id === response!.id]] : [])),
    [
      ['response.created', true],
      ['response.in_progress', true],
      ['response.incomplete', true],
      ['response.created', false],
      ['response.in_progress', false],
      ['response.completed', false],
    ],
  )
  const { usage: _, ...read } = await client.responses.retrieve(response!.id)
  assert.deepEqual([read.incomplete_details, read.output], [{ reason: 'steered' }, ended?.output])
  const successor = await client.responses.retrieve(last.response!.id)
  assert.deepEqual(successor.output, last.response!.output)
  const streamed = await client.responses.retrieve(response!.id, { stream: true })
  const types: string[] = []
  for await (const event of streamed) types.push(event.type)
  assert.equal(types.at(-1), 'response.incomplete')
  const items = await client.responses.inputItems.list(last.response!.id, { order: 'asc' })
  assert.match(JSON.stringify(items.data.at(-1)), /Make it blue/)
  const next = { model: 'helper', input: 'And?', previous_response_id: last.response!.id }
  assert.equal((await client.responses.create(next)).output_text, 'Paint was wet.')
})

test('a conversation goes on from a steered response without the input that ended it', async t => {
  const slow = held()
  const heard: string[] = []
  const model = scripted(({ history }) => {
    heard.push(JSON.stringify(history))
    return history.length === 1 ? { calls: [{ name: 'slow' }] } : { text: 'Done.' }
  })
  const { client, socket, until } = await connect(t, model, [slow.tool])
  socket.send({ type: 'response.create', model: 'helper', input: 'Paint.' })
  const { response } = await until('response.created')
  await slow.begun
  for (const input of ['Make it blue.', 'No, red.']) {
    socket.send({ type: 'response.steer', previous_response_id: response!.id, input })
    await until('response.steer.accepted', input === 'No, red.' ? 2 : 1)
  }
  slow.go()
  await until('response.completed')
  assert.match(heard.at(-1)!, /Make it blue.*No, red/)
  await client.responses.create({
    model: 'helper',
    input: 'In green.',
    previous_response_id: response!.id,
  })
  assert.match(heard.at(-1)!, /Paint\..*done.*In green/)
  assert.doesNotMatch(heard.at(-1)!, /blue|red/)
})

test('input that comes too late begins a successor, which can be read like any response', async t => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const model: Model = {
    id: 'm',
    respond: async ({ history }, watch) => {
      const text = history.length > 1 ? 'Two.' : 'One.'
      watch({ type: 'text', text })
      asked.resolve()
      await go.promise
      return { parts: [{ type: 'text', text }], stop: 'end' }
    },
  }
  const { client, socket, all, until } = await connect(t, model)
  socket.send({ type: 'response.create', model: 'helper', input: 'One?' })
  const { response } = await until('response.created')
  await asked.promise
  const input = [{ type: 'message' as const, role: 'user' as const, content: 'Two?' }]
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input })
  await until('response.steer.accepted')
  go.resolve()
  const last = await until('response.completed', 2)
  assert.equal(textOf(last), 'Two.')
  assert.equal(textOf(await until('response.completed')), 'One.')
  assert.equal(all.filter(({ type }) => type === 'response.created').length, 2)
  const read = await client.responses.retrieve(last.response!.id)
  assert.equal(read.output_text, 'Two.')
  assert.notEqual(last.response!.id, response!.id)
})

test('a response that stops for the client keeps the input pending, and it joins after the outputs', async t => {
  const slow = held()
  const model = scripted([
    { calls: [{ name: 'slow' }, { name: 'get_weather', input: { city: 'Oslo' } }] },
    { text: 'In Celsius.', expect: { lastUser: 'Celsius', results: [{ name: 'slow' }, { text: 'sunny' }] } },
  ])
  const { socket, until } = await connect(t, model, [slow.tool])
  const tools: OpenAI.Responses.Tool[] = [{ ...weather, type: 'function', strict: false }]
  socket.send({ type: 'response.create', model: 'helper', input: 'Weather?', tools })
  const { response } = await until('response.created')
  await slow.begun
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input: 'In Celsius.' })
  await until('response.steer.accepted')
  slow.go()
  const { response: stopped } = await until('response.completed')
  const pending = (await until('response.steer.pending')) as Frame & {
    required_input: { type: string; call_id: string }[]
  }
  assert.equal(pending.required_input[0]?.type, 'function_call_output')
  const { call_id } = pending.required_input[0]!
  socket.send({
    type: 'response.create',
    model: 'helper',
    tools,
    previous_response_id: stopped!.id,
    input: [{ type: 'function_call_output', call_id, output: 'sunny' }],
  })
  assert.equal(textOf(await until('response.completed', 2)), 'In Celsius.')
})

test('what cannot be steered says why, and gives the input back', async t => {
  const asked = Promise.withResolvers<void>()
  const model = scripted(() => {
    asked.resolve()
    return { text: 'x', hang: true }
  })
  const { socket, until } = await connect(t, model)
  socket.send({ type: 'response.steer', previous_response_id: 'resp_none', input: 'x' })
  const first = await until('response.steer.failed')
  assert.deepEqual(
    [first.error?.code, first.steer],
    ['response_not_found', { input: 'x', previous_response_id: 'resp_none' }],
  )
  socket.send({ type: 'response.create', model: 'helper', input: 'a', store: false })
  const { response } = await until('response.created')
  await asked.promise
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input: 'x' })
  assert.equal((await until('response.steer.failed', 2)).error?.code, 'steering_not_supported')
})

test('input that was accepted and is taken back elsewhere comes back with its id', async t => {
  const slow = held()
  const model = scripted([{ calls: [{ name: 'slow' }] }, { text: 'Painted.' }])
  const { at, socket, all, until } = await connect(t, model, [slow.tool])
  socket.send({ type: 'response.create', model: 'helper', input: 'Paint.' })
  const { response } = await until('response.created')
  await slow.begun
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input: 'Make it blue.' })
  const { steer } = await until('response.steer.accepted')
  for await (const { id } of at.turnwire.sessions({ owner: 'local' }))
    await (await at.turnwire.resume(id, { owner: 'local' })).withdraw(steer?.id ?? '')
  const failed = (await until('response.steer.failed')) as Frame & Steering
  assert.deepEqual(failed.steer, { ...steer, input: 'Make it blue.' })
  assert.equal(failed.error?.code, 'successor_creation_failed')
  slow.go()
  assert.equal(textOf(await until('response.completed')), 'Painted.')
  socket.send({ type: 'response.steer', previous_response_id: response!.id, input: 'Now?' })
  const late = (await until('response.steer.failed', 2)) as Frame & Steering
  assert.deepEqual([late.error?.code, late.steer.input], ['response_already_completed', 'Now?'])
  assert.equal(all.filter(({ type }) => type === 'response.created').length, 1)
})
