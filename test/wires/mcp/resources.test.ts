// Resources, prompts and tasks of our own MCP server: whose they are, how two servers with the same names are kept apart, and
// that a task is as durable as its session.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { describe, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import { prompt, resource, scripted, startServer, Turnwire, tool } from '../../../src/index.ts'
import { sha256 } from '../../../src/lib/json/hash.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

const notes = resource({
  uri: 'notes://{day}',
  name: 'Notes of a day',
  read: ({ day }) => (day === 'today' ? 'Buy milk.' : undefined),
})
const rules = resource({ uri: 'notes://rules', name: 'Rules', read: () => 'Be kind.' })
const review = prompt({
  name: 'review',
  description: 'Reviews a file.',
  arguments: [{ name: 'file', required: true, values: ['a.ts', 'b.ts'] }],
  get: ({ file }) => `Review ${file}.`,
})
const slow = tool({
  name: 'slow',
  description: 'Takes long.',
  input: { type: 'object' as const, properties: {} },
  trust: 'trusted',
  run: () => new Promise<string>(resolve => setTimeout(resolve, 300, 'done')),
})

const keys = ['ada', 'bob'].map(name => ({ name, sha256: sha256(`key-${name}`) }))

function config(more: Partial<TurnwireConfig> = {}): TurnwireConfig {
  return {
    agents: [
      {
        name: 'desk',
        model: scripted([]),
        tools: [slow],
        resources: [notes, rules],
        prompts: [review],
        serveMcp: { tools: true, resources: true, prompts: true, tasks: { afterMs: 0 } },
      },
      { name: 'plain', model: scripted([]), serveMcp: { tools: true } },
    ],
    data: 'memory',
    server: { keys },
    ...more,
  }
}

async function serve(t: TestContext, given: TurnwireConfig) {
  const turnwire = await Turnwire.open(given, { log: () => {} })
  const server = await startServer(turnwire, { port: 0 })
  let isOpen = true
  const stop = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await server.stop()
    await turnwire.close()
  }
  t.after(stop)
  return { url: server.url, stop }
}

async function connect(t: TestContext, url: string, agent = 'desk'): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const requestInit = { headers: { authorization: 'Bearer key-ada' } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/${agent}`), { requestInit }))
  t.after(() => client.close())
  return client
}

test('own resources and patterns are listed and read; what is not there is an error', async t => {
  const { url } = await serve(t, config())
  const client = await connect(t, url)
  const { resources } = await client.listResources()
  assert.deepEqual(
    resources.map(({ uri, name }) => [uri, name]),
    [['notes://rules', 'Rules']],
  )
  const { resourceTemplates } = await client.listResourceTemplates()
  assert.equal(resourceTemplates[0]?.uriTemplate, 'notes://{day}')
  const text = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents[0]
  assert.deepEqual(await text('notes://rules'), {
    uri: 'notes://rules',
    mimeType: 'text/plain',
    text: 'Be kind.',
  })
  assert.deepEqual(await text('notes://today'), {
    uri: 'notes://today',
    mimeType: 'text/plain',
    text: 'Buy milk.',
  })
  for (const uri of [
    'notes://never',
    'notes://a/b',
    'file:///etc/passwd',
    'turnwire+mcp://none/x',
    'notes://%',
  ])
    await assert.rejects(client.readResource({ uri }), { code: -32602 }, uri)
})

test('own prompts are listed, filled in and completed; a missing argument is an error', async t => {
  const { url } = await serve(t, config())
  const client = await connect(t, url)
  const { prompts } = await client.listPrompts()
  assert.deepEqual(prompts[0]?.arguments, [{ name: 'file', required: true }])
  const { messages } = await client.getPrompt({ name: 'review', arguments: { file: 'a.ts' } })
  assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Review a.ts.' } }])
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'file', value: 'B' },
  })
  assert.deepEqual(completion.values, ['b.ts'])
  await assert.rejects(client.getPrompt({ name: 'review', arguments: {} }), /needs file/)
  await assert.rejects(client.getPrompt({ name: 'other', arguments: {} }), { code: -32602 })
})

test('an agent that does not serve them has none', async t => {
  const { url } = await serve(t, config())
  const client = await connect(t, url, 'plain')
  assert.equal(client.getServerCapabilities()?.resources, undefined)
  assert.equal(client.getServerCapabilities()?.prompts, undefined)
  await assert.rejects(client.readResource({ uri: 'notes://rules' }))
})

test('resources and prompts of two servers with the same names are kept apart, and lead back', async t => {
  const program = { command: process.execPath, args: [everything, 'stdio'] }
  const { url } = await serve(t, config({ mcp: { one: program, two: program } }))
  const client = await connect(t, url)
  const { resources } = await client.listResources()
  assert.equal(new Set(resources.map(({ uri }) => uri)).size, resources.length)
  for (const server of ['one', 'two']) {
    const [first] = resources.filter(({ uri }) => uri.startsWith(`turnwire+mcp://${server}/`))
    assert.ok(first)
    const { contents } = await client.readResource({ uri: first.uri })
    assert.match(JSON.stringify(contents), new RegExp(`Resource of the MCP server \\\\"${server}\\\\"`))
  }
  const { prompts } = await client.listPrompts()
  const names = prompts.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  const simple = names.find(name => name.startsWith('two__') && name.includes('simple'))
  assert.ok(simple)
  assert.ok((await client.getPrompt({ name: simple })).messages.length > 0)
})

// ---- tasks -------------------------------------------------------------------------------------------------

const extension = 'io.modelcontextprotocol/tasks'

/** One request of the newest revision, with the client's word that it knows tasks. */
async function ask(url: string, key: string, method: string, params: Record<string, unknown>) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [extension]: {} } },
  }
  const answer = await fetch(`${url}/mcp/desk`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['taskId']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  return (await answer.json()) as { result?: Record<string, unknown>; error?: { code: number } }
}

async function ended(url: string, taskId: unknown) {
  for (;;) {
    const { result, error } = await ask(url, 'key-ada', 'tasks/get', { taskId })
    assert.equal(error, undefined)
    if (result?.['status'] !== 'working') return result
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

describe('a task', () => {
  test('is known to its owner alone', async t => {
    const { url } = await serve(t, config())
    const { result } = await ask(url, 'key-ada', 'tools/call', { name: 'slow', arguments: {} })
    const taskId = result?.['taskId']
    assert.equal(typeof taskId, 'string')
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const { error } = await ask(url, 'key-bob', method, { taskId, inputResponses: {} })
      assert.equal(error?.code, -32602, method)
    }
    const done = await ended(url, taskId)
    assert.equal(done?.['status'], 'completed')
    assert.match(JSON.stringify(done?.['result']), /"text":"done"/)
  })

  test('is not any event of any session', async t => {
    const { url } = await serve(t, config())
    const { result } = await ask(url, 'key-ada', 'tools/call', { name: 'slow', arguments: {} })
    const taskId = String(result?.['taskId'])
    const [session = '', first = ''] = taskId.split('.')
    for (const other of [
      session,
      `${session}.1`,
      `${session}.${Number(first) + 1}`,
      `${session}.x`,
      'a.1',
      '',
    ]) {
      const { error } = await ask(url, 'key-ada', 'tasks/get', { taskId: other })
      assert.equal(error?.code, -32602, other)
    }
  })

  test('is there after a restart, with its result', async t => {
    const data = mkdtempSync(join(tmpdir(), 'turnwire-tasks-'))
    t.after(() => rmSync(data, { recursive: true, force: true }))
    const before = await serve(t, config({ data }))
    const { result } = await ask(before.url, 'key-ada', 'tools/call', { name: 'slow', arguments: {} })
    await ended(before.url, result?.['taskId'])
    await before.stop()
    const after = await serve(t, config({ data }))
    const done = await ended(after.url, result?.['taskId'])
    assert.match(JSON.stringify(done?.['result']), /"text":"done"/)
  })
})
