// What any tool reports: files while it runs, differences while it asks and when it is done, terminals with live output.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { cwd, makeAcp, only, refOf } from './rig.ts'

const diffs = [
  { path: 'a.txt', oldText: 'one', newText: 'two' },
  { path: '/elsewhere/b.txt', oldText: null, newText: 'new' },
  { path: 'gone.txt', oldText: 'old', newText: null },
]

/** A tool of a user's: nothing built in. */
const change = tool({
  name: 'change',
  description: 'Changes files.',
  input: { type: 'object' },
  preview: () => ({ diffs, locations: [{ path: 'a.txt', line: 3 }] }),
  run(_input, context) {
    context.report({ locations: [{ path: 'src/x.ts', line: 7 }] })
    return { parts: [{ type: 'text', text: 'changed' }], structured: null, report: { diffs } }
  },
})

const command = tool({
  name: 'command',
  description: 'Runs a command.',
  input: { type: 'object' },
  trust: 'trusted',
  run(_input, context) {
    context.report({ terminals: [{ id: '1', command: 'make', cwd: '/w/app/lib' }] })
    context.progress({ output: 'building…\n', terminal: '1' })
    context.progress({ output: 'done\n', terminal: '1' })
    const terminal = { id: '1', command: 'make', output: 'building…\ndone\n', exit: { code: 2 } }
    return { parts: [{ type: 'text', text: 'exit 2' }], structured: null, report: { terminals: [terminal] } }
  },
})

const once = (name: string) => [{ calls: [{ name, input: {} }] }, { text: 'ok' }]

const shownDiffs = [
  { type: 'diff', path: `${cwd}/a.txt`, oldText: 'one', newText: 'two' },
  { type: 'diff', path: '/elsewhere/b.txt', oldText: null, newText: 'new' },
  {
    type: 'diff',
    path: `${cwd}/gone.txt`,
    oldText: 'old',
    newText: '',
    _meta: { 'turnwire.dev/deleted': true },
  },
]

test(
  cites(
    'ACP-TOOL-07',
    'ACP-TOOL-08',
    'any tool shows differences while it asks, files while it runs, and both when it is done',
  ),
  async context => {
    const rig = makeAcp(context, { script: once('change'), tools: [change] })
    const client = await rig.connect()
    const id = await client.newSession()
    await client.prompt(id, 'go')
    const [asked] = client.permissions
    assert.deepEqual(asked?.toolCall.content, shownDiffs)
    assert.deepEqual(asked?.toolCall.locations, [
      { path: `${cwd}/a.txt`, line: 3 },
      { path: '/elsewhere/b.txt' },
      { path: `${cwd}/gone.txt` },
    ])
    const updates = only(client.updates, 'tool_call_update')
    const running = updates.find(update => update.locations?.[0]?.path === `${cwd}/src/x.ts`)
    assert.deepEqual(running?.locations, [{ path: `${cwd}/src/x.ts`, line: 7 }])
    assert.deepEqual(updates.at(-1)?.content, shownDiffs)
    assert.equal(updates.at(-1)?.status, 'completed')
    // A client that loads the session sees the same.
    const later = await rig.connect()
    await later.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
    assert.deepEqual(only(later.updates, 'tool_call_update').at(-1)?.content, shownDiffs)
    const events = await rig.engine.events(refOf(id), 0, 100)
    const requested = events.find(({ event }) => event.type === 'approval.requested')?.event
    assert.deepEqual(requested?.type === 'approval.requested' && requested.preview?.diffs, diffs)
  },
)

test('rows are a Markdown table while the call asks and when it is done, and no cell ends it', async context => {
  const rows = { columns: ['to', 'sum'], rows: [['Ann | <b>', '10\n20']] }
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object' },
    preview: () => ({ rows }),
    run: () => ({ parts: [{ type: 'text', text: 'paid' }], report: { rows } }),
  })
  const rig = makeAcp(context, { script: once('pay'), tools: [pay] })
  const client = await rig.connect()
  await client.prompt(await client.newSession(), 'go')
  const text = '| to | sum |\n| --- | --- |\n| Ann \\| \\<b\\> | 10\\\\n20 |'
  const table = [{ type: 'content', content: { type: 'text', text } }]
  assert.deepEqual(client.permissions[0]?.toolCall.content, table)
  const last = only(client.updates, 'tool_call_update').at(-1)
  assert.deepEqual(last?.content, table)
  assert.deepEqual(last?.rawOutput, { outcome: 'ok', text: 'paid' })
})

describe('terminals of the runtime', () => {
  const meta = (updates: readonly SessionUpdate[]) =>
    only(updates, 'tool_call_update').flatMap(({ _meta }) => (_meta == null ? [] : [_meta]))

  test(cites('ACP-TERM-04', 'are shown live to a client that says it shows them'), async context => {
    const rig = makeAcp(context, { script: once('command'), tools: [command] })
    const client = await rig.connect({ capabilities: { _meta: { terminal_output: true } } })
    await client.prompt(await client.newSession(), 'go')
    const toolCallId = only(client.updates, 'tool_call')[0]?.toolCallId
    const terminal_id = `${toolCallId}:1`
    assert.deepEqual(meta(client.updates), [
      { terminal_info: { terminal_id, cwd: '/w/app/lib' } },
      { terminal_output: { terminal_id, data: 'building…\n' } },
      { terminal_output: { terminal_id, data: 'done\n' } },
      {
        terminal_info: { terminal_id },
        terminal_exit: { terminal_id, exit_code: 2, signal: null },
      },
    ])
    const last = only(client.updates, 'tool_call_update').at(-1)
    assert.deepEqual(last?.content, [{ type: 'terminal', terminalId: terminal_id }])
  })

  test(cites('ACP-TERM-04', 'are shown as text to any other client, live too'), async context => {
    const rig = makeAcp(context, { script: once('command'), tools: [command] })
    const client = await rig.connect()
    await client.prompt(await client.newSession(), 'go')
    const contents = only(client.updates, 'tool_call_update').flatMap(({ content }) => content ?? [])
    assert.deepEqual(
      contents.map(each => each.type === 'content' && each.content.type === 'text' && each.content.text),
      ['building…\n', 'building…\ndone\n', 'exit 2'],
    )
  })
})
