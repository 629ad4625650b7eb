// MCP servers that nobody here wrote, as an agent uses them: through a configuration, the gate and the log.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../../scripts/install-chromium.mjs'
import type { McpServerConfig } from '../../../src/config/mcp-config.ts'
import type { Model, ModelAnswer, ModelRequest } from '../../../src/engine/ports/index.ts'
import { scripted, Turnwire } from '../../../src/index.ts'
import { runtimeOf } from '../../../src/library/turnwire.ts'
import type { Script } from '../../../src/models/scripted/index.ts'
import { tempFolder } from '../../temp-folder.ts'

const chromium = findChromium()
const program = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url))

/** `alone`: answers requests without tools, which are those of servers. */
async function open(
  t: TestContext,
  mcp: Record<string, McpServerConfig>,
  script: Script,
  alone?: (request: ModelRequest) => ModelAnswer,
): Promise<Turnwire> {
  const played = scripted(script)
  const model: Model = {
    ...played,
    respond: async (request, watch, signal) =>
      alone && request.tools.length === 0 ? alone(request) : played.respond(request, watch, signal),
  }
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'desk', model }], mcp, data: 'memory' },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  return turnwire
}

const node = (name: string, ...args: string[]): McpServerConfig => ({
  command: process.execPath,
  args: [program(name), ...args],
  trust: 'trusted',
})

/** What the last call gave. */
async function ask(turnwire: Turnwire): Promise<{ kinds: string[]; texts: string[] }> {
  const session = await turnwire.session('desk')
  await session.send('go')
  const history = await session.history()
  const results = history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return {
    kinds: results.map(({ outcome }) => outcome.kind),
    texts: results.map(({ outcome }) =>
      outcome.parts.map(part => (part.type === 'text' ? part.text : part.type)).join(' '),
    ),
  }
}

function folder(t: TestContext): string {
  return tempFolder(t, 'mcp-files-')
}

test('server-filesystem reads and writes in its folder, and fails outside of it', async t => {
  const home = folder(t)
  writeFileSync(join(home, 'note.txt'), 'milk')
  const turnwire = await open(
    t,
    { files: node('@modelcontextprotocol/server-filesystem/dist/index.js', home) },
    [
      {
        calls: [
          { name: 'files__write_file', input: { path: join(home, 'new.txt'), content: 'bread' } },
          { name: 'files__read_text_file', input: { path: join(home, 'note.txt') } },
          { name: 'files__read_text_file', input: { path: '/etc/hostname' } },
        ],
      },
      { text: 'Done.' },
    ],
  )
  const { kinds, texts } = await ask(turnwire)
  assert.deepEqual(kinds, ['ok', 'ok', 'error'])
  assert.match(texts[1] ?? '', /milk/)
  assert.match(texts[2] ?? '', /denied/i)
})

test('a file that is too long for the model is read on with read_output', async t => {
  const home = folder(t)
  const path = join(home, 'long.txt')
  writeFileSync(path, Array.from({ length: 20_000 }, (_, at) => `entry ${at} of the file\n`).join(''))
  const turnwire = await open(
    t,
    { files: node('@modelcontextprotocol/server-filesystem/dist/index.js', home) },
    ({ history }) => {
      const results = history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
      const id = results[0]?.callId ?? ''
      if (results.length === 0) return { calls: [{ name: 'files__read_text_file', input: { path } }] }
      if (results.length > 1) return { text: 'Done.' }
      return { calls: [{ name: 'read_output', input: { id, search: 'entry 12345 ' } }] }
    },
  )
  const { kinds, texts } = await ask(turnwire)
  assert.deepEqual(kinds, ['ok', 'ok'])
  assert.doesNotMatch(texts[0] ?? '', /entry 12345 /)
  assert.match(texts[1] ?? '', /entry 12345 of the file/)
})

test('server-memory keeps a graph, with structured results', async t => {
  const home = folder(t)
  const memory = {
    ...node('@modelcontextprotocol/server-memory/dist/index.js'),
    env: { MEMORY_FILE_PATH: join(home, 'memory.jsonl') },
  }
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes'] }]
  const turnwire = await open(t, { memory }, [
    { calls: [{ name: 'memory__create_entities', input: { entities } }] },
    { calls: [{ name: 'memory__read_graph', input: {} }] },
    { text: 'Done.' },
  ])
  const { kinds, texts } = await ask(turnwire)
  assert.deepEqual(kinds, ['ok', 'ok'])
  assert.match(texts[1] ?? '', /Ada/)
})

test('server-sequential-thinking takes a thought', async t => {
  const thought = { thought: 'First.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
  const turnwire = await open(
    t,
    { think: node('@modelcontextprotocol/server-sequential-thinking/dist/index.js') },
    [{ calls: [{ name: 'think__sequentialthinking', input: thought }] }, { text: 'Done.' }],
  )
  const { kinds, texts } = await ask(turnwire)
  assert.deepEqual(kinds, ['ok'])
  assert.match(texts[0] ?? '', /thoughtNumber/)
})

test('server-everything asks a person, a model and for folders during a call, durably and in the log', async t => {
  const home = folder(t)
  const all = {
    ...node('@modelcontextprotocol/server-everything/dist/index.js', 'stdio'),
    roots: [home],
    sampling: { maxTokens: 50 },
  }
  const asked: ModelRequest[] = []
  const turnwire = await open(
    t,
    { all },
    [
      { calls: [{ name: 'all__trigger-elicitation-request', input: {} }] },
      { calls: [{ name: 'all__trigger-sampling-request', input: { prompt: 'Say hi.', maxTokens: 500 } }] },
      { calls: [{ name: 'all__get-roots-list', input: {} }] },
      { text: 'Done.' },
    ],
    request => {
      asked.push(request)
      return { parts: [{ type: 'text', text: 'hi there' }], stop: 'end', usage: { input: 3, output: 2 } }
    },
  )
  const session = await turnwire.session('desk')
  const reply = await session.send('go')
  const [pending] = reply.status === 'waiting' ? reply.pending : []
  assert.ok(pending?.needs === 'answer')
  const { id, message, schema } = pending.question
  assert.match(message, /^The MCP server "all" asks: /)
  const { properties = {}, required = [] } = schema ?? {}
  const content = Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name))
      .map(([name]) => [name, 'Ada']),
  )
  const rest = await session.answer({ answers: [{ question: id, action: 'accept', content }] })
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  const texts = results.map(({ outcome }) => JSON.stringify(outcome.parts))
  assert.equal(rest.text, 'Done.', texts.join('\n'))
  assert.match(texts[0] ?? '', /Ada/)
  assert.match(texts[1] ?? '', /hi there/)
  assert.match(texts[2] ?? '', new RegExp(home))
  const types: string[] = []
  for await (const item of session.watch({ until: 'stop' }))
    if (item.type === 'event') types.push(item.event.type)
  assert.ok(types.includes('question.asked') && types.includes('question.answered'))
  assert.ok(types.includes('model.sampled'))
  // The server gets no history, and no more tokens than the operator allows.
  assert.deepEqual(
    asked.map(({ maxTokens, history }) => [maxTokens, history.length]),
    [[50, 1]],
  )
})

test('resources and prompts of server-everything are listed and read, and its health is shown', async t => {
  const turnwire = await open(
    t,
    { all: node('@modelcontextprotocol/server-everything/dist/index.js', 'stdio') },
    [],
  )
  const { engine } = runtimeOf(turnwire)
  const { servers = [] } = await engine.describe()
  const [info] = servers
  assert.equal(info?.state, 'connected')
  assert.equal(info?.protocolVersion, '2025-11-25')
  assert.deepEqual(info?.agents, ['desk'])
  assert.ok(info.resources && info.prompts && info.tools > 5)
  const resources = await engine.fromServers('desk', { get: 'resources' })
  const plain = resources.find(each => !each.template)
  assert.ok(plain && resources.some(each => each.template))
  const [part] = await engine.fromServers('desk', { get: 'resource', server: 'all', uri: plain.uri })
  assert.ok(part?.type === 'text' && part.text.startsWith('[Resource of the MCP server "all"]'))
  await assert.rejects(engine.fromServers('desk', { get: 'resource', server: 'all', uri: 'demo://none' }), {
    code: 'not_found',
  })
  await assert.rejects(engine.fromServers('desk', { get: 'resource', server: 'other', uri: 'x' }), {
    code: 'not_found',
  })
  const prompts = await engine.fromServers('desk', { get: 'prompts' })
  const simple = prompts.find(each => each.arguments.length === 0)
  assert.ok(simple)
  const messages = await engine.fromServers('desk', {
    get: 'prompt',
    server: 'all',
    name: simple.name,
    values: {},
  })
  assert.equal(messages[0]?.role, 'user')
})

test('@playwright/mcp opens a page in a real browser', {
  skip: chromium === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.',
}, async t => {
  const page = createServer((_, response) => response.end('<title>Hello</title><h1>It works</h1>'))
  await new Promise<void>(resolve => page.listen(0, '127.0.0.1', resolve))
  t.after(() => page.close())
  const { port } = page.address() as AddressInfo // It listens on TCP.
  const flags = ['--headless', '--isolated', '--no-sandbox', '--executable-path', chromium ?? '']
  const browser = { ...node('@playwright/mcp/cli.js', ...flags), timeoutMs: 120_000 }
  const turnwire = await open(t, { browser }, [
    { calls: [{ name: 'browser__browser_navigate', input: { url: `http://127.0.0.1:${port}/` } }] },
    { calls: [{ name: 'browser__browser_snapshot', input: {} }] },
    { calls: [{ name: 'browser__browser_close', input: {} }] },
    { text: 'Done.' },
  ])
  const { kinds, texts } = await ask(turnwire)
  assert.deepEqual(kinds.slice(0, 2), ['ok', 'ok'])
  assert.match(texts.join('\n'), /It works/)
})
