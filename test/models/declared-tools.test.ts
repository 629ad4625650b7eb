// What an operator declares is either done as declared, or said to be otherwise: hosted tools that nobody would run, strict
// tools, more tools than a vendor takes, and the vendor's id of each request.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Model } from '../../src/engine/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import {
  anthropic,
  compatible,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
} from '../../src/models/index.ts'
import { startDouble } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, say } from '../engine/rig.ts'

type Provider = (options: { model: string; apiKey: string; baseUrl?: string; hosted?: JsonObject[] }) => Model

describe('tools that a vendor only defines are refused as hosted, with what to do', () => {
  const cases: [provider: Provider, tools: JsonObject[]][] = [
    [
      anthropic,
      [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
        { type: 'memory_20250818', name: 'memory' },
        { type: 'computer_20251124', name: 'computer' },
        { type: 'computer_toolset_20260801' },
        { type: 'browser_toolset_20260801' },
        { name: 'mine', input_schema: { type: 'object' } },
      ],
    ],
    [
      openai,
      [
        { type: 'computer' },
        { type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'browser' },
        { type: 'local_shell' },
        { type: 'shell' },
        { type: 'shell', environment: { type: 'local' } },
        { type: 'apply_patch' },
        { type: 'tool_search', execution: 'client' },
        { type: 'function', name: 'mine' },
      ],
    ],
    [openaiChat, [{ type: 'function', function: { name: 'mine' } }]],
    [
      gemini,
      [{ computerUse: { environment: 'ENVIRONMENT_BROWSER' } }, { functionDeclarations: [{ name: 'mine' }] }],
    ],
    [geminiInteractions, [{ type: 'computer_use' }, { type: 'function', name: 'mine' }]],
  ]
  for (const [provider, tools] of cases)
    for (const hosted of tools)
      test(JSON.stringify(hosted), () => {
        assert.throws(() => provider({ model: 'm', apiKey: 'k', hosted: [hosted] }), {
          code: 'config_invalid',
          message: /hosted\[0\] of .*tool\(\{ name, input, run \}\)/,
        })
      })

  test('those that the vendor runs are not', () => {
    anthropic({
      model: 'm',
      hosted: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: '*', defer_loading: true },
      ],
    })
    openai({
      model: 'm',
      hosted: [{ type: 'web_search' }, { type: 'shell', environment: { type: 'container_auto' } }],
    })
    gemini({ model: 'm', hosted: [{ googleSearch: {} }] })
  })
})

test('what a vendor asks of its caller is never recorded as done', async t => {
  const double = await startDouble({
    vendor: 'openai-responses',
    script: [
      {
        text: 'I ran it.',
        native: [
          {
            type: 'shell_call',
            id: 'sh_1',
            call_id: 'sh_1',
            action: { commands: ['ls'] },
            status: 'completed',
          },
        ],
      },
    ],
  })
  t.after(() => double.close())
  const model = openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${double.url}/v1` })
  const answer = await model.respond(
    {
      session: 's',
      history: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }],
      tools: [],
      choice: 'auto',
      parallel: true,
      options: {},
    },
    () => {},
    new AbortController().signal,
  )
  const hosted = answer.parts.find(part => part.type === 'hosted')
  assert.equal(hosted?.type === 'hosted' && hosted.summary, 'not run: the vendor only defines this tool')
  assert.match(answer.warnings?.join() ?? '', /asked for "shell".*Nobody did/)
})

const plain = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    tool({ name: `t${index}`, description: 'x', input: { type: 'object' }, run: () => 'x' }),
  )

test('more tools than a vendor takes, and strict tools that cannot be, are said when a process starts', async t => {
  const lines: string[] = []
  const log = (level: string, message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const loose = tool({
    name: 'loose',
    description: 'x',
    input: { type: 'object', additionalProperties: { type: 'string' } },
    strict: true,
    run: () => 'x',
  })
  const turnwire = await Turnwire.open(
    {
      agents: [
        { name: 'many', model: openaiChat({ model: 'gpt-5', apiKey: 'k' }), tools: plain(300) },
        { name: 'strict', model: anthropic({ model: 'claude-opus-4-6', apiKey: 'k' }), tools: [loose] },
        { name: 'fine', model: openaiChat({ model: 'gpt-5', apiKey: 'k' }), tools: plain(128) },
      ],
      data: 'memory',
    },
    { log },
  )
  t.after(() => turnwire.close())
  assert.equal(lines.length, 2)
  assert.match(
    lines[0]!,
    /^error An agent has more tools than its model takes.*"agent":"many".*"tools":300,"taken":128/,
  )
  assert.match(
    lines[1]!,
    /^warn A tool cannot be declared as it asks\..*"agent":"strict".*\\"loose\\" is not offered as strict/,
  )
})

test('a strict tool is strict with the vendors that have strict tools', async () => {
  const strict = tool({
    name: 'look',
    description: 'x',
    input: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
    run: () => 'x',
  })
  const { preparedFor } = await import('../../src/models/index.ts')
  const request = {
    session: 's',
    history: [],
    tools: [strict],
    choice: 'auto',
    parallel: true,
    options: {},
  } as const
  for (const provider of [anthropic, openai, openaiChat] as Provider[]) {
    const prepared = preparedFor(provider({ model: 'm', apiKey: 'k' }), request)
    assert.match(prepared!.body, /"strict":true/)
    assert.deepEqual(prepared!.warnings, [])
  }
  const without = preparedFor(compatible({ name: 'c', model: 'm', url: 'http://127.0.0.1:9/v1' }), request)
  assert.match(without!.warnings.join(), /not offered as strict/)
})

test('the vendor’s id of a request is in the log of the session, and in the words of a failure', async t => {
  for (const vendor of ['anthropic', 'openai-chat', 'openai-responses'] as const) {
    const double = await startDouble({
      vendor,
      script: [{ text: 'Hello.' }, { fault: { kind: 'server-error', status: 501 } }],
    })
    t.after(() => double.close())
    const provider = { anthropic, 'openai-chat': openaiChat, 'openai-responses': openai }[vendor]
    const baseUrl = vendor === 'anthropic' ? double.url : `${double.url}/v1`
    const rig = makeRig({ model: provider({ model: 'm', apiKey: 'k', baseUrl, limits: { retries: 0 } }) })
    const session = await begin(rig)
    await say(session, 'Hi')
    const answered = (await eventsOf(rig, session)).find(event => event.type === 'model.answered')
    assert.match(answered?.type === 'model.answered' ? (answered.requestId ?? '') : '', /^req_/, vendor)
    await say(session, 'Again')
    assert.match(rig.logs.join('\n'), /The model step failed\..*req_/, vendor)
  }
})
