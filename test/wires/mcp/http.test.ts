// What the protocol says about HTTP: messages that are none are refused as JSON-RPC errors, a stream that broke is taken up again
// where it ended, and errors have the codes of their revision.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { resource, scripted, startServer, Turnwire, tool } from '../../../src/index.ts'
import type { Json, JsonObject } from '../../../src/lib/json/index.ts'

type Rig = { url: string; go: () => void }

async function serve(t: TestContext): Promise<Rig> {
  const gate = Promise.withResolvers<void>()
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    input: { type: 'object' as const, properties: {} },
    trust: 'trusted',
    run: async (_, context) => {
      context.progress({ message: 'begun' })
      await gate.promise
      return 'done'
    },
  })
  const notes = resource({ uri: 'notes://{day}', name: 'Notes', read: () => undefined })
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'desk',
          model: scripted([]),
          tools: [wait],
          resources: [notes],
          serveMcp: { tools: true, resources: true },
        },
      ],
      data: 'memory',
    },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    gate.resolve()
    await server.stop()
    await turnwire.close()
  })
  return { url: `${server.url}/mcp/desk`, go: gate.resolve }
}

const accept = 'application/json, text/event-stream'

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body,
    headers: { accept, 'content-type': 'application/json', ...headers },
  })
}

for (const [what, body, code] of [
  ['JSON that is cut', '{"jsonrpc": "2.0", "id": 1, "method": "tools/li', -32700],
  ['no JSON', 'hello', -32700],
  ['an empty body', '', -32700],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600],
  ['an empty batch', '[]', -32600],
  ['a text', '"ping"', -32600],
  ['an object that is no message', '{}', -32600],
] as const)
  test(`${what} is refused as a JSON-RPC error`, async t => {
    const { url } = await serve(t)
    const response = await post(url, body)
    assert.equal(response.status, 400)
    const { jsonrpc, id, error } = (await response.json()) as {
      jsonrpc: string
      id: Json
      error: { code: number; message: string }
    }
    assert.deepEqual([jsonrpc, id, error.code], ['2.0', null, code])
    assert.ok(error.message.length > 5)
  })

test('a body of another type is refused so, too', async t => {
  const { url } = await serve(t)
  const response = await post(url, 'x=1', { 'content-type': 'application/x-www-form-urlencoded' })
  assert.equal(response.status, 415)
  assert.equal(((await response.json()) as { error: { code: number } }).error.code, -32600)
})

type Frame = { id?: string; data: JsonObject | undefined }

function framesIn(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter(block => block.includes('data:'))
    .map(block => {
      const data = /^data: ?(.*)$/m.exec(block)?.[1] ?? ''
      const id = /^id: ?(.*)$/m.exec(block)?.[1]
      return {
        data: data === '' ? undefined : (JSON.parse(data) as JsonObject),
        ...(id !== undefined && { id }),
      }
    })
}

async function begin(url: string): Promise<Record<string, string>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const response = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  await response.text()
  const session = response.headers.get('mcp-session-id') ?? ''
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  await post(url, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), headers)
  return headers
}

test('a stream that broke is taken up where it ended, and gives the answer of the call', async t => {
  const { url, go } = await serve(t)
  const headers = await begin(url)
  const broken = new AbortController()
  const params = { name: 'wait', arguments: {}, _meta: { progressToken: 1 } }
  const call = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
  const response = await fetch(url, {
    method: 'POST',
    body: call,
    headers: { accept, 'content-type': 'application/json', ...headers },
    signal: broken.signal,
  })
  let text = ''
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  while (!text.includes('begun')) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
    assert.ok(!done)
    text += decoder.decode(value, { stream: true })
  }
  const seen = framesIn(text)
  assert.match(text, /^retry: \d+$/m)
  assert.ok(seen.every(({ id }) => id !== undefined))
  broken.abort()
  go()
  const resume = (id: string) => fetch(url, { headers: { accept, ...headers, 'last-event-id': id } })
  // The server may not have noticed yet that the stream is gone.
  let again = await resume(seen.at(-1)?.id ?? '')
  while (again.status === 409) again = await resume(seen.at(-1)?.id ?? '')
  assert.equal(again.status, 200)
  const rest = framesIn(await again.text())
  assert.equal(rest.filter(({ data }) => data?.['id'] === 7).length, 1)
  assert.match(JSON.stringify(rest.at(-1)?.data), /"text":"done"/)
  assert.ok(!rest.some(({ id }) => seen.some(each => each.id === id)))
  // From its beginning it is the same stream, with the same numbers.
  const whole = framesIn(await (await resume(seen[0]?.id ?? '')).text())
  assert.deepEqual(whole, [...seen.slice(1), ...rest])
  assert.equal((await resume('1000')).status, 400)
})

test('a stream is not taken up with another session', async t => {
  const { url } = await serve(t)
  const [one, other] = [await begin(url), await begin(url)]
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const frames = framesIn(await (await post(url, list, one)).text())
  const foreign = await fetch(url, {
    headers: { accept, ...other, 'last-event-id': frames.at(-1)?.id ?? '' },
  })
  const text = await foreign.text()
  assert.ok(foreign.status === 400 || !text.includes('wait'))
})

test('a resource that is not there has the error code of the revision', async t => {
  const { url } = await serve(t)
  for (const uri of ['notes://never', 'nothing://at-all', 'turnwire+mcp://x/%']) {
    const read = { jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri } }
    const [older] = framesIn(await (await post(url, JSON.stringify(read), await begin(url))).text()).slice(-1)
    const message = 'There is no such resource.'
    assert.deepEqual(older?.data?.['error'], { code: -32002, message, data: { uri } })
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    }
    const newer = await post(url, JSON.stringify({ ...read, params: { uri, _meta } }), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'resources/read',
      'mcp-name': uri,
    })
    assert.match(await newer.text(), /"code":-32602/)
  }
})
