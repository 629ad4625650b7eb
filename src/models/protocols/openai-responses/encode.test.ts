// Requests: histories, tools and settings, checked by the strict double; and error statuses.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Outcome, outcomeKinds } from '../../../language/calls.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import type { ToolChoice, ToolInput } from '../../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { checkRequestAll } from '../../../testing/doubles/index.ts'
import {
  accepted,
  bodyOf,
  call,
  conversation,
  itemsOf,
  outcome,
  request,
  results,
  target,
  tool,
  user,
} from './harness.test.ts'
import { openaiResponses } from './index.ts'

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

test('images and files in messages and in results', () => {
  const png = 'data:image/png;base64,iVBORw0KGgoAAAAN'
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

test('every outcome but ok says its kind in its text', () => {
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

test('an output is cut to the vendor’s limit, with a warning', () => {
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

test('long, empty, repeated and foreign call ids become ids that are allowed and unique', () => {
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

test('foreign artifacts are left out; text and calls stay', () => {
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

test('an empty history still has a user message', () => {
  accepted(request([]))
  accepted(request([{ role: 'user', parts: [] }]))
})

test('a result without its call is left out', () => {
  const body = accepted(request([results(['gone', outcome('x')]), user('go on')]))
  assert.equal(itemsOf(body).length, 1)
})

test('the body is well-formed Unicode', () => {
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

test('strict is always set, and true only if the schema allows it', () => {
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
    tool('f', json({ type: 'object', additionalProperties: true }, true)),
    tool('g', json({ anyOf: [closed, open] })),
  ]
  const prepared = openaiResponses.prepare(request([user('x')], { tools }), target)
  const body = bodyOf(prepared)
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  const sent = body['tools']
  assert.ok(Array.isArray(sent))
  assert.deepEqual(
    sent.filter(isJsonObject).map(({ strict }) => strict),
    [true, true, false, false, true, false, false],
  )
  assert.match(prepared.warnings.join(), /"f" is not offered as strict/)
})

test('dotted, clashing and long names are read back', () => {
  const given = ['fs.read', 'fs_read', 'fs read', 'x'.repeat(200), 'naïve', '']
  const prepared = openaiResponses.prepare(
    request([user('x')], { tools: given.map(name => tool(name)) }),
    target,
  )
  const body = bodyOf(prepared)
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  const sent = body['tools']
  assert.ok(Array.isArray(sent))
  const wire = sent.filter(isJsonObject).map(({ name }) => (typeof name === 'string' ? name : ''))
  assert.equal(new Set(wire).size, given.length)
  assert.deepEqual(
    wire.map(name => prepared.reading.names.get(name)),
    given,
  )
})

test('every form of choice', () => {
  const tools = [tool('fs.read'), tool('sql', { form: 'text' })]
  const wire = openaiResponses.prepare(request([], { tools }), target).reading.names
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

test('the smallest limit of tokens', () => {
  assert.equal(accepted(request([user('x')], { maxTokens: 5 }))['max_output_tokens'], 16)
})

test('the operator’s fields are sent, except those that replace the history', () => {
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
    new URL('../../../lib/grammar/fixtures/apply-patch.lark', import.meta.url),
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

// ---- failures --------------------------------------------------------------------------------------------

test('which statuses may be retried', () => {
  const error = (code: string | null) => ({ error: { message: 'words', type: 't', param: null, code } })
  const failure = (status: number, body: Json | string = error(null)) =>
    openaiResponses.failure(status, new Headers(), body)
  assert.deepEqual(failure(400), { code: 'model_rejected', message: '400: words', retry: false })
  assert.equal(failure(401).retry, false)
  assert.deepEqual(failure(429), { code: 'model_limited', message: '429: words', retry: true })
  assert.equal(failure(429, error('insufficient_quota')).retry, false)
  assert.equal(failure(503, '<html>').message, '503: <html>')
  assert.equal(failure(500, '').message, '500: The model provider answered 500.')
  assert.deepEqual([failure(504).code, failure(408).code], ['model_timeout', 'model_timeout'])
  assert.equal(failure(400, error('previous_response_not_found')).forgotten, true)
})
