// Initialisation, keys, and sessions: made, loaded, resumed, listed, closed, deleted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Store } from '../../../src/engine/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { tool } from '../../../src/tools/index.ts'
import { plainSettings } from '../../engine/rig.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  codeOf,
  createElsewhere,
  cwd,
  kinds,
  makeAcp,
  only,
  sayElsewhere,
  summaryOf,
  textOf,
  until,
} from './rig.ts'

const mail = (run: () => unknown = () => 'sent') =>
  tool({ name: 'mail', title: 'Mail', description: 'Sends mail.', input: { type: 'object' }, run })

describe('initialize', () => {
  test(cites('ACP-INIT-01', 'ACP-INIT-03', 'ACP-AUTH-01', 'version 1 and what is served'), async context => {
    const rig = makeAcp(context, { agent: { title: 'Helper' } })
    const client = await rig.connect({ raw: true })
    const answer = await client.agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
    assert.deepEqual(answer, {
      protocolVersion: 1,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
      },
      authMethods: [],
      agentInfo: { name: 'turnwire', title: 'Helper', version: '9.9.9' },
    })
    assert.match(await client.newSession(), /^sess_/)
  })

  for (const version of [0, 2, 65535])
    test(cites('ACP-INIT-02', 'ACP-DRAF-01', `version ${version} is answered with 1`), async context => {
      const client = await makeAcp(context).connect({ raw: true })
      const answer = await client.agent.request('initialize', { protocolVersion: version })
      assert.equal(answer.protocolVersion, 1)
    })

  test(cites('ACP-INIT-04', 'nothing works before it'), async context => {
    const client = await makeAcp(context).connect({ raw: true })
    assert.equal(await codeOf(client.agent.request('session/new', { cwd, mcpServers: [] })), -32600)
    assert.equal(await codeOf(client.agent.request('session/list', {})), -32600)
  })

  test(cites('ACP-INIT-05', 'what is not mentioned is not used'), async context => {
    const script = (request: { tools: readonly { name: string }[] }) => ({
      text: request.tools.map(({ name }) => name).join(),
    })
    const client = await makeAcp(context, { script }).connect()
    await client.prompt(await client.newSession(), 'which tools?')
    assert.equal(textOf(client.updates), 'update_plan')
  })
})

describe('keys', () => {
  const options = [{ name: 'api-key', type: 'secret', default: '', required: true }] as const

  test(
    cites('ACP-AUTH-02', 'ACP-AUTH-03', 'a missing one is told before anything is tried'),
    async context => {
      const client = await makeAcp(context, { agent: { options } }).connect({ raw: true })
      const { authMethods } = await client.agent.request('initialize', { protocolVersion: 1 })
      assert.equal(authMethods?.length, 1)
      assert.match(authMethods?.[0]?.description ?? '', /TURNWIRE_SECRET_API_KEY/)
      assert.equal(await codeOf(client.agent.request('session/new', { cwd, mcpServers: [] })), -32000)
      assert.equal(await codeOf(client.agent.request('authenticate', { methodId: 'environment' })), -32000)
      assert.equal(await codeOf(client.agent.request('authenticate', { methodId: 'other' })), -32602)
    },
  )

  test(
    cites('ACP-AUTH-03', 'ACP-AUTH-04', 'ACP-CONF-01', 'one that is there reaches the tools and no frame'),
    async context => {
      let seen: unknown
      const peek = tool({
        name: 'peek',
        description: 'Looks.',
        input: { type: 'object' },
        trust: 'trusted',
        run: (_input, { options: given }) => {
          seen = given['api-key']
          return 'ok'
        },
      })
      const rig = makeAcp(
        context,
        { agent: { options }, tools: [peek], script: [{ calls: [{ name: 'peek' }] }, { text: 'done' }] },
        { secrets: { 'api-key': 'canary-secret' } },
      )
      const client = await rig.connect()
      assert.deepEqual(await client.agent.request('authenticate', { methodId: 'environment' }), {})
      const id = await client.newSession()
      await client.prompt(id, 'look')
      assert.equal(seen, 'canary-secret')
      assert.ok(!JSON.stringify([client.frames, await rig.store.read(id)]).includes('"canary-secret"'))
    },
  )
})

describe('a session', () => {
  test(cites('ACP-SESS-01', 'is made in a folder'), async context => {
    const rig = makeAcp(context)
    const client = await rig.connect()
    assert.equal(
      await codeOf(client.agent.request('session/new', { cwd: 'relative', mcpServers: [] })),
      -32602,
    )
    assert.equal((await summaryOf(rig, await client.newSession())).settings.wires?.['acp']?.['cwd'], cwd)
  })

  test(cites('ACP-SESS-02', 'ACP-SESS-03', 'is replayed whole, and as it was shown'), async context => {
    const script = [
      {
        thinking: 'Hm.',
        text: 'Let me look. ',
        calls: [{ name: 'mail', input: { path: 'a.txt' } }],
        chunk: 3,
      },
      { text: 'Done.' },
    ]
    const rig = makeAcp(context, { script, tools: [mail()] })
    const client = await rig.connect()
    const id = await client.newSession()
    await client.prompt(id, 'send it')
    const second = await rig.connect()
    await second.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
    const answeredAt = second.frames.findIndex(({ frame }) => frame.result !== undefined && frame.id === 1)
    const shownBefore = second.frames
      .slice(0, answeredAt)
      .filter(({ frame }) => frame.method === 'session/update')
    assert.equal(textOf(second.updates, 'user_message_chunk'), 'send it')
    assert.equal(textOf(second.updates), textOf(client.updates))
    assert.equal(textOf(second.updates, 'agent_thought_chunk'), textOf(client.updates, 'agent_thought_chunk'))
    const [live, replayed] = [client, second].map(({ updates }) => ({
      call: only(updates, 'tool_call').map(({ toolCallId }) => toolCallId),
      last: only(updates, 'tool_call_update').at(-1),
      ids: new Set(only(updates, 'agent_message_chunk').map(({ messageId }) => messageId)),
    }))
    assert.deepEqual(replayed, live)
    assert.equal(live!.ids.size, 2)
    assert.ok(shownBefore.length >= second.updates.length - 1, 'all but the commands came before the answer')
  })

  test(cites('ACP-SESS-04', 'is resumed without a replay'), async context => {
    const rig = makeAcp(context, { script: [{ text: 'one' }, { text: 'two' }] })
    const client = await rig.connect()
    const id = await client.newSession()
    await client.prompt(id, 'first')
    const second = await rig.connect()
    await second.agent.request('session/resume', { sessionId: id, cwd })
    await until(() => second.updates.length > 0)
    assert.deepEqual(kinds(second.updates), ['available_commands_update'])
    await second.prompt(id, 'second')
    assert.equal(textOf(second.updates), 'two')
  })

  test(
    cites('ACP-SESS-05', 'ACP-SESS-13', 'that is not there, not ours, or another agent\u2019s is unknown'),
    async context => {
      const rig = makeAcp(context)
      const client = await rig.connect()
      const foreign = await createElsewhere(rig, { owner: 'someone' })
      for (const sessionId of ['sess_none', foreign]) {
        const params = { sessionId, cwd, mcpServers: [] }
        assert.equal(await codeOf(client.agent.request('session/load', params)), -32002)
        assert.equal(await codeOf(client.agent.request('session/resume', params)), -32002)
        assert.equal(await codeOf(client.prompt(sessionId, 'hi')), -32002)
        await client.agent.request('session/delete', { sessionId })
      }
      assert.ok(await rig.store.row(foreign), 'the stranger has deleted nothing')
      const refused = client.frames.find(({ frame }) => frame.error?.code === -32002)
      assert.deepEqual(refused?.frame.error?.data, { sessionId: 'sess_none' })
      const mine = await client.newSession()
      const other = makeAcp(
        context,
        { store: rig.store, agent: { name: 'helper' } },
        { info: { ...rig.host.info, name: 'other' } },
      )
      const stranger = await other.connect()
      assert.equal(await codeOf(stranger.agent.request('session/resume', { sessionId: mine, cwd })), -32002)
    },
  )

  test(cites('ACP-SESS-06', 'stays in its folder'), async context => {
    const client = await makeAcp(context).connect()
    const sessionId = await client.newSession()
    for (const method of ['session/load', 'session/resume'] as const)
      assert.equal(
        await codeOf(client.agent.request(method, { sessionId, cwd: '/elsewhere', mcpServers: [] })),
        -32602,
      )
    await client.agent.request('session/resume', { sessionId, cwd: `${cwd}/` })
  })

  test(cites('ACP-SESS-07', 'ACP-SESS-14', 'is listed with its title'), async context => {
    const rig = makeAcp(context, { script: [{ text: 'ok' }] })
    const client = await rig.connect()
    assert.deepEqual(await client.agent.request('session/list', {}), { sessions: [] })
    const first = await client.newSession()
    await client.prompt(first, '  Fix the\nport \u001b[2J of the server ')
    const second = await client.newSession()
    const { sessions } = await client.agent.request('session/list', { cwd })
    assert.deepEqual(
      sessions.map(({ sessionId, cwd: folder, title }) => [sessionId, folder, title]),
      [
        [second, cwd, undefined],
        [first, cwd, 'Fix the port \\u001b[2J of the server'],
      ],
    )
    for (const { updatedAt } of sessions) assert.equal(new Date(updatedAt!).toISOString(), updatedAt)
    assert.deepEqual((await client.agent.request('session/list', { cwd: '/elsewhere' })).sessions, [])
    const told = only(client.updates, 'session_info_update')
    assert.equal(told[0]?.title, 'Fix the port \\u001b[2J of the server')
    assert.ok(told.at(-1)?.updatedAt)
  })

  test(cites('ACP-SESS-08', 'is found on a later page'), async context => {
    const rig = makeAcp(context)
    const client = await rig.connect()
    for (let count = 0; count < 60; count += 1)
      await createElsewhere(rig, { settings: { ...plainSettings, options: {}, wires: { acp: { cwd } } } })
    const first = await client.agent.request('session/list', {})
    assert.equal(first.sessions.length, 50)
    const second = await client.agent.request('session/list', { cursor: first.nextCursor! })
    assert.equal(second.sessions.length, 10)
    assert.equal(second.nextCursor, undefined)
    assert.equal(await codeOf(client.agent.request('session/list', { cursor: 'nonsense' })), -32602)
  })

  test(cites('ACP-SESS-09', 'is closed once nothing runs any more'), async context => {
    const stopped: string[] = []
    const slow = tool({
      name: 'slow',
      description: 'Takes its time.',
      input: { type: 'object' },
      trust: 'trusted',
      run: (_input, { signal }) =>
        new Promise(resolve => {
          signal.addEventListener('abort', () =>
            setTimeout(() => {
              stopped.push('stopped')
              resolve('late')
            }, 30),
          )
        }),
    })
    const rig = makeAcp(context, { tools: [slow], script: [{ calls: [{ name: 'slow' }] }] })
    const client = await rig.connect()
    const id = await client.newSession()
    const prompt = client.prompt(id, 'go')
    await until(() => only(client.updates, 'tool_call_update').some(({ status }) => status === 'in_progress'))
    await client.agent.request('session/close', { sessionId: id })
    assert.deepEqual(stopped, ['stopped'])
    assert.deepEqual(await prompt, { stopReason: 'cancelled' })
    assert.equal(await codeOf(client.prompt(id, 'more')), -32002)
    await client.agent.request('session/resume', { sessionId: id, cwd })
  })

  test(cites('ACP-SESS-09', 'shows how a waiting call ended before it is closed'), async context => {
    const memory = memoryStore()
    // As one on disk: durable in a later turn of the event loop.
    const append: Store['append'] = async batch => {
      await setImmediate()
      return memory.append(batch)
    }
    const rig = makeAcp(context, {
      store: { ...memory, append },
      tools: [mail()],
      script: [{ calls: [{ name: 'mail' }] }],
    })
    const sessionId = await createElsewhere(rig)
    await sayElsewhere(rig, sessionId, 'Mail it.')
    while ((await summaryOf(rig, sessionId)).status !== 'waiting') await setImmediate()
    const client = await rig.connect({ permission: () => new Promise(() => {}) })
    await client.agent.request('session/load', { sessionId, cwd, mcpServers: [] })
    await client.agent.request('session/close', { sessionId })
    assert.equal(only(client.updates, 'tool_call_update').at(-1)?.status, 'failed')
  })

  test(cites('ACP-SESS-10', 'is deleted, also in mid-turn'), async context => {
    const rig = makeAcp(context, { script: [{ text: 'thinking', hang: true }] })
    const client = await rig.connect()
    const id = await client.newSession()
    const prompt = client.prompt(id, 'go')
    await until(() => textOf(client.updates) === 'thinking')
    await client.agent.request('session/delete', { sessionId: id })
    assert.deepEqual(await prompt, { stopReason: 'cancelled' })
    assert.equal(await rig.store.row(id), undefined)
    await client.agent.request('session/delete', { sessionId: id })
  })

  test(cites('ACP-SESS-11', 'ACP-PROM-14', 'of another wire is shown and continued'), async context => {
    const rig = makeAcp(context, { script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] })
    const sessionId = await createElsewhere(rig, {
      seed: [{ role: 'user', parts: [{ type: 'text', text: 'seeded' }] }],
    })
    const client = await rig.connect()
    const { sessions } = await client.agent.request('session/list', { cwd: '/any/where' })
    assert.deepEqual(
      sessions.map(({ sessionId: id, cwd: folder }) => [id, folder]),
      [[sessionId, '/any/where']],
    )
    await client.agent.request('session/load', { sessionId, cwd: '/any/where', mcpServers: [] })
    assert.equal(textOf(client.updates, 'user_message_chunk'), 'seeded')
    await sayElsewhere(rig, sessionId, ' and said there')
    await until(() => textOf(client.updates) === 'one')
    assert.equal(textOf(client.updates, 'user_message_chunk'), 'seeded and said there')
    await client.prompt(sessionId, 'and said here')
    assert.equal(textOf(client.updates), 'onetwo')
    assert.equal(textOf(client.updates, 'user_message_chunk'), 'seeded and said there')
  })

  test(cites('ACP-SESS-12', 'outlives its client, and the next one is asked'), async context => {
    const sent: string[] = []
    const rig = makeAcp(context, {
      tools: [mail(() => sent.push('mail') && 'sent')],
      script: [{ calls: [{ name: 'mail' }] }, { text: 'done' }],
    })
    const first = await rig.connect({ permission: () => new Promise(() => {}) })
    const id = await first.newSession()
    const lost = first.prompt(id, 'send').catch(() => 'gone')
    await until(() => first.permissions.length === 1)
    first.close()
    assert.equal(await lost, 'gone')
    assert.equal((await rig.store.row(id))?.status, 'waiting')
    // A new process on the same store.
    const other = makeAcp(context, { store: rig.store, agent: rig.agent })
    const second = await other.connect()
    await second.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
    await until(() => second.permissions.length === 1)
    await until(() => only(second.updates, 'tool_call_update').some(({ status }) => status === 'completed'))
    assert.deepEqual(sent, ['mail'])
  })
})
