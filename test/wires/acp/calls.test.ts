// Tool calls as they are shown, and the permissions that are asked for them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { type AcpRig, cwd, makeAcp, only, refOf, summaryOf, type TestClient, until } from './rig.ts'

type Runs = { name: string; input: unknown }[]

function asking(runs: Runs, name = 'mail') {
  return tool({
    name,
    title: 'Send a mail',
    description: 'Sends mail.',
    input: { type: 'object' },
    kind: 'execute',
    run: input => {
      runs.push({ name, input })
      return 'sent'
    },
  })
}

function statuses(client: TestClient, callId: string): (string | null | undefined)[] {
  return client.updates.flatMap(update =>
    (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') &&
    update.toolCallId === callId &&
    update.status != null
      ? [update.status]
      : [],
  )
}

/** Each prompt makes the model ask for these, then answer. */
function calling(...names: string[]) {
  return (request: { history: readonly { role: string }[] }) =>
    request.history.at(-1)?.role === 'user' ? { calls: names.map(name => ({ name })) } : { text: 'done' }
}

describe('a call', () => {
  test(
    cites(
      'ACP-TOOL-01',
      'ACP-TOOL-02',
      'ACP-TOOL-03',
      'ACP-TOOL-05',
      'is shown from its first delta to its result',
    ),
    async context => {
      const read = tool({
        name: 'read',
        title: 'Read',
        description: 'Reads.',
        input: { type: 'object' },
        kind: 'read',
        trust: 'trusted',
        run: () => 'the text',
      })
      const fail = tool({
        name: 'fail',
        description: 'Fails.',
        input: { type: 'object' },
        trust: 'trusted',
        run: () => {
          throw new Error('no such row')
        },
      })
      const script = [
        {
          calls: [
            { name: 'read', input: { path: 'src/a.ts', line: 7, files: ['/x/b.ts', 'c.ts'] } },
            { name: 'fail', input: { query: 'rows' } },
          ],
          chunk: 5,
        },
        { text: 'ok' },
      ]
      const client = await makeAcp(context, { script, tools: [read, fail] }).connect()
      await client.prompt(await client.newSession(), 'go')
      const [first, second] = only(client.updates, 'tool_call')
      assert.deepEqual(first, {
        sessionUpdate: 'tool_call',
        toolCallId: first?.toolCallId,
        status: 'pending',
        name: 'read',
        kind: 'read',
        title: 'Read',
      })
      const changes = only(client.updates, 'tool_call_update').filter(
        ({ toolCallId }) => toolCallId === first?.toolCallId,
      )
      assert.deepEqual(
        changes.map(({ sessionUpdate: _tag, toolCallId: _id, ...rest }) => rest),
        [
          {
            title: 'Read: src/a.ts',
            rawInput: { path: 'src/a.ts', line: 7, files: ['/x/b.ts', 'c.ts'] },
            locations: [{ path: `${cwd}/src/a.ts`, line: 7 }, { path: '/x/b.ts' }, { path: `${cwd}/c.ts` }],
          },
          { status: 'in_progress' },
          {
            status: 'completed',
            content: [{ type: 'content', content: { type: 'text', text: 'the text' } }],
            rawOutput: { outcome: 'ok', text: 'the text' },
          },
        ],
      )
      assert.deepEqual(statuses(client, second!.toolCallId), ['pending', 'in_progress', 'failed'])
    },
  )

  test(cites('ACP-TOOL-04', 'that edits is shown as a difference'), async context => {
    const edit = tool({
      name: 'edit',
      description: 'Edits.',
      input: { type: 'object' },
      kind: 'edit',
      trust: 'trusted',
      run: () => ({ path: '/w/app/a.txt', oldText: 'one', newText: 'two' }),
    })
    const client = await makeAcp(context, {
      script: [{ calls: [{ name: 'edit' }] }, { text: 'ok' }],
      tools: [edit],
    }).connect()
    await client.prompt(await client.newSession(), 'go')
    assert.deepEqual(only(client.updates, 'tool_call_update').at(-1)?.content, [
      { type: 'diff', path: '/w/app/a.txt', oldText: 'one', newText: 'two' },
    ])
  })

  test(cites('ACP-TOOL-06', 'cannot hide what it is'), async context => {
    const runs: Runs = []
    const script = [
      { calls: [{ name: 'mail', input: { command: 'rm\u001b]52;c;x\u0007 \u202egpj.exe\u009b2J' } }] },
      { text: 'ok' },
    ]
    const client = await makeAcp(context, { script, tools: [asking(runs)] }).connect()
    await client.prompt(await client.newSession(), 'go')
    const shown = [
      ...only(client.updates, 'tool_call').map(({ title }) => title),
      ...only(client.updates, 'tool_call_update').map(({ title }) => title ?? ''),
      ...client.permissions.flatMap(({ toolCall, options }) => [
        toolCall.title ?? '',
        ...options.map(({ name }) => name),
      ]),
    ]
    assert.ok(shown.some(title => title.includes('rm')))
    for (const title of shown) assert.doesNotMatch(title, /[\p{Cc}\p{Cf}]/u)
    // What was asked for is still there, whole.
    assert.deepEqual(client.permissions[0]?.toolCall.rawInput, script[0]?.calls?.[0]?.input)
  })
})

describe('a permission', () => {
  test(cites('ACP-PERM-01', 'says what is asked, and allows one call'), async context => {
    const runs: Runs = []
    const gate = { rules: [{ tool: 'mail', ['then']: 'ask' as const, reason: 'Mail leaves the house.' }] }
    const script = [{ calls: [{ name: 'mail', input: { to: 'bo' } }] }, { text: 'ok' }]
    const client = await makeAcp(context, { script, tools: [asking(runs)], gate }).connect()
    await client.prompt(await client.newSession(), 'go')
    const [request] = client.permissions
    const [call] = only(client.updates, 'tool_call')
    assert.deepEqual(request?.toolCall, {
      toolCallId: call?.toolCallId,
      status: 'pending',
      name: 'mail',
      kind: 'execute',
      title: 'Send a mail',
      rawInput: { to: 'bo' },
      content: [{ type: 'content', content: { type: 'text', text: 'Mail leaves the house.' } }],
    })
    assert.deepEqual(
      request?.options.map(({ optionId, kind }) => [optionId, kind]),
      [
        ['allow', 'allow_once'],
        ['allow-session', 'allow_always'],
        ['reject', 'reject_once'],
        ['reject-session', 'reject_always'],
      ],
    )
    assert.deepEqual(runs, [{ name: 'mail', input: { to: 'bo' } }])
  })

  test(
    cites('ACP-PERM-02', 'ACP-PERM-05', 'is asked per call, all at once; a refusal is of one only'),
    async context => {
      const runs: Runs = []
      const names = ['a', 'b', 'c']
      const all = Promise.withResolvers<void>()
      const rig = makeAcp(context, {
        script: calling(...names),
        tools: names.map(name => asking(runs, name)),
      })
      const client = await rig.connect({
        permission: async ({ toolCall }): Promise<RequestPermissionResponse> => {
          if (client.permissions.length === 3) all.resolve()
          await all.promise
          return { outcome: { outcome: 'selected', optionId: toolCall.name === 'b' ? 'reject' : 'allow' } }
        },
      })
      assert.deepEqual(await client.prompt(await client.newSession(), 'go'), { stopReason: 'end_turn' })
      assert.deepEqual(runs.map(({ name }) => name).sort(), ['a', 'c'])
      const ids = only(client.updates, 'tool_call').map(({ toolCallId }) => toolCallId)
      assert.deepEqual(
        ids.map(id => statuses(client, id).at(-1)),
        ['completed', 'failed', 'completed'],
      )
    },
  )

  for (const [option, clause, expected] of [
    ['allow-session', 'allowed', ['mail', 'mail']],
    ['reject-session', 'rejected', []],
  ] as const)
    test(
      cites(
        'ACP-PERM-03',
        'ACP-PERM-04',
        `${option} holds for the session, also after a restart (${clause})`,
      ),
      async context => {
        const runs: Runs = []
        const rig = makeAcp(context, { script: calling('mail'), tools: [asking(runs)] })
        const client = await rig.connect({ permission: option })
        const id = await client.newSession()
        await client.prompt(id, 'one')
        const name = client.permissions[0]?.options.find(({ optionId }) => optionId === option)?.name
        assert.match(name ?? '', /every further call of mail in this session/)
        const other = makeAcp(context, {
          store: rig.store,
          tools: rig.agent.tools,
          script: calling('mail'),
        })
        const second = await other.connect()
        await second.agent.request('session/resume', { sessionId: id, cwd })
        await second.prompt(id, 'two')
        assert.equal(second.permissions.length, 0)
        assert.deepEqual(
          runs.map(run => run.name),
          expected,
        )
      },
    )

  test(cites('ACP-PERM-03', 'a grant is void once the tool has changed'), async context => {
    const runs: Runs = []
    const rig = makeAcp(context, { script: calling('mail'), tools: [asking(runs)] })
    const client = await rig.connect({ permission: 'allow-session' })
    const id = await client.newSession()
    await client.prompt(id, 'one')
    const changed = { ...asking(runs), description: 'Sends mail, and a copy to us.' }
    const other = makeAcp(context, { store: rig.store, tools: [changed], script: calling('mail') })
    const second = await other.connect()
    await second.agent.request('session/resume', { sessionId: id, cwd })
    await second.prompt(id, 'two')
    assert.equal(second.permissions.length, 1)
  })

  const answers: [string, () => Promise<unknown>][] = [
    ['an option that was not offered', async () => ({ outcome: { outcome: 'selected', optionId: 'sudo' } })],
    ['an error', () => Promise.reject(new Error('no window'))],
  ]
  for (const [words, answer] of answers)
    test(cites('ACP-PERM-06', 'ACP-PERM-09', `${words} is no approval`), async context => {
      const runs: Runs = []
      const client = await makeAcp(context, { script: calling('mail'), tools: [asking(runs)] }).connect({
        // Wrong on purpose.
        permission: answer as () => Promise<RequestPermissionResponse>,
      })
      assert.deepEqual(await client.prompt(await client.newSession(), 'go'), { stopReason: 'end_turn' })
      assert.deepEqual(runs, [])
      assert.equal(only(client.updates, 'tool_call_update').at(-1)?.status, 'failed')
    })

  test(cites('ACP-PERM-07', 'that is answered with cancelled ends the turn'), async context => {
    const runs: Runs = []
    const client = await makeAcp(context, { script: calling('mail'), tools: [asking(runs)] }).connect({
      permission: 'cancelled',
    })
    assert.deepEqual(await client.prompt(await client.newSession(), 'go'), { stopReason: 'cancelled' })
    assert.deepEqual(runs, [])
  })

  test(cites('ACP-PERM-08', 'is withdrawn when it was decided elsewhere'), async context => {
    const runs: Runs = []
    const rig: AcpRig = makeAcp(context, { script: calling('mail'), tools: [asking(runs)] })
    const late = Promise.withResolvers<RequestPermissionResponse>()
    let withdrawn: AbortSignal | undefined
    const client = await rig.connect({
      permission: (_request, signal) => {
        withdrawn = signal
        return late.promise
      },
    })
    const id = await client.newSession()
    const prompt = client.prompt(id, 'go')
    await until(() => client.permissions.length === 1)
    const callId = client.permissions[0]!.toolCall.toolCallId
    await rig.engine.command(refOf(id), {
      do: 'respond',
      results: [],
      decisions: [{ callId, granted: false, by: 'bo', reason: 'not today' }],
    })
    assert.deepEqual(await prompt, { stopReason: 'end_turn' })
    await until(() => withdrawn?.aborted)
    late.resolve({ outcome: { outcome: 'selected', optionId: 'allow-session' } })
    await client.agent.request('session/list', {})
    assert.deepEqual(runs, [])
    assert.deepEqual((await summaryOf(rig, id)).grants, [])
  })
})
