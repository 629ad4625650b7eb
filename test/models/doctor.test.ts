// One broken history for each common rule of each vendor: the doctor names the rule, reports its changes, and the
// vendor's double accepts the result. A valid history stays unchanged.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json, JsonObject } from '../../src/lib/json.ts'
import { reasons } from '../../src/models/doctor/index.ts'
import { checkHistory, type DoctorVendor, repairHistory } from '../../src/testing/doctor.ts'

type Case = {
  rule: string
  name: string
  body: Json
  /** Patterns of the reported changes, in order. */
  does: RegExp[]
  /** Texts that the JSON of the result contains, or with `!` before them does not. */
  holds?: string[]
}

// ---- Anthropic ---------------------------------------------------------------------------------------------

const claude = (messages: Json[], more: JsonObject = {}): JsonObject => ({
  model: 'claude-sonnet-4-6',
  max_tokens: 100,
  tools: [{ name: 'read', input_schema: { type: 'object', properties: {} } }],
  messages,
  ...more,
})
const use = (id = 'toolu_1', more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'read',
  input: {},
  ...more,
})
const result = (id = 'toolu_1', more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'ok',
  ...more,
})
const user = (...content: Json[]): JsonObject => ({
  role: 'user',
  content: content.length === 1 && typeof content[0] === 'string' ? content[0] : content,
})
const assistant = (...content: Json[]): JsonObject => ({ role: 'assistant', content })
const text = (words: string): JsonObject => ({ type: 'text', text: words })

const anthropic: Case[] = [
  {
    rule: 'A-01',
    name: 'a call without a result',
    body: claude([user('hi'), assistant(use()), user('and?')]),
    does: [/Added the missing result of call "toolu_1" \(read\)/],
    holds: ['"is_error":true', '"and?"'],
  },
  {
    rule: 'A-01',
    name: 'a call at the very end',
    body: [user('hi'), assistant(use())],
    does: [/Added the missing result/, /Declared the tools/],
  },
  {
    rule: 'A-01',
    name: 'one of two results is missing',
    body: claude([user('hi'), assistant(use(), use('toolu_2')), user(result('toolu_2'))]),
    does: [/Added the missing result of call "toolu_1"/],
  },
  {
    rule: 'A-02',
    name: 'an orphan result',
    body: claude([user(result('toolu_9'), text('hi'))]),
    does: [/Dropped the result of "toolu_9": no call/],
    holds: ['!toolu_9'],
  },
  {
    rule: 'A-03',
    name: 'text before the results',
    body: claude([user('hi'), assistant(use()), user(text('so'), result())]),
    does: [/Moved the result of call "toolu_1"/],
  },
  {
    rule: 'A-04',
    name: 'two results of one call',
    body: claude([user('hi'), assistant(use()), user(result(), result())]),
    does: [/Dropped the second result/],
  },
  {
    rule: 'A-05',
    name: 'an id that occurs twice',
    body: claude([user('hi'), assistant(use()), user(result()), assistant(use()), user(result())]),
    does: [/Renamed the second call "toolu_1"/],
  },
  {
    rule: 'A-06',
    name: 'an id of another vendor',
    body: claude([user('hi'), assistant(use('call:1/x')), user(result('call:1/x'))]),
    does: [/Renamed the call id "call:1\/x" to toolu_/],
    holds: ['!call:1/x'],
  },
  {
    rule: 'A-07',
    name: 'a dotted tool',
    body: claude([user('hi'), assistant(use('toolu_1', { name: 'fs.read' })), user(result())], {
      tools: [{ name: 'fs.read', input_schema: { type: 'object' } }],
    }),
    does: [/Renamed the tool "fs.read" to fs_read_/],
    holds: ['!fs.read'],
  },
  {
    rule: 'A-08',
    name: 'a tool declared twice',
    body: claude([user('hi')], {
      tools: [
        { name: 'a', input_schema: { type: 'object' } },
        { name: 'a', input_schema: { type: 'object' } },
      ],
    }),
    does: [/Dropped the second tool named "a"/],
  },
  {
    rule: 'A-09',
    name: 'arguments that are text',
    body: claude([user('hi'), assistant(use('toolu_1', { input: '{"p":1}' })), user(result())]),
    does: [/Made the input of call "toolu_1" an object/],
    holds: ['"input":{"p":1}'],
  },
  {
    rule: 'A-10',
    name: 'a result in a message of the assistant',
    body: claude([user('hi'), assistant(use(), result())]),
    does: [],
    holds: ['{"role":"user","content":[{"type":"tool_result"'],
  },
  {
    rule: 'A-12',
    name: 'empty text',
    body: claude([user(text(''), text('hi')), assistant(text(' ')), user('x')]),
    does: [/Dropped empty text from message 0/, /Dropped empty text from message 1/],
  },
  {
    rule: 'A-12',
    name: 'a failed result without text',
    body: claude([user('hi'), assistant(use()), user(result('toolu_1', { is_error: true, content: '' }))]),
    does: [/Put text into the empty result/],
  },
  {
    rule: 'A-13',
    name: 'calls without tools',
    body: { model: 'm', max_tokens: 9, messages: [user('hi'), assistant(use()), user(result())] },
    does: [/Declared the tools/],
    holds: ['"tool_choice":{"type":"none"}'],
  },
  {
    rule: 'A-14',
    name: 'a schema with oneOf at its root',
    body: claude([user('hi')], {
      tools: [{ name: 'a', input_schema: { type: 'object', oneOf: [{ required: ['x'] }] } }],
    }),
    does: [/Rewrote the schema of "a"/],
  },
  {
    rule: 'A-16',
    name: 'a tool choice of another vendor',
    body: claude([user('hi')], { tool_choice: 'required' }),
    does: [/Wrote the tool choice/],
    holds: ['"tool_choice":{"type":"any"}'],
  },
  {
    rule: 'A-17',
    name: 'a forced tool while thinking is on',
    body: claude([user('hi')], {
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tool_choice: { type: 'any' },
    }),
    does: [/cannot be forced while the model thinks/],
  },
  {
    rule: 'A-18',
    name: 'an assistant message at the end',
    body: claude([user('hi'), assistant(text('yes'))]),
    does: [/Added a user message at the end/],
  },
  {
    rule: 'A-19',
    name: 'thinking without a valid signature',
    body: claude([
      user('hi'),
      assistant({ type: 'thinking', thinking: 'x', signature: '' }, text('y')),
      user('z'),
    ]),
    does: [/Dropped a thinking block from message 1/],
    holds: ['!thinking'],
  },
  {
    rule: 'A-20',
    name: 'a system message',
    body: claude([{ role: 'system', content: 'Be brief.' }, user('hi')]),
    does: [/Moved the system message/],
    holds: ['"system":[{"type":"text","text":"Be brief."}]'],
  },
  {
    rule: 'A-21',
    name: 'two user messages in a row',
    body: claude([user('a'), user('b')]),
    does: [/Joined two user messages/],
  },
  {
    rule: 'A-21',
    name: 'an assistant message at the start',
    body: claude([assistant(text('a')), user('b')]),
    does: [/Put a user message before/],
  },
  {
    rule: 'A-22',
    name: 'a search without its result',
    body: claude(
      [
        user('a'),
        assistant(text('x'), { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
        user('b'),
      ],
      { tools: [{ type: 'web_search_20260318', name: 'web_search' }] },
    ),
    does: [/Dropped one half of a server tool/],
    holds: ['!srvtoolu_1'],
  },
  {
    rule: 'A-26',
    name: 'half of a surrogate pair',
    body: claude([user('cut \ud83d')]),
    does: [/Replaced half of a surrogate pair in 1 text/],
  },
  {
    rule: 'A-27',
    name: 'sampling settings that the model does not take',
    body: claude([user('hi')], { model: 'claude-opus-5', temperature: 0 }),
    does: [/Dropped `temperature`/],
  },
  {
    rule: 'A-28',
    name: 'an unknown field',
    body: claude([user({ type: 'text', text: 'hi', id: 'x' })]),
    does: [/Dropped `messages.0.content.0.text.id`/],
  },
]

// ---- OpenAI ------------------------------------------------------------------------------------------------

const chat = (messages: Json[], more: JsonObject = {}): JsonObject => ({
  model: 'gpt-5.2',
  messages,
  ...more,
})
const chatCall = (id = 'call_1', name = 'read', args: Json = '{}'): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const asked = (...tool_calls: JsonObject[]): JsonObject => ({ role: 'assistant', content: null, tool_calls })
const toolMessage = (id = 'call_1', content: Json = 'ok'): JsonObject => ({
  role: 'tool',
  tool_call_id: id,
  content,
})
const hi: JsonObject = { role: 'user', content: 'hi' }
const declared = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} }, ...more },
})

const openaiChat: Case[] = [
  {
    rule: 'C-01',
    name: 'a call without a tool message',
    body: [hi, asked(chatCall(), chatCall('call_2')), toolMessage('call_2'), hi],
    does: [/Added the missing result of call "call_1"/],
  },
  {
    rule: 'C-01',
    name: 'a user message between a call and its result',
    body: [hi, asked(chatCall()), hi, toolMessage()],
    does: [/Moved the result of call "call_1"/],
  },
  {
    rule: 'C-02',
    name: 'an orphan tool message',
    body: [hi, toolMessage('call_9')],
    does: [/Dropped the result of "call_9"/],
  },
  {
    rule: 'C-02',
    name: 'a result given twice',
    body: [hi, asked(chatCall()), toolMessage(), toolMessage()],
    does: [/Dropped the second result/],
  },
  {
    rule: 'C-03',
    name: 'an id of 50 characters',
    body: [hi, asked(chatCall('x'.repeat(50))), toolMessage('x'.repeat(50))],
    does: [/Renamed the call id "x+" to call_/],
  },
  {
    rule: 'C-04',
    name: 'a dotted tool',
    body: chat([hi, asked(chatCall('call_1', 'fs.read')), toolMessage()], { tools: [declared('fs.read')] }),
    does: [/Renamed the tool "fs.read"/],
    holds: ['!fs.read'],
  },
  {
    rule: 'C-05',
    name: 'too many tools',
    body: chat([hi], { tools: Array.from({ length: 130 }, (_, at) => declared(`t${at}`)) }),
    does: [/Dropped 2 tools/],
  },
  {
    rule: 'C-06',
    name: 'empty lists',
    body: chat([hi, { role: 'assistant', content: 'x', tool_calls: [] }], { tools: [] }),
    does: [/Dropped an empty `tools`/, /Dropped an empty `tool_calls`/],
  },
  {
    rule: 'C-07',
    name: 'a choice without tools',
    body: chat([hi], { tool_choice: 'auto' }),
    does: [/Dropped `tool_choice`/],
  },
  {
    rule: 'C-08',
    name: 'arguments that are an object',
    body: [hi, asked(chatCall('call_1', 'read', { p: 1 })), toolMessage()],
    does: [/Made the arguments of call "call_1" a text/],
    holds: ['"arguments":"{\\"p\\":1}"'],
  },
  {
    rule: 'C-08',
    name: 'an image in a tool message',
    body: [
      hi,
      asked(chatCall()),
      toolMessage('call_1', [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }]),
    ],
    does: [/plain text/],
  },
  {
    rule: 'C-09',
    name: 'a strict tool whose schema is not strict',
    body: chat([hi], {
      tools: [
        declared('a', {
          strict: true,
          parameters: { type: 'object', properties: { p: { type: 'string' } } },
        }),
      ],
    }),
    does: [/Turned off strict mode of "a"/],
  },
  {
    rule: 'C-10',
    name: 'a choice of another vendor',
    body: chat([hi], { tools: [declared('a')], tool_choice: { type: 'any' } }),
    does: [/Wrote the tool choice/],
  },
  {
    rule: 'C-00',
    name: 'a field of another vendor',
    body: chat([hi], { system: 'x' }),
    does: [/Dropped `system`/],
  },
]

const responses = (input: Json[], more: JsonObject = {}): JsonObject => ({ model: 'gpt-5.2', input, ...more })
const said: JsonObject = { type: 'message', role: 'user', content: 'hi' }
const call = (id = 'call_1', more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: '{}',
  ...more,
})
const output = (id = 'call_1', more: JsonObject = {}): JsonObject => ({
  type: 'function_call_output',
  call_id: id,
  output: 'ok',
  ...more,
})

const openaiResponses: Case[] = [
  {
    rule: 'R-01',
    name: 'parallel calls of which one has no output',
    body: [said, call(), call('call_2'), output('call_2'), said],
    does: [/Added the missing result of call "call_1"/],
  },
  {
    rule: 'R-01',
    name: 'a text call without an output',
    body: [said, { type: 'custom_tool_call', call_id: 'c', name: 'p', input: 'x' }],
    does: [/Added the missing result/],
    holds: ['custom_tool_call_output'],
  },
  {
    rule: 'R-02',
    name: 'an orphan output',
    body: [said, output('call_9')],
    does: [/Dropped the result of "call_9"/],
  },
  {
    rule: 'R-02',
    name: 'an output before its call',
    body: [said, output(), call()],
    does: [/Moved the result of call "call_1"/],
  },
  {
    rule: 'R-03',
    name: 'a call id of 70 characters',
    body: [said, call('x'.repeat(70)), output('x'.repeat(70))],
    does: [/Renamed the call id/],
  },
  {
    rule: 'R-03',
    name: 'an item id of the wrong kind',
    body: [said, call('call_1', { id: 'call_1' }), output()],
    does: [/Dropped the id "call_1" of an item/],
  },
  {
    rule: 'R-03',
    name: 'an item twice',
    body: [said, call('call_1', { id: 'fc_1' }), output(), call('call_2', { id: 'fc_1' }), output('call_2')],
    does: [/Dropped the id "fc_1"/],
  },
  {
    rule: 'R-04',
    name: 'a dotted tool',
    body: responses([said, call('call_1', { name: 'fs.read' }), output()], {
      tools: [
        { type: 'function', name: 'fs.read', parameters: { type: 'object', properties: {} }, strict: false },
      ],
    }),
    does: [/Renamed the tool "fs.read"/],
  },
  {
    rule: 'R-06',
    name: 'reasoning without a following item',
    body: [said, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, said],
    does: [/Dropped reasoning/],
  },
  {
    rule: 'R-11',
    name: 'a token limit under its Chat name',
    body: responses([said], { max_tokens: 5 }),
    does: [/max_output_tokens/],
    holds: ['"max_output_tokens":16'],
  },
  {
    rule: 'R-12',
    name: 'a choice of a tool that is not offered',
    body: responses([said], {
      tools: [{ type: 'function', name: 'a', parameters: { type: 'object', properties: {} }, strict: false }],
      tool_choice: { type: 'function', name: 'b' },
    }),
    does: [/Dropped `tool_choice`/],
  },
  {
    rule: 'R-00',
    name: 'arguments that are an object',
    body: [said, call('call_1', { arguments: { p: 1 } }), output()],
    does: [/Made the arguments/],
  },
  {
    rule: '2.4',
    name: 'a strict tool whose schema is not strict',
    body: responses([said], {
      tools: [
        {
          type: 'function',
          name: 'a',
          strict: true,
          parameters: { type: 'object', properties: { p: { type: 'string' } } },
        },
      ],
    }),
    does: [/Turned off strict mode/],
  },
]

// ---- Google ------------------------------------------------------------------------------------------------

const turn = (role: string, ...parts: JsonObject[]): JsonObject => ({ role, parts })
const fc = (name = 'read', more: JsonObject = {}): JsonObject => ({
  functionCall: { name, args: {} },
  thoughtSignature: 'skip_thought_signature_validator',
  ...more,
})
const fr = (name = 'read', more: JsonObject = {}): JsonObject => ({
  functionResponse: { name, response: { output: 'ok' }, ...more },
})
const ask = turn('user', { text: 'hi' })

const gemini: Case[] = [
  {
    rule: 'G-01',
    name: 'two calls and one response',
    body: [ask, turn('model', fc(), fc('write')), turn('user', fr())],
    does: [/Added the missing result.*\(write\)/],
  },
  {
    rule: 'G-01',
    name: 'a call that was never answered',
    body: [ask, turn('model', fc()), ask],
    does: [/Added the missing result/],
  },
  {
    rule: 'G-02',
    name: 'an orphan response',
    body: [turn('user', fr()), ask],
    does: [/Dropped the result of "read"/],
  },
  {
    rule: 'G-02',
    name: 'a model turn at the start',
    body: [turn('model', fc()), turn('user', fr())],
    does: [/Put a user turn before/],
  },
  {
    rule: 'G-03',
    name: 'a response that is text',
    body: [ask, turn('model', fc()), turn('user', fr('read', { response: 'ok' }))],
    does: [/Made the response of "read" an object/],
  },
  {
    rule: 'G-03',
    name: 'a response under another name',
    body: [
      ask,
      turn('model', fc('read', { functionCall: { id: 'a', name: 'read' } })),
      turn('user', fr('reed', { id: 'a' })),
    ],
    does: [/Gave a response the name and id/],
  },
  {
    rule: 'G-04',
    name: 'a call without a signature',
    body: [ask, turn('model', { functionCall: { name: 'read', args: {} } }), turn('user', fr())],
    does: [/Signed the call of "read"/],
  },
  {
    rule: 'G-05',
    name: 'an invalid signature',
    body: [ask, turn('model', fc('read', { thoughtSignature: 'ErAB…' })), turn('user', fr())],
    does: [/Dropped a thought signature/, /Signed the call/],
  },
  {
    rule: 'G-08',
    name: 'a name with a space',
    body: { contents: [ask], tools: [{ functionDeclarations: [{ name: 'a b' }] }] },
    does: [/Renamed the tool "a b"/],
  },
  {
    rule: 'G-09',
    name: 'a tool declared twice',
    body: { contents: [ask], tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
    does: [/Dropped the second tool/],
  },
  {
    rule: 'G-10',
    name: 'JSON Schema under `parameters`',
    body: {
      contents: [ask],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'a',
              parameters: { type: 'object', properties: { p: { const: 1 } }, additionalProperties: false },
            },
          ],
        },
      ],
    },
    does: [/Wrote the schema of "a"/],
  },
  {
    rule: 'G-14',
    name: 'roles of another vendor',
    body: [turn('system', { text: 'Be brief.' }), ask, turn('assistant', { text: 'yes' }), ask],
    does: [/Moved a system turn/, /Changed the role "assistant" to model/],
  },
  {
    rule: 'G-14',
    name: 'a turn without parts',
    body: [turn('user'), ask],
    does: [/Dropped a turn without parts/],
  },
  {
    rule: 'G-15',
    name: 'a tool config without tools',
    body: { contents: [ask], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    does: [/Dropped the tool config/],
  },
  {
    rule: 'G-00',
    name: 'a field of another vendor',
    body: { contents: [ask], max_tokens: 5 },
    does: [/Dropped `max_tokens`/],
  },
]

const tools = [{ type: 'function', name: 'read' }]
const input: JsonObject = { type: 'user_input', content: [{ type: 'text', text: 'hi' }] }
const thought: JsonObject = { type: 'thought', signature: 'skip_thought_signature_validator' }
const step = (id = 'c1', more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id,
  name: 'read',
  arguments: {},
  ...more,
})
const answer = (id = 'c1', more: JsonObject = {}): JsonObject => ({
  type: 'function_result',
  call_id: id,
  name: 'read',
  result: 'ok',
  ...more,
})
const interaction = (steps: Json[], more: JsonObject = {}): JsonObject => ({
  model: 'gemini-3-pro',
  input: steps,
  tools,
  ...more,
})

const interactions: Case[] = [
  {
    rule: 'I-01',
    name: 'arguments that are text',
    body: interaction([input, thought, step('c1', { arguments: '{"p":1}' }), answer()]),
    does: [/Made the arguments of "read" an object/],
    holds: ['"arguments":{"p":1}'],
  },
  {
    rule: 'I-02',
    name: 'a call without a result',
    body: interaction([input, thought, step(), input]),
    does: [/Added the missing result/],
  },
  {
    rule: 'I-02',
    name: 'an orphan result',
    body: interaction([input, answer('c9')]),
    does: [/Dropped the result of "c9"/],
  },
  {
    rule: 'I-03',
    name: 'results without tools',
    body: { model: 'gemini-3-pro', input: [input, thought, step(), answer()] },
    does: [/Declared the tools/],
  },
  {
    rule: 'I-03',
    name: 'a name with a space',
    body: interaction([input], { tools: [{ type: 'function', name: 'a b' }] }),
    does: [/Renamed the tool "a b"/],
  },
  {
    rule: 'I-05',
    name: 'a call without its thought',
    body: interaction([input, step(), answer()]),
    does: [/stand-in for a thought/],
  },
  {
    rule: 'I-05',
    name: 'a thought without a signature',
    body: interaction([input, { type: 'thought' }, step(), answer()]),
    does: [/Signed the thought at step 1/],
  },
  {
    rule: 'I-08',
    name: 'a choice of another vendor',
    body: interaction([input], { generation_config: { tool_choice: 'required' } }),
    does: [/Dropped the tool choice/],
  },
]

const cases: Record<DoctorVendor, Case[]> = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
  'gemini-interactions': interactions,
}

for (const [vendor, list] of Object.entries(cases) as [DoctorVendor, Case[]][]) // The keys are those of the record above.
  describe(vendor, () => {
    for (const { rule, name, body, does, holds = [] } of list)
      test(`${rule} repairs ${name}`, () => {
        const before = JSON.stringify(body)
        const findings = checkHistory(vendor, body)
        const [found] = findings.filter(finding => finding.rule === rule)
        assert.ok(found, `found ${JSON.stringify(findings)}`)
        assert.equal(found.why, reasons[rule])
        assert.notEqual(found.message, '')
        const repaired = repairHistory(vendor, body)
        assert.deepEqual(repaired.left, [], JSON.stringify(repaired.body))
        assert.deepEqual(checkHistory(vendor, repaired.body), [])
        assert.equal(JSON.stringify(body), before, 'the argument is not changed')
        for (const [at, pattern] of does.entries()) assert.match(repaired.changes[at] ?? '', pattern)
        if (does.length > 0) assert.equal(repaired.changes.length, does.length, repaired.changes.join(' '))
        const json = JSON.stringify(repaired.body)
        for (const wanted of holds)
          if (wanted.startsWith('!')) assert.ok(!json.includes(wanted.slice(1)), json)
          else assert.ok(json.includes(wanted), json)
      })

    test('a valid history is not changed', () => {
      const sound: Record<DoctorVendor, Json> = {
        anthropic: claude([user('hi'), assistant(use()), user(result()), assistant(text('x')), user('y')]),
        'openai-chat': chat([hi, asked(chatCall()), toolMessage(), hi]),
        'openai-responses': responses([said, call(), output()]),
        gemini: { contents: [ask, turn('model', fc()), turn('user', fr())] },
        'gemini-interactions': interaction([input, thought, step(), answer()]),
      }
      const repaired = repairHistory(vendor, sound[vendor])
      assert.deepEqual([repaired.changes, repaired.left, repaired.body], [[], [], sound[vendor]])
    })
  })

test('findings without a repair are returned, and a value that is no history is refused', () => {
  const { left, changes, body } = repairHistory('openai-responses', responses([{ type: 'nonsense' }]))
  assert.deepEqual([left[0]?.rule, changes], ['R-00', []])
  assert.deepEqual(body, responses([{ type: 'nonsense' }]))
  assert.throws(() => checkHistory('anthropic', 'words'), /request body, or a list/)
})

test('a history in another vendor\u2019s form is reported, not repaired', () => {
  const forms: Record<DoctorVendor, Json> = {
    anthropic: [user('hi'), assistant(use()), user(result())],
    'openai-chat': [hi, asked(chatCall()), toolMessage()],
    'openai-responses': [said, call(), output()],
    gemini: [ask, turn('model', fc()), turn('user', fr())],
    'gemini-interactions': [input, thought, step(), answer()],
  }
  const vendors = Object.keys(forms) as DoctorVendor[] // The keys are those of the record above.
  for (const form of vendors)
    for (const vendor of vendors) {
      const [first] = checkHistory(vendor, forms[form]).filter(({ rule }) => rule === 'form')
      assert.equal(
        first?.message.includes(`of ${form}:`),
        vendor === form ? undefined : true,
        `${form} as ${vendor}`,
      )
      const { changes, left } = repairHistory(vendor, forms[form])
      if (vendor !== form) assert.deepEqual([changes, left[0]?.rule], [[], 'form'])
    }
  assert.equal(checkHistory('gemini', [hi])[0]?.rule, 'form')
})
