// Tools of a connection: the client's files and terminals, its MCP servers, and their questions to the user.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { McpServer } from '@agentclientprotocol/sdk'
import { joinText as partsText } from '../../../src/language/content.ts'
import type { ScriptStep as Step } from '../../../src/models/scripted/script.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  codeOf,
  cwd,
  entriesOf,
  type FakeTerminal,
  makeAcp,
  only,
  sayElsewhere,
  textOf,
  until,
} from './rig.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
/** A command is started in the session's folder, which has to exist then. */
const here = process.cwd()
const server = (name: string): McpServer => ({
  name,
  command: process.execPath,
  args: [everything, 'stdio'],
  env: [],
})

const once = (
  name: string,
  input: Step['calls'] extends (infer C)[] | undefined ? (C extends { input?: infer I } ? I : never) : never,
): Step[] => [{ calls: [{ name, ...(input !== undefined && { input }) }] }, { text: 'done' }]

async function resultsOf(rig: ReturnType<typeof makeAcp>, id: string): Promise<[string, string][]> {
  return (await entriesOf(rig, id)).flatMap(entry =>
    entry.role === 'tool'
      ? entry.results.map(({ outcome }): [string, string] => [outcome.kind, partsText(outcome.parts)])
      : [],
  )
}

describe('files of the client', () => {
  const capabilities = { fs: { readTextFile: true, writeTextFile: true } }

  test(cites('ACP-FILE-01', 'are read without asking, inside the folders'), async context => {
    const rig = makeAcp(context, { script: once('read_text_file', { path: 'a.txt', line: 2, limit: 1 }) })
    const client = await rig.connect({ capabilities, files: new Map([[`${cwd}/a.txt`, 'unsaved']]) })
    const id = await client.newSession()
    await client.prompt(id, 'read')
    assert.deepEqual(await resultsOf(rig, id), [['ok', 'unsaved']])
    const asked = client.frames.find(({ frame }) => frame.method === 'fs/read_text_file')
    assert.deepEqual(asked?.frame.params, { sessionId: id, path: `${cwd}/a.txt`, line: 2, limit: 1 })
    assert.equal(client.permissions.length, 0)
  })

  test(
    cites('ACP-FILE-02', 'ACP-TOOL-04', 'are written once approved, and shown as a difference'),
    async context => {
      const rig = makeAcp(context, {
        script: once('write_text_file', { path: `${cwd}/a.txt`, content: 'new' }),
      })
      const files = new Map([[`${cwd}/a.txt`, 'old']])
      const client = await rig.connect({ capabilities, files })
      await client.prompt(await client.newSession(), 'write')
      const diff = { type: 'diff', path: `${cwd}/a.txt`, oldText: 'old', newText: 'new' }
      assert.deepEqual(client.permissions[0]?.toolCall.content, [diff])
      assert.deepEqual(only(client.updates, 'tool_call_update').at(-1)?.content, [diff])
      assert.equal(files.get(`${cwd}/a.txt`), 'new')
    },
  )

  test(cites('ACP-FILE-02', 'that are new have no old text; a rejection writes nothing'), async context => {
    const script = once('write_text_file', { path: 'b.txt', content: 'new' })
    const files = new Map<string, string>()
    const rig = makeAcp(context, { script })
    const client = await rig.connect({ capabilities, files, permission: 'reject' })
    await client.prompt(await client.newSession(), 'write')
    assert.deepEqual(client.permissions[0]?.toolCall.content, [
      { type: 'diff', path: `${cwd}/b.txt`, oldText: null, newText: 'new' },
    ])
    assert.equal(files.size, 0)
  })

  for (const path of ['/etc/passwd', '../secret', `${cwd}-other/x`, `${cwd}/../../etc/passwd`])
    test(cites('ACP-FILE-03', `outside of the folders are not even asked for: ${path}`), async context => {
      const rig = makeAcp(context, { script: once('read_text_file', { path }) })
      const client = await rig.connect({ capabilities, files: new Map([[path, 'secret']]) })
      const id = await client.newSession()
      await client.prompt(id, 'read')
      assert.equal((await resultsOf(rig, id))[0]?.[0], 'invalid')
      assert.ok(!client.frames.some(({ frame }) => frame.method === 'fs/read_text_file'))
    })

  test(cites('ACP-FILE-03', 'in further folders can be reached'), async context => {
    const rig = makeAcp(context, { script: once('read_text_file', { path: '/lib/x' }) })
    const client = await rig.connect({ capabilities, files: new Map([['/lib/x', 'there']]) })
    const { sessionId } = await client.agent.request('session/new', {
      cwd,
      mcpServers: [],
      additionalDirectories: ['/lib'],
    })
    await client.prompt(sessionId, 'read')
    assert.deepEqual(await resultsOf(rig, sessionId), [['ok', 'there']])
  })
})

describe('terminals of the client', () => {
  const capabilities = { terminal: true }
  const command = once('run_command', { command: 'npm', args: ['test'] })

  test(cites('ACP-TERM-01', 'ACP-TERM-02', 'run what was approved and are released'), async context => {
    const terminal: FakeTerminal = { output: 'all well', exit: 0, log: [] }
    const rig = makeAcp(context, { script: command })
    const client = await rig.connect({ capabilities, terminal })
    const id = await client.newSession()
    await client.prompt(id, 'test')
    assert.equal(client.permissions[0]?.toolCall.title, 'Run: npm test')
    assert.deepEqual(terminal.log, [`create npm test in ${cwd}`, 'release'])
    assert.deepEqual(await resultsOf(rig, id), [['ok', 'all well\nExit code 0.']])
    const shown = only(client.updates, 'tool_call_update')
    assert.deepEqual(shown.find(({ content }) => content != null)?.content, [
      { type: 'terminal', terminalId: 'term-1' },
    ])
    assert.equal(shown.at(-1)?.status, 'completed')
    assert.equal(shown.at(-1)?.content, undefined, 'the terminal stays where it is')
    const released = client.frames.findIndex(({ frame }) => frame.method === 'terminal/release')
    const attached = client.frames.findIndex(({ frame }) =>
      JSON.stringify(frame).includes('"type":"terminal"'),
    )
    assert.ok(attached >= 0 && attached < released)
  })

  test(cites('ACP-TERM-02', 'that fail are reported as failed'), async context => {
    const terminal: FakeTerminal = { output: 'boom', exit: 2, log: [] }
    const rig = makeAcp(context, { script: command })
    const client = await rig.connect({ capabilities, terminal })
    const id = await client.newSession()
    await client.prompt(id, 'test')
    assert.deepEqual(await resultsOf(rig, id), [['error', 'boom\nExit code 2.']])
    assert.ok(terminal.log.includes('release'))
  })

  test(cites('ACP-TERM-03', 'ACP-TERM-02', 'are killed and released on cancel'), async context => {
    const terminal: FakeTerminal = { output: '', log: [] }
    const client = await makeAcp(context, { script: command }).connect({ capabilities, terminal })
    const id = await client.newSession()
    const prompt = client.prompt(id, 'test')
    await until(() => terminal.log.length === 1)
    await client.cancel(id)
    assert.deepEqual(await prompt, { stopReason: 'cancelled' })
    assert.deepEqual(terminal.log.slice(1), ['kill', 'release'])
  })

  test(cites('ACP-TERM-03', 'are killed when their time is up'), async context => {
    const terminal: FakeTerminal = { output: 'so far', log: [] }
    const rig = makeAcp(context, { script: once('run_command', { command: 'sleep', timeoutSeconds: 1 }) })
    const client = await rig.connect({ capabilities, terminal })
    const id = await client.newSession()
    await client.prompt(id, 'test')
    assert.deepEqual(terminal.log.slice(1), ['kill', 'release'])
    assert.deepEqual(await resultsOf(rig, id), [
      ['error', 'so far\nIt did not end within 1 s and was stopped.'],
    ])
  })
})

describe('MCP servers of the client', () => {
  test(
    cites('ACP-MCPS-01', 'are connected, kept apart by name, and gone with the session'),
    async context => {
      let names: string[] = []
      const rig = makeAcp(context, {
        script: request => {
          names = request.tools.map(({ name }) => name)
          return request.history.length === 1
            ? { calls: [{ name: 'my-server-2__echo', input: { message: 'hi' } }] }
            : { text: 'done' }
        },
      })
      const client = await rig.connect()
      const id = await client.newSession([server('my server'), server('my.server')], here)
      await client.prompt(id, 'echo')
      assert.ok(names.includes('my-server__echo') && names.includes('my-server-2__echo'))
      assert.equal(client.permissions.length, 1)
      assert.deepEqual(await resultsOf(rig, id), [['ok', 'Echo: hi']])
      await client.agent.request('session/close', { sessionId: id })
      await sayElsewhere(rig, id, 'and now?')
      await until(() => names.length === 0)
    },
  )

  test(cites('ACP-MCPS-02', 'that cannot be reached take only their own tools away'), async context => {
    const rig = makeAcp(context, {
      script: request => ({ text: request.tools.map(({ name }) => name).join(' ') }),
    })
    const client = await rig.connect()
    const id = await client.newSession(
      [{ name: 'gone', command: '/nowhere', args: [], env: [] }, server('here')],
      here,
    )
    await client.prompt(id, 'which tools?')
    assert.match(textOf(client.updates), /\bhere__echo\b/)
    await client.prompt(id, '/tools')
    assert.match(JSON.stringify(client.updates), /\\"gone\\" cannot be used/)
    assert.ok(rig.logs.some(line => line.includes('gone')))
  })

  test(cites('ACP-MCPS-03', 'of kinds that are not taken are refused'), async context => {
    const client = await makeAcp(context).connect()
    const remote = await makeAcp(context, {}, { mcp: { stdio: false, http: false } }).connect()
    const http: McpServer = { type: 'http', name: 'h', url: 'http://127.0.0.1:9/', headers: [] }
    const refused: [typeof client, McpServer][] = [
      [client, { type: 'sse', name: 's', url: 'http://127.0.0.1:9/', headers: [] }],
      [client, { name: 'r', command: 'node', args: [], env: [] }],
      [remote, server('stdio')],
      [remote, http],
    ]
    for (const [each, given] of refused)
      assert.equal(await codeOf(each.agent.request('session/new', { cwd, mcpServers: [given] })), -32602)
  })

  for (const [words, answer, expected] of [
    ['accept', { action: 'accept', content: { name: 'Bo' } }, /accepted|provided/i],
    ['decline', { action: 'decline' }, /declined/i],
    ['an unknown action', { action: 'perhaps' }, /cancel/i],
  ] as const)
    test(cites('ACP-ELIC-01', 'ACP-ELIC-02', `may ask the user: ${words}`), async context => {
      const asked: { mode?: string; sessionId?: string; toolCallId?: string; message?: string }[] = []
      const rig = makeAcp(context, { script: once('all__trigger-elicitation-request', {}) })
      const client = await rig.connect({
        capabilities: { elicitation: { form: {} } },
        elicit: request => {
          asked.push(request as (typeof asked)[number]) // The SDK has checked it.
          return answer
        },
      })
      const id = await client.newSession([server('all')], here)
      await client.prompt(id, 'ask')
      assert.equal(asked.length, 1)
      assert.equal(asked[0]?.mode, 'form')
      assert.equal(asked[0]?.sessionId, id)
      assert.equal(asked[0]?.toolCallId, only(client.updates, 'tool_call')[0]?.toolCallId)
      assert.match(asked[0]?.message ?? '', /^The MCP server "all" asks: /)
      assert.match((await resultsOf(rig, id))[0]?.[1] ?? '', expected)
    })
})
