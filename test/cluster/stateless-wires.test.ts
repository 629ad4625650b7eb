// Wires whose clients bring the whole conversation, on nodes in turn: what one node gave (call ids, sealed reasoning, tasks) the
// next one takes. And what lives on one node alone: the sessions of older MCP clients, which are told to begin anew elsewhere.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { AllWires } from '../wires/all-wires.ts'
import { until } from '../wires/rig.ts'
import { wireNodes } from './wire-nodes.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** Asks for the weather until it was told. The thought goes with the call, signed. */
const script = [
  { thinking: 'Hm.', calls: [{ name: 'weather_of', input: { city: 'Oslo' } }] },
  { text: 'It rains.' },
]

/** `Body`: what the wire answers with. */
async function json<Body>(answer: Promise<Response>): Promise<Body> {
  const given = await answer
  const body = await given.text()
  assert.ok(given.ok, `${given.status} ${body}`)
  return JSON.parse(body) as Body
}

type Stateless = { name: string; converse: (first: AllWires, second: AllWires) => Promise<string> }

const stateless: readonly Stateless[] = [
  {
    name: 'Chat Completions',
    async converse(first, second) {
      const tools = [{ type: 'function', function: { name: 'weather_of', parameters: schema } }]
      const user = { role: 'user', content: 'Weather?' }
      const path = '/v1/chat/completions'
      type Message = { tool_calls: { id: string; function: { arguments: string } }[]; content: string }
      const ask = async (at: AllWires, messages: object[]): Promise<Message> => {
        const body = { model: 'helper', messages, tools }
        const answer = await json<{ choices: { message: Message }[] }>(at.request('POST', path, body))
        return answer.choices[0]!.message
      }
      const message = await ask(first, [user])
      assert.deepEqual(JSON.parse(message.tool_calls[0]!.function.arguments), { city: 'Oslo' })
      const told = { role: 'tool', tool_call_id: message.tool_calls[0]!.id, content: 'rain' }
      return (await ask(second, [user, { ...message, role: 'assistant' }, told])).content
    },
  },
  {
    name: 'Anthropic Messages',
    async converse(first, second) {
      const tools = [{ name: 'weather_of', input_schema: schema }]
      const user = { role: 'user', content: 'Weather?' }
      type Block = { type: string; id: string; text: string }
      const ask = async (at: AllWires, messages: object[]): Promise<Block[]> => {
        const body = { model: 'helper', max_tokens: 100, messages, tools }
        return (await json<{ content: Block[] }>(at.request('POST', '/v1/messages', body))).content
      }
      const content = await ask(first, [user])
      const use = content.find(({ type }) => type === 'tool_use')
      const told = { role: 'user', content: [{ type: 'tool_result', tool_use_id: use!.id, content: 'rain' }] }
      const answer = await ask(second, [user, { role: 'assistant', content }, told])
      return answer.map(block => block.text ?? '').join('')
    },
  },
  {
    name: 'Gemini',
    async converse(first, second) {
      const tools = [{ functionDeclarations: [{ name: 'weather_of', parametersJsonSchema: schema }] }]
      const user = { role: 'user', parts: [{ text: 'Weather?' }] }
      type Part = { text?: string; functionCall?: { name: string; id?: string } }
      const ask = async (at: AllWires, contents: object[]): Promise<{ parts: Part[] }> => {
        const asked = at.request('POST', '/v1beta/models/helper:generateContent', { contents, tools })
        return (await json<{ candidates: { content: { parts: Part[] } }[] }>(asked)).candidates[0]!.content
      }
      const content = await ask(first, [user])
      const call = content.parts.find(({ functionCall }) => functionCall)?.functionCall
      assert.ok(call)
      const response = { ...call, args: undefined, response: { output: 'rain' } }
      const told = { role: 'user', parts: [{ functionResponse: response }] }
      const answer = await ask(second, [user, content, told])
      return answer.parts.map(part => part.text ?? '').join('')
    },
  },
  {
    name: 'Responses, stored by nobody',
    async converse(first, second) {
      const tools = [{ type: 'function', name: 'weather_of', parameters: schema, strict: false }]
      const user = { role: 'user', content: 'Weather?' }
      const include = ['reasoning.encrypted_content']
      type Item = { type: string; call_id: string; content?: { text?: string }[] }
      const ask = async (at: AllWires, input: object[]): Promise<Item[]> => {
        const body = { model: 'helper', store: false, input, tools, include }
        return (await json<{ output: Item[] }>(at.request('POST', '/v1/responses', body))).output
      }
      const output = await ask(first, [user])
      const call = output.find(({ type }) => type === 'function_call')
      const told = { type: 'function_call_output', call_id: call!.call_id, output: 'rain' }
      const answer = await ask(second, [user, ...output, told])
      return answer
        .flatMap(({ content }) => content ?? [])
        .map(part => part.text ?? '')
        .join('')
    },
  },
]

test('a conversation that its client brings along goes on at any node', async t => {
  const { a, b } = await wireNodes(t, { script })
  for (const { name, converse } of stateless)
    await t.test(name, async () => assert.equal(await converse(a, b), 'It rains.'))
})

// ---- MCP --------------------------------------------------------------------------------------------------------

const extension = 'io.modelcontextprotocol/tasks'

async function mcp(at: AllWires, method: string, params: Record<string, unknown>) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [extension]: {} } },
  }
  const answer = await at.request(
    'POST',
    '/mcp/helper',
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['taskId']),
      },
    },
  )
  return (await answer.json()) as { result?: Record<string, unknown>; error?: { message: string } }
}

const servedMcp = { serveMcp: { tools: true, tasks: { afterMs: 0 } } } as const

test('a task of MCP that one node began is read, awaited and cancelled on another', async t => {
  const { a, b, holder } = await wireNodes(t, servedMcp)
  const begin = async (): Promise<unknown> => {
    const { result, error } = await mcp(a, 'tools/call', { name: 'slow', arguments: {} })
    assert.equal(error, undefined)
    return result?.['taskId']
  }
  const stateOf = async (taskId: unknown) => (await mcp(b, 'tasks/get', { taskId })).result
  const [ending, cancelled] = [await begin(), await begin()]
  assert.equal(await holder(String(ending).split('.')[0]!), 'a')
  assert.equal((await stateOf(ending))?.['status'], 'working')
  await mcp(b, 'tasks/cancel', { taskId: cancelled })
  await until(async () => (await stateOf(cancelled))?.['status'] === 'cancelled')
  a.release()
  await until(async () => (await stateOf(ending))?.['status'] === 'completed')
  assert.match(JSON.stringify((await stateOf(ending))?.['result']), /at last/)
})

async function connect(t: TestContext, at: AllWires): Promise<{ client: Client; id: string }> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const transport = new StreamableHTTPClientTransport(new URL(`${at.url}/mcp/helper`), {
    requestInit: { headers: at.headers() },
  })
  await client.connect(transport)
  t.after(() => client.close())
  return { client, id: transport.sessionId ?? '' }
}

test('a connection of ACP over plain HTTP is known to its node alone', async t => {
  const { a, b } = await wireNodes(t, { server: { acp: true } })
  const send = (at: AllWires, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    at.request('POST', '/acp', { jsonrpc: '2.0', ...body }, { headers })
  const made = await send(a, { id: 1, method: 'initialize', params: { protocolVersion: 1 } })
  assert.equal(made.status, 200)
  const connection = { 'acp-connection-id': made.headers.get('acp-connection-id') ?? '' }
  const list = { id: 2, method: 'session/list', params: {} }
  assert.equal((await send(a, list, connection)).status, 202)
  assert.equal((await send(b, list, connection)).status, 404)
})

test('an older MCP client is told to begin anew on a node that does not have its session', async t => {
  const { a, b } = await wireNodes(t, servedMcp)
  const { client, id } = await connect(t, a)
  assert.ok((await client.listTools()).tools.length > 0)
  const elsewhere = await b.request(
    'POST',
    '/mcp/helper',
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { headers: { accept: 'application/json, text/event-stream', 'mcp-session-id': id } },
  )
  assert.equal(elsewhere.status, 404)
  const again = await connect(t, b)
  assert.ok((await again.client.listTools()).tools.length > 0)
})
