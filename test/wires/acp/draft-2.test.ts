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
  /** A prompt has arrived that waits for its place in the turn. */
  const waits = async () => {
    const summary = () => rig.engine.summary({ owner: 'local', session: sessionId })
    while (!(await summary()).messages) await new Promise(resolve => setTimeout(resolve, 2))
  }
  return { rig, sessionId, prompt, waits, ...client }
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
          {
            ...{ sessionUpdate: 'terminal_update', terminalId: '', command: 'make', cwd: '/w/app' },
            capabilities: { cancel: {} },
          },
          { sessionUpdate: 'terminal_output_chunk', terminalId: '', data: 'w6k=' },
          {
            ...{ sessionUpdate: 'terminal_update', terminalId: '', exitStatus: { exitCode: 0 } },
            capabilities: null,
          },
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

  /** A tool that runs until it is let go or stopped. */
  function held() {
    const [go, begun, stopped] = [0, 1, 2].map(() => Promise.withResolvers<void>())
    const made = tool({
      name: 'slow',
      description: 'Takes its time.',
      input: { type: 'object' },
      trust: 'trusted',
      async run(_input, context) {
        context.report({ terminals: [{ id: '1', command: 'make', cwd: '/w/app' }] })
        context.signal.addEventListener('abort', () => stopped!.resolve())
        begun!.resolve()
        await Promise.race([go!.promise, stopped!.promise])
        return 'done'
      },
    })
    return { tool: made, go: go!.resolve, begun: begun!.promise, stopped: stopped!.promise }
  }
  const users = (updates: readonly v2.SessionUpdate[]): unknown[] =>
    updates.flatMap(update => {
      if (update.sessionUpdate !== 'user_message_chunk') return []
      const { content, messageId } = update as { content: { text: string }; messageId: string }
      return [[content.text, messageId]]
    })

  test('a second prompt steers the turn: it is answered when it is inserted, and the session is idle once', async context => {
    const slow = held()
    const script = [{ calls: [{ name: 'slow' }] }, { text: 'In blue.' }]
    const { prompt, waits, updates } = await begin(context, { script, tools: [slow.tool] })
    const first = await prompt('paint')
    await slow.begun
    let isAnswered = false
    const second = prompt('in blue').finally(() => {
      isAnswered = true
    })
    await waits()
    assert.equal(isAnswered, false, 'it is not in the session yet')
    slow.go()
    const { messageId } = await second
    await until(isIdle(updates))
    assert.deepEqual(users(updates), [
      ['paint', first.messageId],
      ['in blue', messageId],
    ])
    assert.deepEqual(states(updates), ['running', ['idle', 'end_turn']])
  })

  test('a prompt that comes too late to steer starts the next turn', async context => {
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const model = {
      id: 'm',
      respond: async ({ history }: { history: readonly unknown[] }) => {
        if (history.length > 1)
          return { parts: [{ type: 'text' as const, text: 'Two.' }], stop: 'end' as const }
        asked.resolve()
        await go.promise
        return { parts: [{ type: 'text' as const, text: 'One.' }], stop: 'end' as const }
      },
    }
    const { prompt, waits, updates } = await begin(context, { model })
    await prompt('one')
    await asked.promise
    const second = prompt('two')
    await waits()
    go.resolve()
    const { messageId } = await second
    await until(() => JSON.stringify(updates).includes('Two.'))
    await until(isIdle(updates))
    assert.deepEqual(users(updates)[1], ['two', messageId])
    assert.deepEqual(states(updates), ['running', ['idle', 'end_turn']])
    assert.ok(await prompt('three'), 'the next prompt is taken')
  })

  test('a prompt that arrives while the turn ends starts the next turn, and the session is idle once', async context => {
    const slow = held()
    const script = [{ calls: [{ name: 'slow' }] }, { text: 'One.' }, { text: 'Two.' }]
    const rig = makeAcp(context, { script, tools: [slow.tool] })
    const arrived = Promise.withResolvers<void>()
    const take = rig.engine.command.bind(rig.engine)
    rig.host.engine.command = async (ref, command) => {
      if (command.do !== 'say' || !command.during) return take(ref, command)
      arrived.resolve()
      slow.go()
      while ((await rig.engine.summary(ref)).turn) await new Promise(resolve => setTimeout(resolve, 2))
      return take(ref, command)
    }
    const { agent, updates } = await connect(context, rig)
    const { sessionId } = await agent.request('session/new', { cwd })
    const prompt = (text: string) =>
      agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
    await prompt('one')
    await slow.begun
    const { messageId } = await prompt('two')
    await arrived.promise
    await until(() => JSON.stringify(updates).includes('Two.'))
    await until(isIdle(updates))
    assert.deepEqual(users(updates)[1], ['two', messageId])
    assert.deepEqual(states(updates), ['running', 'running', ['idle', 'end_turn']])
  })

  test('a prompt that waits is answered as cancelled when the session is cancelled', async context => {
    const slow = held()
    const script = [{ calls: [{ name: 'slow' }] }, { text: 'Never.' }]
    const { agent, sessionId, prompt, waits, updates } = await begin(context, {
      script,
      tools: [slow.tool],
    })
    await prompt('paint')
    await slow.begun
    const second = codeOf(prompt('in blue'))
    await waits()
    await agent.notify('session/cancel', { sessionId })
    assert.equal(await second, -32800)
    await until(isIdle(updates))
    assert.equal(users(updates).length, 1)
  })

  test('one call is stopped by its id or by its terminal, and the turn goes on', async context => {
    for (const by of ['tool_call', 'terminal'] as const) {
      const slow = held()
      const script = [{ calls: [{ name: 'slow' }] }, { text: 'Without it.' }]
      const { agent, sessionId, prompt, updates } = await begin(context, { script, tools: [slow.tool] })
      await prompt('go')
      await slow.begun
      await until(() => updates.some(update => update.sessionUpdate === 'terminal_update'))
      const call = updates.find(update => update.sessionUpdate === 'tool_call_update')
      const { toolCallId = '', capabilities } = call as { toolCallId?: string; capabilities?: object }
      assert.deepEqual(capabilities, { cancel: {} })
      const cancel = () =>
        by === 'tool_call'
          ? agent.request('tool_call/cancel', { sessionId, toolCallId })
          : agent.request('terminal/cancel', { sessionId, terminalId: `${toolCallId}:1` })
      await cancel()
      await slow.stopped
      await until(isIdle(updates))
      assert.match(JSON.stringify(updates), /Without it\./)
      assert.equal(await codeOf(cancel()), -32602)
    }
  })
})
