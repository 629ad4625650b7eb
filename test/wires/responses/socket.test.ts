// Responses over a WebSocket, with the official SDK as the client where it has the call, and with bare frames where it
// would not send them.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { WebSocket } from 'ws'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { type ScriptStep, scripted } from '../../../src/models/scripted/index.ts'
import { responsesSocket } from '../../../src/wires/responses/socket.ts'
import { cites } from '../../requirements/manifest.ts'
import { type Rig, serve } from '../stateless/rig.ts'
import { type Body, textOf, weather } from './rig.ts'
import { frameProblems } from './schema/wire.ts'

type Frame = JsonObject & { type: string; response: Body; sequence_number: number; status: number }

const served = (t: TestContext, script: ScriptStep[], config: Partial<TurnwireConfig> = {}): Promise<Rig> =>
  serve(t, { helper: scripted(script) }, { config })

type Peer = { send(frame: unknown): void; last(): Promise<Frame>; all: Frame[]; socket: WebSocket }

/** A socket with bare frames. `last` gives the frame that ends the next response. */
async function connect(t: TestContext, { url }: Rig, headers: Record<string, string> = {}): Promise<Peer> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers })
  t.after(() => socket.terminate())
  const all: Frame[] = []
  const ends: Frame[] = []
  const wrong: string[] = []
  t.after(() => assert.deepEqual(wrong, []))
  let wake = (): void => {}
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame
    wrong.push(...frameProblems(frame))
    all.push(frame)
    if (/^(error|response\.(completed|incomplete|failed|steer\.failed))$/.test(frame.type)) ends.push(frame)
    wake()
  })
  await once(socket, 'open')
  return {
    all,
    socket,
    send: frame => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    async last() {
      while (ends.length === 0)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      return ends.shift()!
    },
  }
}

const create = (more: object): object => ({ type: 'response.create', model: 'helper', store: false, ...more })
const errorOf = (frame: Frame): { code: string; param: string | null; message: string } =>
  frame['error'] as { code: string; param: string | null; message: string }

test(
  cites('RESP-WS-01', 'openai: a tool loop with previous_response_id, one response after another'),
  async t => {
    const at = await served(t, [
      { calls: [{ name: 'get_weather', input: { city: 'Paris' } }] },
      { text: 'Sunny.', expect: { results: [{ text: 'sunny' }] } },
    ])
    const client = new OpenAI({ apiKey: 'any', baseURL: `${at.url}/v1` })
    const socket = new ResponsesWS(client)
    t.after(() => socket.close())
    const tools: OpenAI.Responses.Tool[] = [{ ...weather, type: 'function', strict: false }]
    socket.send({ type: 'response.create', model: 'helper', input: 'How is it?', tools, store: false })
    const texts: string[] = []
    for await (const event of socket.stream()) {
      if (event.type === 'error') throw event.error
      if (event.type === 'message') assert.deepEqual(frameProblems({ ...event.message }), [])
      if (event.type !== 'message' || event.message.type !== 'response.completed') continue
      const { response } = event.message
      const call = response.output.find(item => item.type === 'function_call')
      texts.push(call ? call.name : (response.output_text ?? textOf(response as unknown as Body)))
      if (!call) break
      const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' }
      const more = { model: 'helper', tools, store: false, previous_response_id: response.id }
      socket.send({ type: 'response.create', ...more, input: [output] })
    }
    assert.deepEqual(texts, ['get_weather', 'Sunny.'])
  },
)

test(cites('RESP-WS-02', 'responses are made in the order in which they were asked for'), async t => {
  const at = await served(t, [{ text: 'One.', chunk: 2 }, { text: 'Two.' }])
  const peer = await connect(t, at)
  peer.send(create({ input: 'a', stream_id: 's1' }))
  peer.send(create({ input: 'b', stream: true }))
  const first = await peer.last()
  const second = await peer.last()
  assert.equal(first['stream_id'], 's1')
  assert.ok(!('stream_id' in second))
  const ends = peer.all.map(({ type }) => type).filter(type => /created|completed/.test(type))
  assert.deepEqual(ends, ['response.created', 'response.completed', 'response.created', 'response.completed'])
  const started = peer.all.filter(({ type }) => type === 'response.created')
  assert.deepEqual(
    started.map(frame => frame.sequence_number),
    [0, 0],
  )
})

test(cites('RESP-WS-03', 'a response that is not stored is continued on its connection only'), async t => {
  const at = await served(t, [{ text: 'One.' }, { text: 'Two.' }, { text: 'Fresh.' }])
  const peer = await connect(t, at)
  peer.send(create({ input: 'a' }))
  const { id } = (await peer.last()).response
  peer.send(create({ input: 'b', previous_response_id: id }))
  assert.equal(textOf((await peer.last()).response), 'Two.')
  const other = await connect(t, at)
  other.send(create({ input: 'c', previous_response_id: id }))
  const refused = await other.last()
  assert.deepEqual([refused.type, refused.status], ['error', 400])
  const { code, param, message } = errorOf(refused)
  assert.deepEqual([code, param], ['previous_response_not_found', 'previous_response_id'])
  assert.ok(message.includes(id))
  // The same socket then takes the whole conversation.
  other.send(create({ input: 'a', previous_response_id: null }))
  assert.equal((await other.last()).type, 'response.completed')
})

test(cites('RESP-WS-04', 'a continuation that fails is forgotten, unless it is stored'), async t => {
  const at = await served(t, [
    { calls: [{ name: 'get_weather', input: { city: 'Oslo' } }] },
    { text: 'Rain.' },
  ])
  const peer = await connect(t, at)
  const bad = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }]
  peer.send(create({ input: 'a', tools: [weather] }))
  const once = (await peer.last()).response
  peer.send(create({ input: bad, previous_response_id: once.id }))
  assert.equal(errorOf(await peer.last()).code, 'tool_call_not_found')
  const outputs = (body: Body): object[] => [
    { type: 'function_call_output', call_id: body.output.at(-1)!.call_id, output: 'rain' },
  ]
  peer.send(create({ input: outputs(once), previous_response_id: once.id }))
  assert.equal(errorOf(await peer.last()).code, 'previous_response_not_found')

  const kept = { tools: [weather], store: undefined }
  peer.send(create({ input: 'a', ...kept }))
  const stored = (await peer.last()).response
  peer.send(create({ ...kept, input: bad, previous_response_id: stored.id }))
  assert.equal((await peer.last()).type, 'error')
  const again = await connect(t, at)
  again.send(create({ ...kept, input: outputs(stored), previous_response_id: stored.id }))
  assert.equal(textOf((await again.last()).response), 'Rain.')
})

test(cites('RESP-WS-05', 'a request that generates nothing can be continued'), async t => {
  const heard: unknown[] = []
  const at = await served(t, [{ text: 'Hi.', expect: ({ history }) => void heard.push(history) }])
  const peer = await connect(t, at)
  peer.send(create({ input: 'Remember 7.', generate: false }))
  const warm = await peer.last()
  assert.deepEqual([warm.type, warm.response.output], ['response.completed', []])
  assert.equal(heard.length, 0)
  peer.send(create({ input: 'Go.', previous_response_id: warm.response.id }))
  assert.equal(textOf((await peer.last()).response), 'Hi.')
  assert.match(JSON.stringify(heard), /Remember 7\./)
})

test(cites('RESP-WS-06', 'wrong frames are answered, and the socket stays open'), async t => {
  const at = await served(t, [{ text: 'Still here.' }])
  const peer = await connect(t, at)
  const codes: string[] = []
  const wrong = ['{', '[]', { type: 'response.unheard' }, create({ background: true, input: 'x' }), {}]
  for (const frame of wrong) {
    peer.send(frame)
    const { type, status, ...rest } = await peer.last()
    assert.deepEqual([type, status], ['error', 400])
    codes.push(errorOf(rest as unknown as Frame).code)
  }
  assert.deepEqual(codes, [
    'invalid_json',
    'invalid_json',
    'unknown_event',
    'unsupported_parameter',
    'missing_required_parameter',
  ])
  peer.send({ type: 'response.steer', input: 'x', previous_response_id: 'resp_1' })
  assert.equal(errorOf(await peer.last()).code, 'response_not_found')
  peer.send({ type: 'response.processed', response_id: 'resp_1' })
  peer.send(create({ input: 'x' }))
  assert.equal(textOf((await peer.last()).response), 'Still here.')
})

test(cites('RESP-WS-06', 'a model that fails is one error, with its status'), async t => {
  const at = await served(t, [{ fail: { code: 'model_limited', message: 'Slow down.' } }])
  const peer = await connect(t, at)
  peer.send(create({ input: 'x' }))
  const failed = await peer.last()
  assert.deepEqual([failed.type, failed.status, errorOf(failed).code], ['error', 429, 'rate_limit_exceeded'])
})

test(cites('RESP-WS-07', 'a wrong key is refused before the socket opens'), async t => {
  const at = await served(t, [], {
    server: { keys: [{ name: 'a', sha256: createHash('sha256').update('key').digest('base64url') }] },
  })
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/v1/responses`)
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
  assert.equal(response.statusCode, 401)
  socket.on('error', () => {}).terminate()
})

test(cites('RESP-WS-08', 'a connection that is too old says so and closes'), async () => {
  const sent: Frame[] = []
  const closed = Promise.withResolvers<number>()
  const socket = {
    send: (text: string) => void sent.push(JSON.parse(text) as Frame),
    close: (code: number) => closed.resolve(code),
    terminate: () => {},
    bufferedAmount: 0,
    on: () => {},
  }
  const limits = { unsentBytes: 1000, bodyBytes: 1000, jsonDepth: 9 }
  const host = { engineFor: () => undefined, limits, log: () => {} }
  // Only the clock of the connection is used.
  const noHost = host as unknown as Parameters<typeof responsesSocket>[0]
  responsesSocket(noHost, socket, { owner: 'a', name: 'a' }, 1)
  // The timer does not keep a process alive.
  const alive = setInterval(() => {}, 1000)
  assert.equal(await closed.promise, 1000)
  clearInterval(alive)
  assert.equal(errorOf(sent[0]!).code, 'websocket_connection_limit_reached')
})
