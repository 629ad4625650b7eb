// Requests: what each part of a history, of the tools and of the settings becomes, held against the strict double,
// and whole conversations with it, stateless and stateful.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { ModelAnswer, ModelRequest } from '../../engine/ports.ts'
import { type CallPart, type Outcome, outcomeKinds } from '../../language/calls.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../language/history.ts'
import type { ToolChoice, ToolDeclaration, ToolInput } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { checkRequestAll } from '../../testing/doubles/index.ts'
import { openaiResponses as double } from '../../testing/doubles/responses.ts'
import type { ScriptedTurn } from '../../testing/doubles/script.ts'
import type { Prepared, Target } from '../protocol.ts'
import { openaiResponses } from './openai-responses.ts'

const target: Target = {
  model: 'gpt-test',
  family: 'gpt',
  maxTokens: 1000,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
}
const stateful: Target = { ...target, stateful: true }

const request = (history: readonly Entry[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  session: 's',
  history,
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
  ...more,
})
const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
const tool = (
  name: string,
  input: ToolInput = { form: 'json', schema: { type: 'object' } },
): ToolDeclaration => ({
  name,
  description: `does ${name}`,
  input,
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
})
const call = (id: string, more: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  id,
  name: 'f',
  form: 'json',
  text: '{}',
  ...more,
})
const outcome = (text: string, more: Partial<Outcome> = {}): Outcome => ({
  kind: 'ok',
  parts: [{ type: 'text', text }],
  from: { source: 'runtime' },
  ...more,
})
const results = (...given: [id: string, outcome: Outcome][]): ToolEntry => ({
  role: 'tool',
  results: given.map(([callId, each]) => ({ callId, name: 'f', outcome: each })),
})

function bodyOf(prepared: Prepared): JsonObject {
  const body: unknown = JSON.parse(prepared.body)
  assert.ok(isJsonObject(body))
  return body
}

/** The body, when the double takes it. */
function accepted(asked: ModelRequest, to: Target = target): JsonObject {
  const body = bodyOf(openaiResponses.prepare(asked, to))
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  return body
}

function itemsOf(body: JsonObject): JsonObject[] {
  const { input } = body
  assert.ok(Array.isArray(input))
  return input.filter(isJsonObject)
}

/** A conversation with the double: what it takes, answers and remembers. */
function conversation(to: Target, tools: ToolDeclaration[] = [tool('f'), tool('sql', { form: 'text' })]) {
  const memory = double.memory()
  const history: Entry[] = []
  let calls = 0
  const sent: JsonObject[] = []
  const ask = (turn: ScriptedTurn, goTo: Target = to): ModelAnswer => {
    const prepared = openaiResponses.prepare(request([...history], { tools }), goTo)
    const body = bodyOf(prepared)
    sent.push(body)
    const asked = {
      route: { kind: 'create', params: {} },
      query: new URLSearchParams(),
      headers: { authorization: 'Bearer sk-a' },
      body,
      rawText: prepared.body,
    }
    assert.deepEqual(double.check(asked, memory, 'strict'), [])
    const { frames } = double.respond(turn, asked, memory)
    const state = openaiResponses.initial(prepared)
    for (const frame of frames) openaiResponses.step(state, frame)
    const end = openaiResponses.halt(state)
    if ('failure' in end) assert.fail(end.failure.message)
    const { answer } = end
    const entry: AssistantEntry = {
      role: 'assistant',
      parts: answer.parts.map(part => (part.type === 'call' ? { ...part, id: `ours_${calls++}` } : part)),
      ...(answer.origin && { origin: answer.origin }),
      ...(answer.continuity && { continuity: answer.continuity }),
    }
    history.push(entry)
    const asks = entry.parts.filter(part => part.type === 'call')
    if (asks.length > 0)
      history.push({
        role: 'tool',
        results: asks.map(({ id, name }) => ({ callId: id, name, outcome: outcome(`result of ${id}`) })),
      })
    return answer
  }
  return { history, sent, ask, memory, last: () => sent.at(-1)! }
}

// ---- entries ---------------------------------------------------------------------------------------------

test('an ordinary request, whole', () => {
  const asked = request([user('hi')], { system: 'be kind', tools: [tool('f')] })
  assert.deepEqual(accepted(asked, { ...target, body: { reasoning: { effort: 'low' } } }), {
    reasoning: { effort: 'low' },
    model: 'gpt-test',
    instructions: 'be kind',
    tools: [
      {
        type: 'function',
        name: 'f',
        description: 'does f',
        parameters: { type: 'object', properties: {} },
        strict: false,
      },
    ],
    parallel_tool_calls: true,
    max_output_tokens: 1000,
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: true,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  })
})

test('system entries in mid-history are developer messages', () => {
  const body = accepted(request([user('a'), { role: 'system', text: 'now in French' }, user('b')]))
  assert.deepEqual(
    itemsOf(body).map(({ role }) => role),
    ['user', 'developer', 'user'],
  )
})

test('images and files, in what people say and in what tools give', () => {
  const png = 'data:image/png;base64,aGk='
  const pdf = 'data:application/pdf;base64,aGk='
  const parts = [
    { type: 'text' as const, text: '' },
    { type: 'image' as const, url: png },
    { type: 'file' as const, url: pdf, mediaType: 'application/pdf' },
    { type: 'file' as const, url: 'https://x.test/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' },
  ]
  const sent = [
    { type: 'input_image', image_url: png, detail: 'auto' },
    { type: 'input_file', filename: 'file.pdf', file_data: pdf },
    { type: 'input_file', file_url: 'https://x.test/a.pdf' },
  ]
  const history: Entry[] = [
    { role: 'user', parts },
    { role: 'assistant', parts: [call('a'), call('b')] },
    results(['a', outcome('', { parts })], ['b', outcome('', { parts, kind: 'error' })]),
  ]
  const items = itemsOf(accepted(request(history)))
  assert.deepEqual(items[0]?.['content'], sent)
  assert.deepEqual(items[3]?.['output'], sent)
  assert.deepEqual(items[4]?.['output'], [
    { type: 'input_text', text: '[error] The call ended: error.' },
    ...sent,
  ])
})

test('there is no flag for a failed call, so every other outcome says its kind in words', () => {
  const ids = outcomeKinds.map(kind => `id_${kind}`)
  const history: Entry[] = [
    user('x'),
    { role: 'assistant', parts: ids.map(id => call(id)) },
    results(...outcomeKinds.map((kind): [string, Outcome] => [`id_${kind}`, outcome('why', { kind })])),
  ]
  const outputs = itemsOf(accepted(request(history))).filter(item => 'output' in item)
  assert.deepEqual(
    outputs.map(({ output }) => output),
    outcomeKinds.map(kind => (kind === 'ok' ? 'why' : `[${kind}] why`)),
  )
  assert.deepEqual(
    outputs.map(({ call_id }) => call_id),
    ids,
  )
})

test('R-05 an output is cut to what the vendor takes, and that is said', () => {
  const history: Entry[] = [
    user('x'),
    { role: 'assistant', parts: [call('a')] },
    results(['a', outcome('ä'.repeat(10_485_761))]),
  ]
  const prepared = openaiResponses.prepare(request(history), target)
  const { output } = itemsOf(bodyOf(prepared)).at(-1)!
  assert.ok(typeof output === 'string' && output.length <= 10_485_760 && output.includes('bytes left out'))
  assert.match(prepared.warnings.join(), /was cut/)
})

test('R-03 long, empty, repeated and foreign call ids become ids that are allowed and unique', () => {
  const long = 'call_'.padEnd(500, 'x')
  const origin = { protocol: 'openai-responses', family: 'gpt' }
  const parts = [
    call('a', { nativeId: 'call_same' }),
    call('b', { nativeId: 'call_same' }),
    call('c', { nativeId: long }),
    call('d', { nativeId: '' }),
    call('é'.repeat(200)),
  ]
  const history: Entry[] = [
    user('x'),
    { role: 'assistant', origin, parts },
    results(...parts.map(({ id }): [string, Outcome] => [id, outcome(id)])),
    { role: 'assistant', origin, parts: [call('e', { nativeId: 'call_same' })] },
    results(['e', outcome('e')]),
  ]
  const calls = itemsOf(accepted(request(history))).filter(item => item['type'] === 'function_call')
  assert.equal(new Set(calls.map(item => item['call_id'])).size, 6)
  assert.equal(calls[0]?.['call_id'], 'call_same')
})

test('artifacts of another vendor or family are left out whole; what was said and called stays', () => {
  for (const origin of [
    { protocol: 'anthropic', family: 'claude' },
    { protocol: 'openai-responses', family: 'other' },
  ]) {
    const native = (data: JsonObject) => ({ native: { origin, data } })
    const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'secret' }
    const entry: AssistantEntry = {
      role: 'assistant',
      origin,
      parts: [
        { type: 'thinking', text: 'hm', ...native(item) },
        {
          type: 'hosted',
          tool: 'web_search',
          summary: 'q',
          native: { origin, data: { id: 'ws_1', type: 'web_search_call' } },
        },
        { type: 'text', text: 'hello', ...native({ id: 'msg_1', type: 'message' }) },
        call('a', { nativeId: 'toolu_1', ...native({ id: 'fc_1', type: 'function_call' }) }),
      ],
    }
    const prepared = openaiResponses.prepare(
      request([user('x'), entry, results(['a', outcome('y')])]),
      target,
    )
    const body = bodyOf(prepared)
    assert.deepEqual(checkRequestAll('openai-responses', body), [])
    assert.deepEqual(
      itemsOf(body).map(({ type, id }) => [type, id]),
      [
        ['message', undefined],
        ['message', undefined],
        ['function_call', undefined],
        ['function_call_output', undefined],
      ],
    )
    assert.match(prepared.warnings.join(), /web_search/)
  }
})

test('an empty history still asks something', () => {
  accepted(request([]))
  accepted(request([{ role: 'user', parts: [] }]))
})

test('a result without its call is left out', () => {
  const body = accepted(request([results(['gone', outcome('x')]), user('go on')]))
  assert.equal(itemsOf(body).length, 1)
})

test('well-formed Unicode, whatever was said', () => {
  const history: Entry[] = [
    user('\ud83d lone'),
    { role: 'assistant', parts: [{ type: 'text', text: '\udc00' }, call('a', { text: '{"a":"\ud800"}' })] },
    results(['a', outcome('\ud83d')]),
  ]
  const { body } = openaiResponses.prepare(request(history, { system: '\ud83d' }), target)
  assert.ok(body.isWellFormed() && !/\\ud[89a-f]/.test(body))
  accepted(request(history))
})

// ---- tools and settings ----------------------------------------------------------------------------------

const closed: JsonObject = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}

test('R-13 strict is always said, and is true only where it can be kept', () => {
  const json = (schema: JsonObject, strict?: boolean): ToolInput => ({
    form: 'json',
    schema,
    ...(strict !== undefined && { strict }),
  })
  const open: JsonObject = { type: 'object', properties: { a: { type: 'string' } } }
  const tools = [
    tool('a', json(closed)),
    tool('b', json(closed, true)),
    tool('c', json(closed, false)),
    tool('d', json(open)),
    tool('e', json(open, true)),
    tool('g', json({ anyOf: [closed, open] })),
  ]
  const prepared = openaiResponses.prepare(request([user('x')], { tools }), target)
  const body = bodyOf(prepared)
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  const sent = body['tools']
  assert.ok(Array.isArray(sent))
  assert.deepEqual(
    sent.filter(isJsonObject).map(({ strict }) => strict),
    [true, true, false, false, false, false],
  )
  assert.match(prepared.warnings.join(), /"e" is not offered as strict/)
})

test('R-04 dotted, clashing and long names are reversible', () => {
  const given = ['fs.read', 'fs_read', 'fs read', 'x'.repeat(200), 'naïve', '']
  const prepared = openaiResponses.prepare(
    request([user('x')], { tools: given.map(name => tool(name)) }),
    target,
  )
  const body = bodyOf(prepared)
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  const sent = body['tools']
  assert.ok(Array.isArray(sent))
  const wire = sent.filter(isJsonObject).map(({ name }) => String(name))
  assert.equal(new Set(wire).size, given.length)
  assert.deepEqual(
    wire.map(name => prepared.names.get(name)),
    given,
  )
})

test('R-12 every form of choice', () => {
  const tools = [tool('fs.read'), tool('sql', { form: 'text' })]
  const wire = openaiResponses.prepare(request([], { tools }), target).names
  const read = [...wire].find(([, own]) => own === 'fs.read')?.[0]
  const expected: [ToolChoice, unknown][] = [
    ['auto', undefined],
    ['none', 'none'],
    ['required', 'required'],
    [{ tool: 'fs.read' }, { type: 'function', name: read }],
    [{ tool: 'sql' }, { type: 'custom', name: 'sql' }],
    [{ tool: 'gone' }, undefined],
    [
      { allowed: ['fs.read', 'sql', 'gone'], mode: 'required' },
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'function', name: read },
          { type: 'custom', name: 'sql' },
        ],
      },
    ],
    [{ allowed: ['gone'], mode: 'auto' }, 'none'],
  ]
  for (const [choice, sent] of expected)
    assert.deepEqual(accepted(request([user('x')], { tools, choice }))['tool_choice'], sent)
  const bare = accepted(request([user('x')], { choice: 'required', parallel: false }))
  assert.ok(!('tool_choice' in bare) && !('tools' in bare) && !('parallel_tool_calls' in bare))
  assert.equal(accepted(request([user('x')], { tools, parallel: false }))['parallel_tool_calls'], false)
})

test('R-11 the smallest limit of tokens', () => {
  assert.equal(accepted(request([user('x')], { maxTokens: 5 }))['max_output_tokens'], 16)
})

test('what the operator set goes along, but the conversation stays in our hands', () => {
  const body = {
    include: ['web_search_call.results'],
    service_tier: 'flex',
    conversation: 'conv_1',
    background: true,
    previous_response_id: 'resp_x',
    store: true,
  }
  const hosted = [{ type: 'web_search' }]
  const sent = accepted(request([user('x')], { choice: 'required' }), { ...target, body, hosted })
  assert.deepEqual(sent['include'], ['web_search_call.results', 'reasoning.encrypted_content'])
  assert.equal(sent['service_tier'], 'flex')
  assert.deepEqual(sent['tools'], hosted)
  assert.equal(sent['tool_choice'], 'required')
  assert.ok(!('conversation' in sent) && !('background' in sent) && !('previous_response_id' in sent))
  assert.equal(sent['store'], false)
})

test('text tools are native: free text, a regular expression, and the grammar of apply_patch', () => {
  const definition = readFileSync(
    new URL('../../lib/grammar/fixtures/apply-patch.lark', import.meta.url),
    'utf8',
  )
  const tools = [
    tool('note', { form: 'text' }),
    tool('when', { form: 'text', grammar: { syntax: 'regex', definition: '\\d{4}' } }),
    tool('apply_patch', { form: 'text', grammar: { syntax: 'lark', definition } }),
  ]
  const { ask, history, last } = conversation(target, tools)
  history.push(user('patch it'))
  const patch = '*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n'
  const answer = ask({ calls: [{ name: 'apply_patch', custom: true, text: patch }], chunk: 4 })
  assert.deepEqual(last()['tools'], [
    { type: 'custom', name: 'note', description: 'does note', format: { type: 'text' } },
    {
      type: 'custom',
      name: 'when',
      description: 'does when',
      format: { type: 'grammar', syntax: 'regex', definition: '\\d{4}' },
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'does apply_patch',
      format: { type: 'grammar', syntax: 'lark', definition },
    },
  ])
  const [made] = answer.parts
  assert.deepEqual(made?.type === 'call' && [made.form, made.text], ['text', patch])
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).map(({ type }) => type),
    ['message', 'custom_tool_call', 'custom_tool_call_output'],
  )
})

// ---- conversations ---------------------------------------------------------------------------------------

const busy: ScriptedTurn = {
  thinking: 'I should look',
  text: 'let me see',
  calls: [
    { name: 'f', input: { a: 1 } },
    { name: 'sql', custom: true, text: 'SELECT 1' },
  ],
}
const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }

test('stateless: every output item goes back in its place, byte for byte', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  const first = ask(busy).parts.map(part => part.native?.data)
  const second = ask({ thinking: 'more', raw: [search], text: 'hm', calls: [{ name: 'f' }] }).parts.map(
    part => part.native?.data,
  )
  ask({ text: 'done' })
  const items = itemsOf(last())
  assert.deepEqual(items.slice(1, 5), first)
  assert.deepEqual(items.slice(7, 11), second)
  assert.equal(items[2]?.['phase'], 'commentary')
  assert.ok(!('previous_response_id' in last()))
})

test('a second request encodes only what is new', () => {
  const history: Entry[] = [user('x')]
  assert.equal(openaiResponses.prepare(request(history), target).encoded, 1)
  history.push({ role: 'assistant', parts: [call('a')] }, results(['a', outcome('y')]))
  const second = openaiResponses.prepare(request([...history]), target)
  assert.equal(second.encoded, 2)
  const third = openaiResponses.prepare(request([...history]), target)
  assert.equal(third.encoded, 0)
  assert.equal(third.body, second.body)
  assert.equal(openaiResponses.prepare(request(history), { ...target, family: 'other' }).encoded, 3)
})

test('R-06 reasoning without what it led to is not sent', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ thinking: 'hm', stop: 'length' })
  history.push(user('go on'))
  ask({ thinking: 'hm', calls: [{ name: 'f', text: '{"a', cut: true }] })
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).map(({ type, id }) => [type, id]),
    [
      ['message', undefined],
      ['message', undefined],
      ['function_call', undefined],
      ['function_call_output', undefined],
    ],
  )
})

test('R-06 an answer that was edited since is told plainly from there on', () => {
  const { ask, history, last } = conversation({ ...target, stateful: true })
  history.push(user('x'))
  ask(busy)
  const entry = history[1]
  assert.ok(entry?.role === 'assistant')
  history[1] = {
    ...entry,
    parts: entry.parts.map(part => (part.type === 'text' ? { ...part, text: '[redacted]' } : part)),
  }
  ask({ text: 'done' })
  assert.ok(!('previous_response_id' in last()))
  assert.deepEqual(itemsOf(last())[1], {
    type: 'message',
    role: 'assistant',
    content: '[redacted]',
    phase: 'commentary',
  })
})

test('reasoning whose words were changed is not sent, sealed as it is', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ thinking: 'a secret', text: 'hello' })
  const entry = history[1]
  assert.ok(entry?.role === 'assistant')
  history[1] = {
    ...entry,
    parts: entry.parts.map(part => (part.type === 'thinking' ? { ...part, text: '[redacted]' } : part)),
  }
  history.push(user('and?'))
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).map(({ type }) => type),
    ['message', 'message', 'message'],
  )
})

test('items that ask the caller for something that nobody gives are not sent', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  const shell = { type: 'shell_call', call_id: 'sh_1', action: { commands: ['ls'] }, status: 'completed' }
  ask({ thinking: 'hm', raw: [shell], text: 'and then' })
  history.push(user('go on'))
  ask({
    raw: [shell, { type: 'shell_call_output', call_id: 'sh_1', output: [], status: 'completed' }],
    text: 'y',
  })
  assert.ok(!itemsOf(last()).some(({ type }) => type === 'shell_call' || type === 'reasoning'))
  history.push(user('go on'))
  ask({ text: 'done' })
  assert.deepEqual(
    itemsOf(last()).flatMap(({ type }) => (type === 'message' ? [] : [type])),
    ['shell_call', 'shell_call_output'],
  )
})

test('a program goes back with its calls, and its callers with their results', () => {
  const { ask, history, last } = conversation(target)
  const caller = { type: 'program', caller_id: 'prog_call' }
  const raw = [
    { type: 'program', call_id: 'prog_call', code: 'await f({})', fingerprint: 'fp' },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', caller, status: 'completed' },
  ]
  history.push(user('x'))
  ask({ raw })
  ask({ raw: [{ ...raw[1], call_id: 'call_2' }] })
  assert.deepEqual(itemsOf(last()).at(-1)?.['caller'], caller)
  ask({ text: 'done' })
  assert.equal(itemsOf(last()).filter(item => 'caller' in item).length, 4)
  history.splice(0, 3, user('(summary)'))
  ask({ text: 'done' })
  assert.ok(!itemsOf(last()).some(item => 'caller' in item))
})

test('R-03 an item that stands in the history twice is sent with its id once', () => {
  const { ask, history, last } = conversation(target)
  history.push(user('x'))
  ask({ text: 'said' })
  history.push({ ...history[1]! }, user('y'))
  ask({ text: 'done' })
  assert.equal(itemsOf(last()).filter(item => 'id' in item).length, 1)
})

// ---- the vendor's memory ---------------------------------------------------------------------------------

test('R-10 stateful: each request goes on from the last response, with the new items only', () => {
  const { ask, history, last, sent } = conversation(stateful)
  history.push(user('x'))
  const first = ask(busy)
  assert.equal(last()['store'], true)
  ask({ calls: [{ name: 'f' }] })
  assert.deepEqual(
    itemsOf(last()).map(({ type }) => type),
    ['function_call_output', 'custom_tool_call_output'],
  )
  const kept = first.continuity?.data
  assert.equal(last()['previous_response_id'], isJsonObject(kept) && kept['response'])
  ask({ text: 'done' })
  history.push({ role: 'system', text: 'be brief' }, user('and now?'))
  ask({ text: 'well' })
  assert.deepEqual(
    itemsOf(last()).map(({ role }) => role),
    ['developer', 'user'],
  )
  assert.deepEqual(
    sent.map(body => 'previous_response_id' in body),
    [false, true, true, true],
  )
})

test('what is remembered survives a log that orders keys its own way', () => {
  const { ask, history, last } = conversation(stateful)
  history.push(user('x'))
  ask(busy)
  const sorted = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(sorted)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value)
        .sort()
        .map(([key, each]): [string, Json] => [key, sorted(each)]),
    )
  }
  // A log gives back what was put in, as JSON.
  const reloaded = sorted(JSON.parse(JSON.stringify(history)) as Json) as unknown as Entry[]
  history.splice(0, history.length, ...reloaded)
  ask({ text: 'done' })
  assert.ok('previous_response_id' in last())
})

const breaks: [why: string, change: (history: Entry[]) => void][] = [
  [
    'an answer of another vendor follows',
    history =>
      history.push(
        {
          role: 'assistant',
          parts: [{ type: 'text', text: 'hello' }],
          origin: { protocol: 'anthropic', family: 'claude' },
        },
        user('and?'),
      ),
  ],
  [
    'an answer was cancelled',
    history =>
      history.push(
        user('more'),
        { role: 'assistant', parts: [{ type: 'text', text: 'I wa' }] },
        user('and?'),
      ),
  ],
  ['the history was compacted', history => history.splice(0, 1, { role: 'system', text: 'summary' })],
  ['an earlier entry was edited', history => history.splice(0, 1, user('something else'))],
  ['an entry was left out', history => history.splice(0, 1)],
]
for (const [why, change] of breaks) {
  test(`stateful: the whole history is sent when ${why}, and the chain goes on from there`, () => {
    const { ask, history, last } = conversation(stateful)
    history.push(user('x'))
    ask({ thinking: 'hm', text: 'hello' })
    history.push(user('do it'))
    ask(busy)
    change(history)
    ask({ thinking: 'hm', calls: [{ name: 'f' }] })
    assert.ok(!('previous_response_id' in last()))
    assert.ok(itemsOf(last()).length > 5)
    ask({ text: 'done' })
    assert.ok('previous_response_id' in last())
    assert.equal(itemsOf(last()).length, 1)
  })
}

test('stateful: what another family kept, what was cut and what has odd ids is not gone on from', () => {
  for (const turn of [
    { calls: [{ name: 'f', text: '{"a', cut: true }] },
    { calls: [{ name: 'f', id: 'x'.repeat(65) }] },
  ] satisfies ScriptedTurn[]) {
    const { ask, history, last } = conversation(stateful)
    history.push(user('x'))
    ask(turn)
    ask({ text: 'done' })
    assert.ok(!('previous_response_id' in last()))
  }
  const { ask, history, last } = conversation(stateful)
  history.push(user('x'))
  ask(busy)
  ask({ text: 'done' }, { ...stateful, family: 'other' })
  assert.ok(!('previous_response_id' in last()))
})

test('a session may become stateful and stop being so at any step', () => {
  const { ask, history } = conversation(target)
  history.push(user('x'))
  for (const step of [target, stateful, stateful, target, stateful, target]) ask(busy, step)
  ask({ text: 'done' })
  assert.equal(history.length, 14)
})

// ---- failures --------------------------------------------------------------------------------------------

test('statuses: what may be tried again, and when', () => {
  const error = (code: string | null) => ({ error: { message: 'words', type: 't', param: null, code } })
  const failure = (status: number, headers: Record<string, string> = {}, body: Json | string = error(null)) =>
    openaiResponses.failure(status, new Headers(headers), body)
  assert.deepEqual(failure(400), { code: 'model_rejected', message: '400: words', retry: false })
  assert.equal(failure(401).retry, false)
  assert.deepEqual(failure(429, { 'retry-after': '2' }), {
    code: 'model_failed',
    message: '429: words',
    retry: true,
    retryAfterMs: 2000,
  })
  assert.equal(failure(429, { 'retry-after-ms': '1500', 'retry-after': '9' }).retryAfterMs, 1500)
  const dates = { date: 'Mon, 01 Jan 2024 00:00:00 GMT', 'retry-after': 'Mon, 01 Jan 2024 00:00:03 GMT' }
  assert.equal(failure(429, dates).retryAfterMs, 3000)
  assert.equal(failure(429, {}, error('insufficient_quota')).retry, false)
  assert.equal(failure(503, {}, '<html>').message, '503: <html>')
  assert.equal(failure(500, {}, '').message, '500: The model provider answered 500.')
  assert.deepEqual([failure(504).code, failure(408).code], ['model_timeout', 'model_timeout'])
  assert.equal(failure(500, { 'x-should-retry': 'false' }).retry, false)
  assert.match(failure(400, {}, error('previous_response_not_found')).message, /set stateful to false/)
})

test('initial takes only what this protocol prepared', () => {
  const stranger: Prepared = {
    path: '/',
    headers: {},
    body: '{}',
    warnings: [],
    names: new Map(),
    encoded: 0,
  }
  assert.throws(() => openaiResponses.initial(stranger), /prepare\(\)/)
})
