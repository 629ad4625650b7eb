// Requests of Codex 0.166, recorded while it worked on a task with this server, and sent again in front of the strict double
// of every vendor. Long texts in them are shortened. What the model said in the recording is replaced by what it says now,
// as Codex would send it back.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../../src/models/index.ts'
import type { ScriptedTurn, VendorName } from '../../../src/testing/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { double, serve } from '../stateless/rig.ts'
import { type Body, eventsOf, type Item, ok, refused, rig, textOf, weather } from './rig.ts'

type Recorded = JsonObject & { input: Item[]; tools?: JsonObject[] | 'same' }

const recorded = JSON.parse(
  readFileSync(new URL('./fixtures/codex-requests.json', import.meta.url), 'utf8'),
) as Record<string, Recorded[]>

function run(name: string): Recorded[] {
  const requests = recorded[name]
  assert.ok(requests)
  // The tools of a run are recorded once.
  return requests.map(each => (each.tools === 'same' ? { ...each, tools: requests[0]!.tools! } : each))
}

type Vendor = { name: VendorName; model: (url: string) => Model; hasTextTools: boolean }

const vendors: Vendor[] = [
  {
    name: 'anthropic',
    model: baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl }),
    hasTextTools: false,
  },
  {
    name: 'gemini',
    model: url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
    hasTextTools: false,
  },
  {
    name: 'gemini-interactions',
    model: url => geminiInteractions({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
    hasTextTools: false,
  },
  {
    name: 'openai-chat',
    model: url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    hasTextTools: true,
  },
  {
    name: 'openai-responses',
    model: url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    hasTextTools: true,
  },
]

// ---- the client ------------------------------------------------------------------------------------------------

/** Items that the model made. */
const made = new Set(['reasoning', 'function_call', 'custom_tool_call', 'compaction'])
const isMade = (item: Item): boolean =>
  made.has(item.type) || (item.type === 'message' && item['role'] === 'assistant')

/** The input with the model's items of now in place of the recorded ones, and outputs that answer them. */
function current(input: readonly Item[], answers: readonly Body[]): Item[] {
  const ids = new Map<string, string>()
  const items: Item[] = []
  let answered = 0
  for (const [index, item] of input.entries()) {
    if (!isMade(item)) {
      items.push('call_id' in item ? { ...item, call_id: ids.get(item.call_id) ?? '?' } : item)
      continue
    }
    if (index > 0 && isMade(input[index - 1]!)) continue
    const rest = input.slice(index)
    const end = rest.findIndex(each => !isMade(each))
    const before = (end < 0 ? rest : rest.slice(0, end)).filter(each => 'call_id' in each)
    // A summary takes the place of all answers before it.
    const answer = item.type === 'compaction' ? answers.at(-1) : answers[answered++]
    const now = answer?.output ?? []
    for (const [at, call] of now.filter(each => 'call_id' in each).entries())
      ids.set(before[at]?.call_id ?? '', call.call_id)
    items.push(...now)
  }
  return items
}

async function replay(
  t: TestContext,
  { name, model }: Vendor,
  requests: readonly Recorded[],
  script: ScriptedTurn[],
): Promise<Body[]> {
  const vendor = await double(t, name, script)
  const behind = model(vendor.url)
  const { post } = await serve(t, { helper: behind }, { config: { models: { '*': behind } } })
  const answers: Body[] = []
  for (const request of requests) {
    const response = await post('/v1/responses', { ...request, input: current(request.input, answers) })
    assert.equal(response.status, 200, response.status === 200 ? '' : await response.text())
    const last = (await eventsOf(response)).at(-1)
    assert.equal(last?.type, 'response.completed', JSON.stringify(last))
    answers.push(last.response)
  }
  return answers
}

// ---- what it does ----------------------------------------------------------------------------------------------

const patch = '*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n'

for (const vendor of vendors) {
  const lookTwice: ScriptedTurn = {
    text: 'Looking.',
    calls: [
      { name: 'exec_command', input: { cmd: 'echo one' } },
      { name: 'exec_command', input: { cmd: 'echo two' } },
    ],
  }
  const patching: ScriptedTurn = {
    calls: [
      vendor.hasTextTools
        ? { name: 'apply_patch', text: patch, custom: true }
        : { name: 'apply_patch', input: { input: patch } },
    ],
  }

  test(
    cites('RESP-CODX-01', `${vendor.name}: a task with parallel calls and a patch, and its resumption`),
    async t => {
      const script = [lookTwice, patching, { text: 'It is made.' }, { text: 'Yes.' }]
      const [looked, patched, done, resumed] = await replay(t, vendor, run('task'), script)
      assert.deepEqual(
        looked?.output.flatMap(item => (item.type === 'function_call' ? [JSON.parse(item.arguments)] : [])),
        [{ cmd: 'echo one' }, { cmd: 'echo two' }],
      )
      const call = patched?.output.find(item => item.type === 'custom_tool_call')
      assert.deepEqual([call?.name, call?.['input']], ['apply_patch', patch])
      assert.equal(textOf(done!), 'It is made.')
      assert.equal(textOf(resumed!), 'Yes.')
    },
  )

  test(cites('RESP-CODX-02', `${vendor.name}: a summary that a message asks for`), async t => {
    const script = [lookTwice, { text: 'In short.' }, { text: 'On from there.' }]
    const [, summary, last] = await replay(t, vendor, run('summary asked for in a message'), script)
    assert.equal(textOf(summary!), 'In short.')
    assert.equal(textOf(last!), 'On from there.')
  })

  test(cites('RESP-CODX-02', `${vendor.name}: a summary that a trigger asks for`), async t => {
    const heard: unknown[] = []
    const script = [
      lookTwice,
      { text: 'In short.' },
      { text: 'On from there.', expect: (body: unknown) => void heard.push(body) },
    ]
    const [, summary, last] = await replay(t, vendor, run('summary asked for by a trigger'), script)
    assert.deepEqual(
      summary?.output.map(({ type }) => type),
      ['compaction'],
    )
    assert.ok(!JSON.stringify(summary).includes('In short.'), 'it is sealed')
    assert.match(JSON.stringify(heard), /In short\./)
    assert.equal(textOf(last!), 'On from there.')
  })

  test(
    cites('RESP-CODX-03', `${vendor.name}: a tool of a namespace is called by both of its names`),
    async t => {
      const script = [{ calls: [{ name: 'multi_agent_v1__close_agent', input: { target: 'a' } }] }]
      const [answer] = await replay(t, vendor, run('a model name that it does not know'), script)
      const call = answer?.output.find(item => item.type === 'function_call')
      assert.deepEqual([call?.['namespace'], call?.name], ['multi_agent_v1', 'close_agent'])
      const tools = answer?.['tools'] as JsonObject[]
      assert.ok(tools.some(({ type, name }) => type === 'namespace' && name === 'multi_agent_v1'))
      assert.ok(!tools.some(({ type }) => type === 'web_search'), 'what is not applied is not repeated')
    },
  )

  test(cites('RESP-CODX-03', `${vendor.name}: tools come in the input too`), async t => {
    const script = [
      {
        calls: [
          vendor.hasTextTools
            ? { name: 'functions__exec', text: 'text("hi")', custom: true }
            : { name: 'functions__exec', input: { input: 'text("hi")' } },
        ],
      },
    ]
    const [answer] = await replay(t, vendor, run('tools in the input'), script)
    const call = answer?.output.find(item => item.type === 'custom_tool_call')
    assert.deepEqual([call?.['namespace'], call?.name, call?.['input']], ['functions', 'exec', 'text("hi")'])
  })
}

// ---- single items ----------------------------------------------------------------------------------------------

const search = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds tools.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
}
const found = {
  type: 'namespace',
  name: 'mcp__files__',
  description: 'Files.',
  tools: [{ type: 'function', name: 'read', description: 'Reads.', parameters: weather.parameters }],
}

for (const store of [true, false])
  test(cites('RESP-CODX-03', `a client searches for tools and calls one, store: ${store}`), async t => {
    const at = await rig(t, {
      script: [
        { calls: [{ name: 'tool_search', input: { query: 'files' } }] },
        {
          calls: [{ name: 'mcp__files__read', input: { city: 'x' } }],
          expect: {
            tools: ['tool_search', 'mcp__files__read'],
            results: [{ text: /mcp__files__read: Reads\./ }],
          },
        },
      ],
    })
    const input = [{ role: 'user', content: 'Find it.' }]
    const first = await ok(at.post({ model: 'helper', input, tools: [search], store }))
    const [asked] = first.output
    assert.deepEqual(
      [asked?.type, asked?.['execution'], asked?.arguments],
      ['tool_search_call', 'client', { query: 'files' }],
    )
    const output = {
      type: 'tool_search_output',
      call_id: asked!.call_id,
      execution: 'client',
      tools: [found],
    }
    const more = [...input, ...first.output, output]
    const second = await ok(at.post({ model: 'helper', input: more, tools: [search], store }))
    const call = second.output.find(item => item.type === 'function_call')
    assert.deepEqual([call?.['namespace'], call?.name], ['mcp__files__', 'read'])
  })

test(cites('RESP-CODX-03', 'a message of another agent names who wrote it, and to whom'), async t => {
  const heard: unknown[] = []
  const at = await rig(t, {
    script: [{ text: 'Read.', expect: ({ history }) => void heard.push(history) }],
  })
  const message = {
    type: 'agent_message',
    author: '/root/a',
    recipient: '/root',
    content: [
      { type: 'input_text', text: 'Done.' },
      { type: 'encrypted_content', encrypted_content: 'x' },
    ],
    internal_chat_message_metadata_passthrough: { turn_id: 'x' },
  }
  await ok(at.post({ model: 'helper', input: [message], client_metadata: { a: 'b' } }))
  assert.match(JSON.stringify(heard), /Message from \/root\/a to \/root:.*Done\./)
})

test(cites('RESP-CODX-02', 'a summary that was not made here for this caller is refused'), async t => {
  const at = await rig(t, { script: [{ text: 'In short.' }, { text: 'x' }] })
  const trigger = [{ role: 'user', content: 'Hi.' }, { type: 'compaction_trigger' }]
  const { output } = await ok(at.post({ model: 'helper', input: trigger }))
  const others = await refused(at.post({ model: 'helper', input: output }, { 'x-owner': 'mallory' }))
  assert.deepEqual([others.status, others.code], [400, 'invalid_encrypted_content'])
  const foreign = [{ type: 'compaction', encrypted_content: 'gAAAA' }]
  assert.equal(
    (await refused(at.post({ model: 'helper', input: foreign }))).code,
    'invalid_encrypted_content',
  )
  const unknown = await refused(at.post({ model: 'helper', input: 'x', client_metadataa: {} }))
  assert.equal(unknown.code, 'unknown_parameter')
})
