// Options, modes, models, and slash commands.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AgentOption } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { codeOf, cwd, entriesOf, makeAcp, only, summaryOf, textOf, until } from './rig.ts'

const options: AgentOption[] = [
  { name: 'mode', type: 'select', title: 'Mode', default: 'ask', options: ['ask', 'code'] },
  { name: 'tone', type: 'text', default: 'friendly', description: 'How it sounds.' },
  { name: 'effort', type: 'select', default: 'low', options: ['low', 'high'] },
  { name: 'token', type: 'secret', default: '' },
]

describe('options', () => {
  test(cites('ACP-CONF-01', 'ACP-CONF-04', 'are told with the session, secrets left out'), async context => {
    const client = await makeAcp(context, { agent: { options } }).connect()
    const { configOptions, modes } = await client.agent.request('session/new', { cwd, mcpServers: [] })
    assert.deepEqual(configOptions, [
      {
        type: 'select',
        id: 'mode',
        name: 'Mode',
        category: 'mode',
        currentValue: 'ask',
        options: [
          { value: 'ask', name: 'ask' },
          { value: 'code', name: 'code' },
        ],
      },
      {
        type: 'select',
        id: 'tone',
        name: 'tone',
        description: 'How it sounds.',
        currentValue: 'friendly',
        options: [{ value: 'friendly', name: 'friendly' }],
      },
      {
        type: 'select',
        id: 'effort',
        name: 'effort',
        category: 'thought_level',
        currentValue: 'low',
        options: [
          { value: 'low', name: 'low' },
          { value: 'high', name: 'high' },
        ],
      },
    ])
    assert.deepEqual(modes, {
      currentModeId: 'ask',
      availableModes: [
        { id: 'ask', name: 'ask' },
        { id: 'code', name: 'code' },
      ],
    })
  })

  test(cites('ACP-CONF-02', 'are set, told whole, and hold'), async context => {
    const seen: string[] = []
    const model = scripted(request => {
      seen.push(`${request.options['tone']} ${request.options['effort']}`)
      return { text: 'ok' }
    })
    const client = await makeAcp(context, { agent: { options }, model }).connect()
    const sessionId = await client.newSession()
    const { configOptions } = await client.agent.request('session/set_config_option', {
      sessionId,
      configId: 'tone',
      value: 'dry',
    })
    assert.deepEqual(
      configOptions.map(option => option.currentValue),
      ['ask', 'dry', 'low'],
    )
    await client.prompt(sessionId, 'go')
    await client.prompt(sessionId, '/option effort high')
    await client.prompt(sessionId, 'go')
    assert.deepEqual(seen, ['dry low', 'dry high'])
    assert.equal(only(client.updates, 'config_option_update').length, 2)
    const again = await client.agent.request('session/load', { sessionId, cwd, mcpServers: [] })
    assert.deepEqual(
      again.configOptions?.map(option => option.currentValue),
      ['ask', 'dry', 'high'],
    )
  })

  test(cites('ACP-CONF-03', 'that do not exist are refused'), async context => {
    const rig = makeAcp(context, { agent: { options } })
    const client = await rig.connect()
    const sessionId = await client.newSession()
    for (const [configId, value] of [
      ['nothing', 'x'],
      ['mode', 'x'],
      ['token', 'x'],
      ['model', 'x'],
      ['__proto__', 'x'],
    ] as const)
      assert.equal(
        await codeOf(client.agent.request('session/set_config_option', { sessionId, configId, value })),
        -32602,
      )
    assert.equal(
      await codeOf(
        client.agent.request('session/set_config_option', {
          sessionId,
          configId: 'tone',
          type: 'boolean',
          value: true,
        }),
      ),
      -32602,
    )
    assert.equal(await codeOf(client.agent.request('session/set_mode', { sessionId, modeId: 'x' })), -32602)
    assert.deepEqual((await summaryOf(rig, sessionId)).settings.options, {})
  })

  test(cites('ACP-CONF-04', 'and modes are kept in step'), async context => {
    const rig = makeAcp(context, { agent: { options } })
    const client = await rig.connect()
    const sessionId = await client.newSession()
    await client.agent.request('session/set_mode', { sessionId, modeId: 'code' })
    assert.equal(only(client.updates, 'config_option_update').at(-1)?.configOptions[0]?.currentValue, 'code')
    await client.agent.request('session/set_config_option', { sessionId, configId: 'mode', value: 'ask' })
    assert.equal(only(client.updates, 'current_mode_update').at(-1)?.currentModeId, 'ask')
    const plain = await makeAcp(context).connect()
    assert.equal(
      await codeOf(
        plain.agent.request('session/set_mode', { sessionId: await plain.newSession(), modeId: 'x' }),
      ),
      -32602,
    )
  })

  test(cites('ACP-CONF-05', 'choose among named models'), async context => {
    const models = { small: scripted([{ text: 'small' }]), large: scripted([{ text: 'large' }]) }
    const rig = makeAcp(
      context,
      { agent: { model: settings => (settings.model === 'large' ? models.large : models.small) } },
      { models: { own: 'small', names: ['small', 'large'] } },
    )
    const client = await rig.connect()
    const { sessionId, configOptions } = await client.agent.request('session/new', { cwd, mcpServers: [] })
    assert.deepEqual(
      configOptions?.map(({ id, category, currentValue }) => [id, category, currentValue]),
      [['model', 'model', 'small']],
    )
    await client.agent.request('session/set_config_option', { sessionId, configId: 'model', value: 'large' })
    await client.prompt(sessionId, 'go')
    assert.equal(textOf(client.updates), 'large')
  })
})

describe('slash commands', () => {
  test(cites('ACP-COMM-01', 'are listed, and answered without the model'), async context => {
    const rig = makeAcp(context, { agent: { options } })
    const client = await rig.connect()
    const id = await client.newSession()
    await until(() => only(client.updates, 'available_commands_update').length === 1)
    const names = only(client.updates, 'available_commands_update')[0]?.availableCommands.map(
      ({ name }) => name,
    )
    assert.deepEqual(names, ['help', 'tools', 'resources', 'options', 'option', 'grants', 'forget', 'status'])
    for (const name of names!)
      assert.deepEqual(await client.prompt(id, `/${name}`), { stopReason: 'end_turn' })
    assert.match(textOf(client.updates), /`\/help`.*\n[\s\S]*`update_plan`[\s\S]*`token` \(secret\)/)
    assert.deepEqual(await entriesOf(rig, id), [])
  })

  test(cites('ACP-COMM-01', 'that are refused say why'), async context => {
    const client = await makeAcp(context, { agent: { options } }).connect()
    const id = await client.newSession()
    await client.prompt(id, '/option nothing x')
    assert.match(textOf(client.updates), /no option "nothing"/)
  })

  test(cites('ACP-COMM-02', 'that are none go to the model'), async context => {
    const rig = makeAcp(context, { script: [{ text: 'from the model' }] })
    const client = await rig.connect()
    const id = await client.newSession()
    await client.prompt(id, '/etc/hosts is a file')
    assert.equal(textOf(client.updates), 'from the model')
  })

  test(cites('ACP-COMM-03', 'show and forget what is remembered'), async context => {
    const mail = tool({ name: 'mail', description: 'Sends.', input: { type: 'object' }, run: () => 'sent' })
    const script = (request: { history: readonly { role: string }[] }) =>
      request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'mail' }] } : { text: 'done' }
    const client = await makeAcp(context, { tools: [mail], script }).connect({ permission: 'allow-session' })
    const id = await client.newSession()
    await client.prompt(id, 'one')
    await client.prompt(id, '/grants')
    assert.match(textOf(client.updates), /`mail` allowed by local/)
    await client.prompt(id, '/forget mail')
    await client.prompt(id, 'two')
    assert.equal(client.permissions.length, 2)
  })
})
