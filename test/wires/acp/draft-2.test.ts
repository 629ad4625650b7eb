// The draft of version 2, behind its flag: the SDK's own client of that version, every frame held against its schema.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import * as v2 from '@agentclientprotocol/sdk/experimental/v2'
import { scripted } from '../../../src/models/scripted/index.ts'
import { tool } from '../../../src/tools/index.ts'
import { serveAcp } from '../../../src/wires/acp/connect.ts'
import type { RigOptions } from '../../engine/rig.ts'
import { cites } from '../../requirements/manifest.ts'
import { type Frame, FrameCheck } from './frames.ts'
import { type AcpRig, codeOf, cwd, makeAcp, until } from './rig.ts'

const mail = tool({ name: 'mail', description: 'Sends.', input: { type: 'object' }, run: () => 'sent' })

function pair(check: FrameCheck): { clientSide: Stream; agentSide: Stream } {
  const tap = (see: (frame: Frame) => void) =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform(message, controller) {
        const frame = JSON.parse(JSON.stringify(message)) as Frame // As on a pipe.
        see(frame)
        controller.enqueue(frame as AnyMessage)
      },
    })
  const toAgent = tap(frame => check.sentByClient(frame))
  const toClient = tap(frame => check.sentByAgent(frame))
  return {
    clientSide: { readable: toClient.readable, writable: toAgent.writable },
    agentSide: { readable: toAgent.readable, writable: toClient.writable },
  }
}

async function connect(context: TestContext, rig: AcpRig, optionId = 'allow') {
  const check = new FrameCheck(2)
  const { clientSide, agentSide } = pair(check)
  const updates: v2.SessionUpdate[] = []
  const permissions: v2.RequestPermissionRequest[] = []
  const link = await serveAcp(rig.host, agentSide, { draft2: true })
  const connection = v2
    .client({ name: 'test' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params }) => {
      permissions.push(params)
      return { outcome: { outcome: 'selected', optionId } }
    })
    .connect(clientSide)
  context.after(() => {
    connection.close()
    link.close()
    check.assertClean()
  })
  const { agent } = connection
  const initialized = await agent.request('initialize', {
    protocolVersion: 2,
    info: { name: 'test', version: '1' },
  })
  return { agent, updates, permissions, initialized }
}

function states(updates: readonly v2.SessionUpdate[]): unknown[] {
  return updates.flatMap(update => {
    if (update.sessionUpdate !== 'state_update') return []
    const { state, stopReason } = update as { state: string; stopReason?: string } // The tag says so.
    return [stopReason === undefined ? state : [state, stopReason]]
  })
}

const isIdle = (updates: readonly v2.SessionUpdate[]) => (): boolean =>
  JSON.stringify(states(updates).at(-1))?.includes('idle') === true

async function begin(context: TestContext, options: RigOptions) {
  const rig = makeAcp(context, options)
  const client = await connect(context, rig)
  const { sessionId } = await client.agent.request('session/new', { cwd })
  const prompt = (text: string) =>
    client.agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  return { rig, sessionId, prompt, ...client }
}

describe('version 2', () => {
  test(cites('ACP-DRAF-02', 'is negotiated, and 1 still is too'), async context => {
    const rig = makeAcp(context, { agent: { title: 'Helper' } })
    const { initialized } = await connect(context, rig)
    assert.equal(initialized.protocolVersion, 2)
    assert.deepEqual(initialized.info, { name: 'turnwire', title: 'Helper', version: '9.9.9' })
    const { clientSide, agentSide } = pair(new FrameCheck())
    const link = await serveAcp(rig.host, agentSide, { draft2: true })
    context.after(() => link.close())
    const writer = clientSide.writable.getWriter()
    await writer.write({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } })
    const { value } = await clientSide.readable.getReader().read()
    assert.equal((value as Frame).result?.['protocolVersion'], 1)
  })

  test(
    cites('ACP-TOOL-08', 'ACP-TERM-04', 'shows what a tool reports: a terminal, and files'),
    async context => {
      const work = tool({
        name: 'work',
        description: 'Works.',
        input: { type: 'object' },
        preview: () => ({ diffs: [{ path: 'gone.txt', oldText: 'x', newText: null }] }),
        run(_input, context) {
          context.report({ terminals: [{ id: '1', command: 'make', cwd: '/w/app' }] })
          context.progress({ output: 'é', terminal: '1' })
          return { parts: [], structured: null, report: { terminals: [{ id: '1', exit: { code: 0 } }] } }
        },
      })
      const script = [{ calls: [{ name: 'work' }] }, { text: 'ok' }]
      const { prompt, updates, permissions } = await begin(context, { script, tools: [work] })
      await prompt('go')
      await until(isIdle(updates))
      const terminals = updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith('terminal'))
      assert.deepEqual(
        terminals.map(update => ({ ...update, terminalId: '' })),
        [
          { sessionUpdate: 'terminal_update', terminalId: '', command: 'make', cwd: '/w/app' },
          { sessionUpdate: 'terminal_output_chunk', terminalId: '', data: 'w6k=' },
          { sessionUpdate: 'terminal_update', terminalId: '', exitStatus: { exitCode: 0 } },
        ],
      )
      const subject = permissions[0]?.subject
      assert.deepEqual(subject?.type === 'tool_call' && subject['toolCall'], {
        toolCallId: (terminals[0] as { terminalId: string }).terminalId.replace(/:1$/, ''),
        status: 'pending',
        title: 'work',
        name: 'work',
        kind: 'other',
        rawInput: {},
        locations: [{ path: '/w/app/gone.txt' }],
        content: [
          { type: 'diff', changes: [{ operation: 'delete', path: '/w/app/gone.txt', fileType: 'text' }] },
        ],
      })
    },
  )

  test(
    cites('ACP-DRAF-03', 'ACP-DRAF-04', 'answers a prompt when it is inserted, and tells its state'),
    async context => {
      const script = [{ text: 'Well. ', calls: [{ name: 'mail' }] }, { text: 'Sent.' }]
      const { prompt, updates, permissions } = await begin(context, { script, tools: [mail] })
      const { messageId } = await prompt('send')
      await until(isIdle(updates))
      assert.deepEqual(states(updates), ['running', 'requires_action', 'running', ['idle', 'end_turn']])
      const echo = updates.find(update => update.sessionUpdate === 'user_message_chunk')
      assert.deepEqual(echo, {
        sessionUpdate: 'user_message_chunk',
        messageId,
        content: { type: 'text', text: 'send' },
      })
      assert.equal(permissions[0]?.title, 'mail')
      assert.equal(permissions[0]?.subject?.type, 'tool_call')
      assert.ok(!updates.some(update => update.sessionUpdate === 'tool_call'))
    },
  )

  test(cites('ACP-DRAF-05', 'replays on resume, and ends with a state'), async context => {
    const { rig, sessionId, prompt, updates } = await begin(context, { script: [{ text: 'ok' }] })
    await prompt('hi')
    await until(isIdle(updates))
    const second = await connect(context, rig)
    await second.agent.request('session/resume', { sessionId, cwd, replayFrom: { type: 'start' } })
    assert.deepEqual(
      second.updates.map(update => update.sessionUpdate).filter(tag => tag !== 'session_info_update'),
      ['user_message_chunk', 'agent_message_chunk', 'state_update'],
    )
    assert.deepEqual(states(second.updates), ['idle'])
    // A cursor of another kind, which the types of this version do not know.
    const odd = { sessionId, cwd, replayFrom: { type: '_else' } } as v2.ResumeSessionRequest
    assert.equal(await codeOf(second.agent.request('session/resume', odd)), -32602)
  })

  test(cites('ACP-DRAF-06', 'ends idle, with cancelled or with error'), async context => {
    const fail = { code: 'model_failed', message: 'down' } as const
    const model = scripted({ steps: [{ text: 'x', hang: true }, { fail }], position: 'counter' })
    const { agent, sessionId, prompt, updates } = await begin(context, { model })
    await prompt('one')
    await agent.notify('session/cancel', { sessionId })
    await until(isIdle(updates))
    await prompt('two')
    await until(() => JSON.stringify(states(updates)).includes('error'))
    assert.deepEqual(states(updates), ['running', ['idle', 'cancelled'], 'running', ['idle', 'error']])
  })

  test(cites('ACP-DRAF-03', 'answers slash commands in the same way'), async context => {
    const { prompt, updates } = await begin(context, {})
    await prompt('/help')
    await until(isIdle(updates))
    assert.deepEqual(states(updates), ['running', ['idle', 'end_turn']])
  })
})
