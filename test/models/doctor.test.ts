// One broken history for each common rule of each vendor: the doctor names the rule, reports its changes, and the
// vendor's double accepts the result. A valid history stays unchanged.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkHistory, type DoctorVendor, repairHistory } from '../../src/doctor/index.ts'
import { reasons } from '../../src/doctor/reasons.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'

type Case = {
  rule: string
  name: string
  body: Json
  /** The beginnings of the reported changes, in order. */
  does: string[]
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
    does: ['Changed messages[2].content'],
    holds: ['"is_error":true', '"and?"'],
  },
  {
    rule: 'A-01',
    name: 'a call at the very end',
    body: [user('hi'), assistant(use())],
    does: ['Added messages[2]', 'Added tools', 'Added tool_choice'],
  },
  {
    rule: 'A-01',
    name: 'one of two results is missing',
    body: claude([user('hi'), assistant(use(), use('toolu_2')), user(result('toolu_2'))]),
    does: ['Added messages[2].content[0]'],
  },
  {
    rule: 'A-02',
    name: 'an orphan result',
    body: claude([user(result('toolu_9'), text('hi'))]),
    does: ['Dropped messages[0].content[0]'],
    holds: ['!toolu_9'],
  },
  {
    rule: 'A-03',
    name: 'text before the results',
    body: claude([user('hi'), assistant(use()), user(text('so'), result())]),
    does: ['Moved messages[2].content[0]'],
  },
  {
    rule: 'A-04',
    name: 'two results of one call',
    body: claude([user('hi'), assistant(use()), user(result(), result())]),
    does: ['Dropped messages[2].content[1]'],
  },
  {
    rule: 'A-05',
    name: 'an id that occurs twice',
    body: claude([user('hi'), assistant(use()), user(result()), assistant(use()), user(result())]),
    does: ['Changed messages[3].content[0].id', 'Changed messages[4].content[0].tool_use_id'],
  },
  {
    rule: 'A-06',
    name: 'an id of another vendor',
    body: claude([user('hi'), assistant(use('call:1/x')), user(result('call:1/x'))]),
    does: ['Changed messages[1].content[0].id', 'Changed messages[2].content[0].tool_use_id'],
    holds: ['!call:1/x'],
  },
  {
    rule: 'A-07',
    name: 'a dotted tool',
    body: claude([user('hi'), assistant(use('toolu_1', { name: 'fs.read' })), user(result())], {
      tools: [{ name: 'fs.read', input_schema: { type: 'object' } }],
    }),
    does: [
      'Changed tools[0].name',
      'Added tools[0].input_schema.properties',
      'Added tools[0].description',
      'Changed messages[1].content[0].name',
    ],
    holds: ['!"name":"fs.read"'],
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
    does: ['Dropped tools[1]'],
  },
  {
    rule: 'A-09',
    name: 'arguments that are text',
    body: claude([user('hi'), assistant(use('toolu_1', { input: '{"p":1}' })), user(result())]),
    does: ['Changed messages[1].content[0].input'],
    holds: ['"input":{"p":1}'],
  },
  {
    rule: 'A-10',
    name: 'a result in a message of the assistant',
    body: claude([user('hi'), assistant(use(), result())]),
    does: ['Dropped messages[1].content[1]', 'Added messages[2]'],
    holds: ['{"role":"user","content":[{"type":"tool_result"'],
  },
  {
    rule: 'A-12',
    name: 'empty text',
    body: claude([user(text(''), text('hi')), assistant(text(' ')), user('x')]),
    does: [
      'Dropped messages[0].content[0]',
      'Added messages[0].content[1]',
      'Dropped messages[1]',
      'Dropped messages[2]',
    ],
  },
  {
    rule: 'A-12',
    name: 'a failed result without text',
    body: claude([user('hi'), assistant(use()), user(result('toolu_1', { is_error: true, content: '' }))]),
    does: ['Changed messages[2].content[0].content'],
  },
  {
    rule: 'A-13',
    name: 'calls without tools',
    body: { model: 'm', max_tokens: 9, messages: [user('hi'), assistant(use()), user(result())] },
    does: ['Added tools', 'Added tool_choice'],
    holds: ['"tool_choice":{"type":"none"}'],
  },
  {
    rule: 'A-14',
    name: 'a schema with oneOf at its root',
    body: claude([user('hi')], {
      tools: [{ name: 'a', input_schema: { type: 'object', oneOf: [{ required: ['x'] }] } }],
    }),
    does: [
      'Dropped tools[0].input_schema.oneOf',
      'Added tools[0].input_schema.required',
      'Added tools[0].input_schema.properties',
      'Added tools[0].description',
    ],
  },
  {
    rule: 'A-16',
    name: 'a tool choice of another vendor',
    body: claude([user('hi')], { tool_choice: 'required' }),
    does: ['Changed tool_choice'],
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
    does: ['Dropped thinking'],
  },
  {
    rule: 'A-18',
    name: 'an assistant message at the end',
    body: claude([user('hi'), assistant(text('yes'))]),
    does: ['Added messages[2]'],
  },
  {
    rule: 'A-19',
    name: 'thinking without a valid signature',
    body: claude([
      user('hi'),
      assistant({ type: 'thinking', thinking: 'x', signature: '' }, text('y')),
      user('z'),
    ]),
    does: ['Dropped messages[1].content[0]'],
    holds: ['!thinking'],
  },
  {
    rule: 'A-20',
    name: 'a system message',
    body: claude([{ role: 'system', content: 'Be brief.' }, user('hi')]),
    does: ['Dropped messages[0]', 'Added system'],
    holds: ['"system":"Be brief."'],
  },
  {
    rule: 'A-21',
    name: 'two user messages in a row',
    body: claude([user('a'), user('b')]),
    does: ['Changed messages[0].content', 'Dropped messages[1]'],
  },
  {
    rule: 'A-21',
    name: 'an assistant message at the start',
    body: claude([assistant(text('a')), user('b')]),
    does: ['Added messages[0]'],
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
    does: ['Dropped messages[1].content[1]'],
    holds: ['!srvtoolu_1'],
  },
  {
    rule: 'A-26',
    name: 'half of a surrogate pair',
    body: claude([user('cut \ud83d')]),
    does: ['Changed messages[0].content'],
  },
  {
    rule: 'A-27',
    name: 'sampling settings that the model does not take',
    body: claude([user('hi')], { model: 'claude-opus-5', temperature: 0 }),
    does: ['Dropped temperature'],
  },
  {
    rule: 'A-28',
    name: 'an unknown field',
    body: claude([user({ type: 'text', text: 'hi', id: 'x' })]),
    does: ['Dropped messages[0].content[0].id'],
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
    does: ['Added messages[2]'],
  },
  {
    rule: 'C-01',
    name: 'a user message between a call and its result',
    body: [hi, asked(chatCall()), hi, toolMessage()],
    does: ['Moved messages[2]'],
  },
  {
    rule: 'C-02',
    name: 'an orphan tool message',
    body: [hi, toolMessage('call_9')],
    does: ['Dropped messages[1]'],
  },
  {
    rule: 'C-02',
    name: 'a result given twice',
    body: [hi, asked(chatCall()), toolMessage(), toolMessage()],
    does: ['Dropped messages[3]'],
  },
  {
    rule: 'C-03',
    name: 'an id of 50 characters',
    body: [hi, asked(chatCall('x'.repeat(50))), toolMessage('x'.repeat(50))],
    does: ['Changed messages[1].tool_calls[0].id', 'Changed messages[2].tool_call_id'],
  },
  {
    rule: 'C-04',
    name: 'a dotted tool',
    body: chat([hi, asked(chatCall('call_1', 'fs.read')), toolMessage()], { tools: [declared('fs.read')] }),
    does: [
      'Changed messages[1].tool_calls[0].function.name',
      'Changed tools[0].function.name',
      'Added tools[0].function.description',
    ],
    holds: ['!fs.read'],
  },
  {
    rule: 'C-05',
    name: 'too many tools',
    body: chat([hi], { tools: Array.from({ length: 130 }, (_, at) => declared(`t${at}`)) }),
    does: ['Dropped tools[128]', 'Dropped tools[129]'],
  },
  {
    rule: 'C-06',
    name: 'empty lists',
    body: chat([hi, { role: 'assistant', content: 'x', tool_calls: [] }], { tools: [] }),
    does: ['Dropped messages[1].tool_calls', 'Dropped tools'],
  },
  {
    rule: 'C-07',
    name: 'a choice without tools',
    body: chat([hi], { tool_choice: 'auto' }),
    does: ['Dropped tool_choice'],
  },
  {
    rule: 'C-08',
    name: 'arguments that are an object',
    body: [hi, asked(chatCall('call_1', 'read', { p: 1 })), toolMessage()],
    does: ['Changed messages[1].tool_calls[0].function.arguments'],
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
    does: ['Changed messages[2].content', 'Added messages[3]'],
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
    does: [
      'Changed tools[0].function.parameters.properties.p.type',
      'Added tools[0].function.parameters.additionalProperties',
      'Added tools[0].function.parameters.required',
      'Added tools[0].function.description',
    ],
  },
  {
    rule: 'C-10',
    name: 'a choice of another vendor',
    body: chat([hi], { tools: [declared('a')], tool_choice: { type: 'any' } }),
    does: ['Changed tool_choice'],
  },
  {
    rule: 'C-00',
    name: 'a field of another vendor',
    body: chat([hi], { system: 'x' }),
    does: ['Dropped system'],
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
    does: ['Added input[3]'],
  },
  {
    rule: 'R-01',
    name: 'a text call without an output',
    body: [said, { type: 'custom_tool_call', call_id: 'c', name: 'p', input: 'x' }],
    does: ['Added input[2]'],
    holds: ['custom_tool_call_output'],
  },
  {
    rule: 'R-02',
    name: 'an orphan output',
    body: [said, output('call_9')],
    does: ['Dropped input[1]'],
  },
  {
    rule: 'R-02',
    name: 'an output before its call',
    body: [said, output(), call()],
    does: ['Moved input[1]'],
  },
  {
    rule: 'R-03',
    name: 'a call id of 70 characters',
    body: [said, call('x'.repeat(70)), output('x'.repeat(70))],
    does: ['Changed input[1].call_id', 'Changed input[2].call_id'],
  },
  {
    rule: 'R-03',
    name: 'an item id of the wrong kind',
    body: [said, call('call_1', { id: 'call_1' }), output()],
    does: ['Dropped input[1].id'],
  },
  {
    rule: 'R-03',
    name: 'an item twice',
    body: [said, call('call_1', { id: 'fc_1' }), output(), call('call_2', { id: 'fc_1' }), output('call_2')],
    does: ['Dropped input[3].id'],
  },
  {
    rule: 'R-04',
    name: 'a dotted tool',
    body: responses([said, call('call_1', { name: 'fs.read' }), output()], {
      tools: [
        { type: 'function', name: 'fs.read', parameters: { type: 'object', properties: {} }, strict: false },
      ],
    }),
    does: ['Changed input[1].name', 'Changed tools[0].name', 'Added tools[0].description'],
  },
  {
    rule: 'R-06',
    name: 'reasoning without a following item',
    body: [said, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, said],
    does: ['Dropped input[1]'],
  },
  {
    rule: 'R-11',
    name: 'a token limit under its Chat name',
    body: responses([said], { max_tokens: 5 }),
    does: ['Dropped max_tokens', 'Added max_output_tokens'],
    holds: ['"max_output_tokens":16'],
  },
  {
    rule: 'R-12',
    name: 'a choice of a tool that is not offered',
    body: responses([said], {
      tools: [{ type: 'function', name: 'a', parameters: { type: 'object', properties: {} }, strict: false }],
      tool_choice: { type: 'function', name: 'b' },
    }),
    does: ['Dropped tool_choice'],
  },
  {
    rule: 'R-00',
    name: 'arguments that are an object',
    body: [said, call('call_1', { arguments: { p: 1 } }), output()],
    does: ['Changed input[1].arguments'],
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
    does: [
      'Changed tools[0].parameters.properties.p.type',
      'Added tools[0].parameters.additionalProperties',
      'Added tools[0].parameters.required',
      'Added tools[0].description',
    ],
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
    does: ['Added contents[2].parts[1]'],
  },
  {
    rule: 'G-01',
    name: 'a call that was never answered',
    body: [ask, turn('model', fc()), ask],
    does: ['Added contents[2].parts[0]'],
  },
  {
    rule: 'G-02',
    name: 'an orphan response',
    body: [turn('user', fr()), ask],
    does: ['Dropped contents[0]'],
  },
  {
    rule: 'G-02',
    name: 'a model turn at the start',
    body: [turn('model', fc()), turn('user', fr())],
    does: ['Added contents[0]'],
  },
  {
    rule: 'G-03',
    name: 'a response that is text',
    body: [ask, turn('model', fc()), turn('user', fr('read', { response: 'ok' }))],
    does: ['Changed contents[2].parts[0].functionResponse.response'],
  },
  {
    rule: 'G-03',
    name: 'a response under another name',
    body: [
      ask,
      turn('model', fc('read', { functionCall: { id: 'a', name: 'read' } })),
      turn('user', fr('reed', { id: 'a' })),
    ],
    does: [
      'Added contents[1].parts[0].functionCall.args',
      'Changed contents[2].parts[0].functionResponse.name',
    ],
  },
  {
    rule: 'G-04',
    name: 'a call without a signature',
    body: [ask, turn('model', { functionCall: { name: 'read', args: {} } }), turn('user', fr())],
    does: ['Added contents[1].parts[0].thoughtSignature'],
  },
  {
    rule: 'G-05',
    name: 'an invalid signature',
    body: [ask, turn('model', fc('read', { thoughtSignature: 'ErAB…' })), turn('user', fr())],
    does: ['Changed contents[1].parts[0].thoughtSignature'],
  },
  {
    rule: 'G-08',
    name: 'a name with a space',
    body: { contents: [ask], tools: [{ functionDeclarations: [{ name: 'a b' }] }] },
    does: [
      'Changed tools[0].functionDeclarations[0].name',
      'Added tools[0].functionDeclarations[0].description',
    ],
  },
  {
    rule: 'G-09',
    name: 'a tool declared twice',
    body: { contents: [ask], tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
    does: ['Added tools[0].functionDeclarations[0].description', 'Dropped tools[0].functionDeclarations[1]'],
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
    does: [
      'Dropped tools[0].functionDeclarations[0].parameters',
      'Added tools[0].functionDeclarations[0].description',
      'Added tools[0].functionDeclarations[0].parametersJsonSchema',
    ],
  },
  {
    rule: 'G-14',
    name: 'roles of another vendor',
    body: [turn('system', { text: 'Be brief.' }), ask, turn('assistant', { text: 'yes' }), ask],
    does: ['Dropped contents[0]', 'Dropped contents[2]', 'Added contents[1]', 'Added systemInstruction'],
  },
  {
    rule: 'G-14',
    name: 'a turn without parts',
    body: [turn('user'), ask],
    does: ['Dropped contents[0]'],
  },
  {
    rule: 'G-15',
    name: 'a tool config without tools',
    body: { contents: [ask], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    does: ['Dropped toolConfig'],
  },
  {
    rule: 'G-00',
    name: 'a field of another vendor',
    body: { contents: [ask], max_tokens: 5 },
    does: ['Dropped max_tokens'],
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
    does: ['Changed input[2].arguments'],
    holds: ['"arguments":{"p":1}'],
  },
  {
    rule: 'I-02',
    name: 'a call without a result',
    body: interaction([input, thought, step(), input]),
    does: ['Added input[3]'],
  },
  {
    rule: 'I-02',
    name: 'an orphan result',
    body: interaction([input, answer('c9')]),
    does: ['Dropped input[1]'],
  },
  {
    rule: 'I-03',
    name: 'results without tools',
    body: { model: 'gemini-3-pro', input: [input, thought, step(), answer()] },
    does: ['Added tools', 'Added generation_config'],
  },
  {
    rule: 'I-03',
    name: 'a name with a space',
    body: interaction([input], { tools: [{ type: 'function', name: 'a b' }] }),
    does: ['Changed tools[0].name', 'Added tools[0].description'],
  },
  {
    rule: 'I-05',
    name: 'a call without its thought',
    body: interaction([input, step(), answer()]),
    does: ['Added input[1]'],
  },
  {
    rule: 'I-05',
    name: 'a thought without a signature',
    body: interaction([input, { type: 'thought' }, step(), answer()]),
    does: ['Added input[1].signature'],
  },
  {
    rule: 'I-08',
    name: 'a choice of another vendor',
    body: interaction([input], { generation_config: { tool_choice: 'required' } }),
    does: ['Dropped generation_config.tool_choice'],
  },
]

/** What was done, and where. */
const beginning = (change: string): string => change.split(/: | from | to /)[0] ?? ''

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
        assert.deepEqual(repaired.changes.map(beginning), does)
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
