// Tools that a vendor defines and we run: declared in the vendor's form, called and answered in its own items, and an
// ordinary function for every other vendor. The strict doubles refuse what the real APIs refuse.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { anthropic, gemini, openai, openaiChat } from '../../src/models/index.ts'
import { type RunningDouble, type ScriptedTurn, startDouble } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/index.ts'

const vendors = {
  anthropic: { provider: anthropic, path: '' },
  'openai-responses': { provider: openai, path: '/v1' },
  'openai-chat': { provider: openaiChat, path: '/v1' },
  gemini: { provider: gemini, path: '/v1beta' },
} as const
type Vendor = keyof typeof vendors

/** What the tools were run with. */
type Ran = { tool: string; input: Json }

function typedTools(ran: Ran[], shellType: 'shell' | 'local_shell' = 'shell') {
  const shell = tool({
    name: 'terminal',
    description: 'Runs commands.',
    input: {
      type: 'object',
      properties: {
        commands: { type: 'array', items: { type: 'string' } },
        timeout_ms: { type: 'integer' },
        max_output_length: { type: 'integer' },
        restart: { type: 'boolean' },
      },
      additionalProperties: false,
    },
    trust: 'trusted',
    vendorTyped: { anthropic: { type: 'bash_20250124' }, 'openai-responses': { type: shellType } },
    run(input) {
      ran.push({ tool: 'terminal', input: input as Json }) // the gate has checked it
      const { commands = [] } = input as { commands?: string[] } // as the schema says
      const results = commands.map(command => ({ stdout: `ran ${command}`, stderr: '', exit_code: 0 }))
      return { parts: [{ type: 'text', text: `ran ${commands.join('; ')}` }], structured: { results } }
    },
  })
  const patch = tool({
    name: 'patch',
    description: 'Applies a patch.',
    input: 'text',
    trust: 'trusted',
    vendorTyped: { 'openai-responses': { type: 'apply_patch' } },
    run(input) {
      ran.push({ tool: 'patch', input })
      if (input.includes('missing.txt')) throw new Error('there is no such file')
      return 'patched'
    },
  })
  const editor = tool({
    name: 'editor',
    description: 'Edits files.',
    input: {
      type: 'object',
      properties: { command: { type: 'string' }, path: { type: 'string' } },
      required: ['command', 'path'],
    },
    trust: 'trusted',
    vendorTyped: { anthropic: { type: 'text_editor_20250728', max_characters: 1000 } },
    run(input) {
      ran.push({ tool: 'editor', input: input as Json }) // the gate has checked it
      return 'seen'
    },
  })
  return [shell, patch, editor]
}

async function open(
  t: TestContext,
  scripts: Partial<Record<Vendor, ScriptedTurn[]>>,
  shellType?: 'shell' | 'local_shell',
  quirks?: string[],
) {
  const ran: Ran[] = []
  const doubles: Partial<Record<Vendor, RunningDouble>> = {}
  const models: Record<string, ReturnType<typeof anthropic>> = {}
  for (const [name, script] of Object.entries(scripts)) {
    const vendor = name as Vendor // the keys of `scripts` are vendors
    const double = await startDouble({ vendor, script })
    t.after(() => double.close())
    doubles[vendor] = double
    const { provider, path } = vendors[vendor]
    models[vendor] = provider({
      model: vendor === 'gemini' ? 'gemini-3-pro' : 'm',
      apiKey: 'k',
      baseUrl: `${double.url}${path}`,
      ...(quirks && { quirks }),
    })
  }
  const turnwire = await Turnwire.open({
    models,
    agents: [{ name: 'a', model: Object.keys(models)[0]!, tools: typedTools(ran, shellType) }],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const bodies = (vendor: Vendor): JsonObject[] => {
    const double = doubles[vendor]!
    assert.deepEqual(double.rejections(), [], `${vendor} refused a request`)
    return double.exchanges.map(({ body }) => body as JsonObject) // requests are JSON objects
  }
  return { session: await turnwire.session('a'), bodies, ran }
}

const items = (body: JsonObject | undefined, key = 'input'): JsonObject[] => body?.[key] as JsonObject[]

describe('Anthropic', () => {
  test('bash and the editor are declared by their types, and their calls are calls of our tools', async t => {
    const { session, bodies, ran } = await open(t, {
      anthropic: [
        {
          calls: [
            { name: 'bash', input: { command: 'ls -l' } },
            { name: 'str_replace_based_edit_tool', input: { command: 'view', path: 'a.txt' } },
          ],
        },
        { calls: [{ name: 'bash', input: { restart: true } }] },
        { text: 'Done.' },
      ],
    })
    const reply = await session.send('Look')
    assert.equal(reply.text, 'Done.')
    assert.deepEqual(ran, [
      { tool: 'terminal', input: { commands: ['ls -l'] } },
      { tool: 'editor', input: { command: 'view', path: 'a.txt' } },
      { tool: 'terminal', input: { restart: true } },
    ])
    const [first, second, third] = bodies('anthropic')
    assert.deepEqual(
      items(first, 'tools').map(({ type, name }) => [type ?? null, name]),
      [
        ['bash_20250124', 'bash'],
        [null, 'patch'],
        ['text_editor_20250728', 'str_replace_based_edit_tool'],
      ],
    )
    const [call, edit] = items(items(second, 'messages')[1], 'content')
    assert.deepEqual([call?.['name'], call?.['input']], ['bash', { command: 'ls -l' }])
    assert.equal(edit?.['name'], 'str_replace_based_edit_tool')
    assert.match(JSON.stringify(items(second, 'messages')[2]), /ran ls -l/)
    assert.match(JSON.stringify(items(third, 'messages')[3]), /"input":\{"restart":true\}/)
  })
})

describe('OpenAI', () => {
  test('shell: each command has its output in the vendor’s form', async t => {
    const { session, bodies, ran } = await open(t, {
      'openai-responses': [
        {
          thinking: 'I look.',
          native: [
            {
              type: 'shell_call',
              call_id: 'call_1',
              action: { commands: ['ls', 'pwd'], timeout_ms: 5000, max_output_length: 900 },
              environment: null,
              status: 'completed',
            },
          ],
        },
        { text: 'Done.' },
      ],
    })
    assert.equal((await session.send('Look')).text, 'Done.')
    assert.deepEqual(ran, [
      { tool: 'terminal', input: { commands: ['ls', 'pwd'], timeout_ms: 5000, max_output_length: 900 } },
    ])
    const [first, second] = bodies('openai-responses')
    assert.deepEqual(items(first, 'tools').slice(0, 2), [
      { environment: { type: 'local' }, type: 'shell' },
      { type: 'apply_patch' },
    ])
    assert.deepEqual(
      items(second).map(({ type }) => type),
      ['message', 'reasoning', 'shell_call', 'shell_call_output'],
    )
    const exit = { type: 'exit', exit_code: 0 }
    assert.deepEqual(items(second)[3], {
      type: 'shell_call_output',
      call_id: 'call_1',
      output: [
        { stdout: 'ran ls', stderr: '', outcome: exit },
        { stdout: 'ran pwd', stderr: '', outcome: exit },
      ],
      max_output_length: 900,
    })
  })

  test('local_shell: words become a line that means the same, and a user is refused', async t => {
    const call = (call_id: string, more: JsonObject) => ({
      type: 'local_shell_call',
      call_id,
      action: { type: 'exec', command: ['echo', "it's"], env: {}, ...more },
      status: 'completed',
    })
    const { session, bodies, ran } = await open(
      t,
      {
        'openai-responses': [
          { native: [call('call_1', { env: { A: 'b c' }, working_directory: '/w d' })] },
          { native: [call('call_2', { user: 'root' })] },
          { text: 'Done.' },
        ],
      },
      'local_shell',
    )
    assert.equal((await session.send('Look')).text, 'Done.')
    const line = `cd '/w d' && env 'A=b c' echo 'it'\\''s'`
    assert.deepEqual(ran, [{ tool: 'terminal', input: { commands: [line] } }])
    const [first, second, third] = bodies('openai-responses')
    assert.deepEqual(items(first, 'tools')[0], { type: 'local_shell' })
    assert.deepEqual(items(second)[2], {
      type: 'local_shell_call_output',
      call_id: 'call_1',
      output: JSON.stringify({ stdout: `ran ${line}`, stderr: '', exit_code: 0 }),
    })
    assert.match(JSON.stringify(items(third).at(-1)), /\[invalid\].*user/)
  })

  test('apply_patch: an operation is a patch, and its end is completed or failed', async t => {
    const call = (call_id: string, operation: JsonObject) => ({
      type: 'apply_patch_call',
      call_id,
      operation,
      status: 'completed',
    })
    const { session, bodies, ran } = await open(t, {
      'openai-responses': [
        {
          native: [
            call('call_1', { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b\n' }),
            call('call_2', { type: 'delete_file', path: 'missing.txt' }),
            call('call_3', { type: 'create_file', path: 'a\n*** Delete File: b', diff: '+x' }),
          ],
        },
        { text: 'Done.' },
      ],
    })
    assert.equal((await session.send('Change it')).text, 'Done.')
    assert.deepEqual(
      ran.map(({ input }) => input),
      [
        '*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch',
        '*** Begin Patch\n*** Delete File: missing.txt\n*** End Patch',
        '[not a patch: {"type":"create_file","path":"a\\n*** Delete File: b","diff":"+x"}]',
      ],
    )
    const outputs = items(bodies('openai-responses')[1]).filter(
      ({ type }) => type === 'apply_patch_call_output',
    )
    assert.deepEqual(outputs[0], {
      type: 'apply_patch_call_output',
      call_id: 'call_1',
      status: 'completed',
      output: 'patched',
    })
    assert.equal(outputs[1]?.['status'], 'failed')
    assert.match(JSON.stringify(outputs[1]), /no such file/)
  })

  test('a model that does not know them is offered functions, with the quirk "plain-tools"', async t => {
    const { session, bodies } = await open(t, { 'openai-responses': [{ text: 'Hi.' }] }, 'shell', [
      'plain-tools',
    ])
    await session.send('Hi')
    assert.deepEqual(
      items(bodies('openai-responses')[0], 'tools').map(({ type, name }) => [type, name]),
      [
        ['function', 'terminal'],
        ['custom', 'patch'],
        ['function', 'editor'],
      ],
    )
  })
})

test('one session goes from vendor to vendor: each sees the tool in its own form', async t => {
  const commands = { commands: ['a', 'b'] }
  const { session, bodies, ran } = await open(t, {
    'openai-responses': [
      { native: [{ type: 'shell_call', call_id: 'c1', action: commands, status: 'completed' }] },
      { text: 'One.' },
      { text: 'Five.' },
    ],
    anthropic: [{ calls: [{ name: 'bash', input: { command: 'c' } }] }, { text: 'Two.' }],
    gemini: [{ calls: [{ name: 'terminal', input: { commands: ['d'] } }] }, { text: 'Three.' }],
    'openai-chat': [{ calls: [{ name: 'terminal', input: { commands: ['e'] } }] }, { text: 'Four.' }],
  })
  await session.send('1')
  for (const vendor of ['anthropic', 'gemini', 'openai-chat', 'openai-responses'] as const) {
    await session.setModel(vendor)
    await session.send(vendor)
  }
  assert.deepEqual(
    ran.map(({ input }) => (input as { commands: string[] }).commands), // as the schema says
    [['a', 'b'], ['c'], ['d'], ['e']],
  )
  const [asked] = bodies('anthropic')
  assert.match(JSON.stringify(asked?.['messages']), /"name":"bash","input":\{"command":"a\\nb"\}/)
  bodies('gemini')
  bodies('openai-chat')
  const last = items(bodies('openai-responses').at(-1))
  assert.deepEqual(
    last.flatMap(({ type }) => (type === 'message' ? [] : [type])),
    [
      'shell_call',
      'shell_call_output',
      ...['c', 'd', 'e'].flatMap(() => ['function_call', 'function_call_output']),
    ],
  )
})
