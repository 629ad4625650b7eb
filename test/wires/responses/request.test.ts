// Requests: the fields that are accepted, and how others are refused.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Model, ModelRequest } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { agentOf } from '../aap/rig.ts'
import { obedient } from '../obedient.ts'
import { call, eventsOf, nested, ok, output, type Rig, refused, rig, textOf, user, weather } from './rig.ts'

/** A model that keeps what it was asked. */
function listening(text = 'hello') {
  const asked: ModelRequest[] = []
  const inner = scripted(request => obedient(request, { text }))
  return {
    asked,
    model: {
      id: 'listening',
      respond(...args: Parameters<typeof inner.respond>) {
        // The history goes on growing.
        asked.push({ ...args[0], history: [...args[0].history] })
        return inner.respond(...args)
      },
    },
  }
}

test(
  cites(
    'RESP-REQ-01',
    'RESP-REQ-02',
    'model names an agent or a configured model; auto and default mean the first agent',
  ),
  async t => {
    const other = { ...agentOf({ script: [{ text: 'from the other' }] }, []), name: 'other' }
    const at = await rig(t, { more: [other], models: { swift: scripted([{ text: 'swiftly' }]) } })
    const said = async (model: string): Promise<[string, unknown]> => {
      const body = await ok(at.post({ model, input: 'x' }))
      return [textOf(body), body['model']]
    }
    assert.deepEqual(await said('helper'), ['hello', 'helper'])
    assert.deepEqual(await said('other'), ['from the other', 'other'])
    assert.deepEqual(await said('swift'), ['swiftly', 'swift'])
    assert.deepEqual(await said('auto'), ['hello', 'helper'])
    assert.deepEqual(await said('default'), ['hello', 'helper'])
  },
)

test(cites('RESP-REQ-03', 'an unknown model is 404'), async t => {
  const at = await rig(t)
  const error = await refused(at.post({ model: 'nobody', input: 'x' }))
  assert.deepEqual([error.status, error.code, error.param], [404, 'model_not_found', 'model'])
})

test(cites('RESP-REQ-04', 'RESP-REQ-05', 'the path or agent_id may name the agent'), async t => {
  const at = await rig(t)
  const routed = await ok(at.post({ model: 'whatever', input: 'x' }, {}, '/v1/responses/helper'))
  assert.equal(routed['model'], 'helper')
  assert.equal((await refused(at.post({ model: 'm', input: 'x' }, {}, '/v1/responses/none'))).status, 404)
  assert.equal(textOf(await ok(at.post({ model: 'm', agent_id: 'helper', input: 'x' }))), 'hello')
  assert.equal((await refused(at.post({ model: 'm', agent_id: 'none', input: 'x' }))).status, 404)
  const both = await refused(at.post({ model: 'm', agent_id: 'helper', routing: 'fastest', input: 'x' }))
  assert.deepEqual([both.status, both.code], [400, 'mutually_exclusive_parameters'])
  assert.equal(textOf(await ok(at.post({ model: 'auto', routing: 'cheapest', input: 'x' }))), 'hello')
})

test(cites('RESP-REQ-06', 'RESP-ITEM-01', 'input is a text or items of every role'), async t => {
  const { asked, model } = listening()
  const at = await rig(t, { model })
  await ok(at.post({ model: 'helper', input: 'one' }))
  await ok(
    at.post({
      model: 'helper',
      input: [
        { type: 'message', role: 'system', content: 'sys' },
        { role: 'developer', content: [{ type: 'input_text', text: 'dev' }] },
        user([{ type: 'input_text', text: 'two' }]),
        { role: 'assistant', content: [{ type: 'output_text', text: 'said', annotations: [] }] },
        user('three'),
      ],
    }),
  )
  assert.deepEqual(asked[0]?.history, [{ role: 'user', parts: [{ type: 'text', text: 'one' }] }])
  assert.deepEqual(asked[1]?.history, [
    { role: 'system', text: 'sys' },
    { role: 'system', text: 'dev' },
    { role: 'user', parts: [{ type: 'text', text: 'two' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'said' }] },
    { role: 'user', parts: [{ type: 'text', text: 'three' }] },
  ])
})

test(
  cites(
    'RESP-REQ-10',
    'RESP-REQ-11',
    'RESP-REQ-12',
    'RESP-REQ-13',
    'RESP-RES-03',
    'settings reach the model, and the response repeats them',
  ),
  async t => {
    const { asked, model } = listening()
    const origin = { protocol: 'openai-responses', family: 'x' }
    const at = await rig(t, { model: { ...model, origin }, agent: { system: 'Own.' } })
    const given = {
      temperature: 0.2,
      top_p: 0.9,
      reasoning: { effort: 'low', summary: null },
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      metadata: { a: 'b' },
      truncation: 'auto',
      user: 'me',
      max_tool_calls: 3,
    }
    const more = { instructions: 'Be brief.', max_output_tokens: 99, parallel_tool_calls: false }
    const body = await ok(at.post({ model: 'helper', input: 'x', ...given, ...more }))
    assert.equal(asked[0]?.system, 'Own.\n\nBe brief.')
    assert.equal(asked[0]?.maxTokens, 99)
    assert.equal(asked[0]?.parallel, false)
    assert.deepEqual(asked[0]?.body, { 'openai-responses': given })
    for (const [name, value] of Object.entries({ ...given, ...more }))
      assert.deepEqual(body[name], value, name)
  },
)

test(cites('RESP-RES-03', 'what a model is not given is not repeated'), async t => {
  const { asked, model } = listening()
  const origin = { protocol: 'anthropic', family: 'x' }
  const at = await rig(t, { model: { ...model, origin } })
  const schema = { type: 'object', properties: {} }
  const format = { type: 'json_schema', name: 'thing', schema }
  const given = { temperature: 0.2, top_p: 0.5, truncation: 'auto', reasoning: { effort: 'low' } }
  const text = { format, verbosity: 'low' }
  const body = await ok(at.post({ model: 'helper', input: 'x', ...given, text, metadata: { a: 'b' } }))
  assert.ok(asked[0]?.format)
  assert.deepEqual(body['text'], { format: { ...format, description: null, strict: false } })
  assert.deepEqual(
    [body['temperature'], body['top_p'], body['truncation'], body['reasoning'], body['metadata']],
    [1, 1, 'disabled', null, { a: 'b' }],
  )
})

test(cites('RESP-RES-11', 'the phase of a message is kept in both directions'), async t => {
  const asked: ModelRequest[] = []
  const parts = [
    { type: 'text', text: 'Looking.', phase: 'commentary' },
    { type: 'text', text: 'Found.', phase: 'final_answer' },
  ] as const
  const model: Model = {
    id: 'phased',
    respond: async (request, watch) => {
      asked.push(request)
      for (const part of parts) watch(part)
      return { parts: [...parts], stop: 'end' }
    },
  }
  const at = await rig(t, { model })
  for (const store of [true, false])
    for (const stream of [true, false]) {
      const first = { model: 'helper', input: 'x', store, stream }
      const answer = at.post(first)
      const body = stream ? (await eventsOf(answer)).at(-1)!.response : await ok(answer)
      assert.deepEqual(
        body.output.map(item => item['phase']),
        ['commentary', 'final_answer'],
      )
      const items = [user('x'), ...body.output, user('y')]
      await ok(at.post({ model: 'helper', input: items, store: false }))
      const said = asked.at(-1)?.history.find(({ role }) => role === 'assistant')
      assert.deepEqual(said?.role === 'assistant' && said.parts, parts)
    }
})

test(cites('RESP-REQ-07', 'RESP-REQ-08', 'unknown and moved parameters are refused'), async t => {
  const at = await rig(t)
  const unknown = await refused(at.post({ model: 'helper', input: 'x', colour: 'red' }))
  assert.deepEqual(
    [unknown.status, unknown.message, unknown.param, unknown.code],
    [400, "Unknown parameter: 'colour'.", 'colour', 'unknown_parameter'],
  )
  const moved = await refused(at.post({ model: 'helper', input: 'x', max_tokens: 5 }))
  assert.match(moved.message, /has moved to 'max_output_tokens'/)
  const none = await refused(at.post({ model: 'helper', input: 'x', prompt: { id: 'p' } }))
  assert.equal(none.code, 'unsupported_parameter')
})

const wrong: [string, unknown, string][] = [
  ['stream', 'yes', 'stream'],
  ['store', 1, 'store'],
  ['temperature', 'hot', 'temperature'],
  ['max_output_tokens', 0, 'max_output_tokens'],
  ['max_output_tokens', 1.5, 'max_output_tokens'],
  ['tools', {}, 'tools'],
  ['instructions', 5, 'instructions'],
  ['include', ['all'], 'include[0]'],
  ['text', { format: { type: 'xml' } }, 'text.format.type'],
  ['text', { format: { type: 'json_schema', name: 'x' } }, 'text.format.schema'],
  ['reasoning', 'much', 'reasoning'],
  ['truncation', 'always', 'truncation'],
  ['tool_choice', 'maybe', 'tool_choice'],
  ['tool_choice', 7, 'tool_choice'],
  ['previous_response_id', 7, 'previous_response_id'],
  ['conversation', { name: 'x' }, 'conversation.id'],
  ['parallel_tool_calls', 'no', 'parallel_tool_calls'],
  ['input', { role: 'user' }, 'input'],
  ['model', 3, 'model'],
]

test(cites('RESP-REQ-09', 'RESP-ERR-01', 'a parameter of the wrong type is refused'), async t => {
  const at = await rig(t)
  for (const [name, value, param] of wrong) {
    const error = await refused(at.post({ model: 'helper', input: 'x', [name]: value }))
    assert.deepEqual([error.status, error.param, error.type], [400, param, 'invalid_request_error'], name)
    assert.ok(typeof error.code === 'string' && error.code !== '')
  }
})

test(cites('RESP-REQ-14', 'metadata is bounded'), async t => {
  const at = await rig(t)
  const send = (metadata: object) => refused(at.post({ model: 'helper', input: 'x', metadata }))
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v']))
  for (const metadata of [many, { a: 5 }, { ['k'.repeat(65)]: 'v' }, { a: 'v'.repeat(513) }])
    assert.equal((await send(metadata)).status, 400)
})

test(cites('RESP-REQ-15', 'a request without input is 400'), async t => {
  const at = await rig(t)
  for (const input of [undefined, null, '', []])
    assert.deepEqual((await refused(at.post({ model: 'helper', input }))).status, 400)
  assert.equal((await refused(at.post({ input: 'x' }))).param, 'model')
})

// ---- items --------------------------------------------------------------------------------------------------------------

const pixel = 'iVBORw0KGgo='

test(
  cites('RESP-ITEM-02', 'RESP-ITEM-03', 'RESP-ITEM-14', 'images and files are accepted in both forms'),
  async t => {
    const { asked, model } = listening()
    const at = await rig(t, { model })
    await ok(
      at.post({
        model: 'helper',
        tools: [weather],
        input: [
          user([
            { type: 'input_image', image_url: 'https://a.test/x.png', detail: 'low' },
            { type: 'input_image', source: { type: 'url', url: 'https://a.test/y.png' } },
            { type: 'input_image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
            { type: 'input_file', file_data: `data:application/pdf;base64,${pixel}`, filename: 'a.pdf' },
            { type: 'input_file', file_url: 'https://a.test/b.pdf' },
            {
              type: 'input_file',
              source: { type: 'base64', media_type: 'text/plain', data: pixel, filename: 'c.txt' },
            },
          ]),
          call('call_1'),
          {
            type: 'function_call_output',
            call_id: 'call_1',
            output: [
              { type: 'input_text', text: 'look' },
              { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
            ],
          },
        ],
      }),
    )
    const [first, , last] = asked[0]!.history
    assert.deepEqual(first?.role === 'user' && first.parts, [
      { type: 'image', url: 'https://a.test/x.png' },
      { type: 'image', url: 'https://a.test/y.png' },
      { type: 'image', url: `data:image/png;base64,${pixel}` },
      {
        type: 'file',
        url: `data:application/pdf;base64,${pixel}`,
        mediaType: 'application/pdf',
        name: 'a.pdf',
      },
      { type: 'file', url: 'https://a.test/b.pdf', mediaType: 'application/pdf' },
      { type: 'file', url: `data:text/plain;base64,${pixel}`, mediaType: 'text/plain', name: 'c.txt' },
    ])
    const outcome = last?.role === 'tool' ? last.results[0]?.outcome : undefined
    assert.deepEqual(outcome?.parts[1], { type: 'image', url: `data:image/png;base64,${pixel}` })
  },
)

test(
  cites('RESP-ITEM-02', 'images that the agent does not accept, and malformed addresses, are refused'),
  async t => {
    const at = await rig(t, { agent: { images: { http: false, data: false } } })
    const parts = [
      { type: 'input_image', image_url: 'https://a.test/x.png' },
      { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
      { type: 'input_image', image_url: 'file:///etc/passwd' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', file_url: 'http://a.test/x' },
      { type: 'input_file', file_data: 'data:application/pdf,plain' },
      { type: 'input_audio', data: 'x' },
    ]
    for (const part of parts) {
      const error = await refused(at.post({ model: 'helper', input: [user([part])] }))
      assert.equal(error.status, 400)
      assert.match(error.param ?? '', /^input\[0\]\.content\[0\]/)
    }
  },
)

async function pairing(at: Rig, input: object[]): Promise<[number, string]> {
  const error = await refused(at.post({ model: 'helper', tools: [weather], input }))
  return [error.status, error.message]
}

test(
  cites('RESP-ITEM-04', 'RESP-ITEM-05', 'calls and outputs must pair; the errors are those of the API'),
  async t => {
    const at = await rig(t)
    const missing = 'No tool output found for function call call_a.'
    const orphan = 'No tool call found for function call output with call_id call_a.'
    assert.deepEqual(await pairing(at, [user('x'), call('call_a')]), [400, missing])
    assert.deepEqual(await pairing(at, [user('x'), call('call_a'), user('y')]), [400, missing])
    assert.deepEqual(await pairing(at, [user('x'), call('call_a'), call('call_b'), output('call_b')]), [
      400,
      missing,
    ])
    assert.deepEqual(await pairing(at, [user('x'), output('call_a')]), [400, orphan])
    assert.deepEqual(await pairing(at, [user('x'), output('call_a'), call('call_a')]), [400, orphan])
    assert.deepEqual(
      await pairing(at, [user('x'), call('call_a'), output('call_a'), output('call_a')]),
      [400, orphan],
      'one to one',
    )
  },
)

test(cites('RESP-ITEM-06', 'a call_id has a maximum length and is used once'), async t => {
  const at = await rig(t)
  const long = 'c'.repeat(73)
  const [status, message] = await pairing(at, [user('x'), call(long), output(long)])
  assert.equal(status, 400)
  assert.equal(
    message,
    "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 73 instead.",
  )
  const twice = await pairing(at, [
    user('x'),
    call('call_a'),
    output('call_a'),
    call('call_a'),
    output('call_a'),
  ])
  assert.match(twice[1], /^Duplicate call_id 'call_a'/)
  const custom = { type: 'custom_tool_call', call_id: 'call_c', name: 'patch', input: '+x' }
  const otherType = await pairing(at, [user('x'), custom, output('call_c')])
  assert.match(otherType[1], /^No tool call found for function call output with call_id call_c/)
  assert.equal((await pairing(at, [user('x'), call('')]))[0], 400)
})

test(
  cites(
    'RESP-ITEM-15',
    'RESP-ITEM-07',
    'the model reads outputs in the order of the calls, custom calls included',
  ),
  async t => {
    const { asked, model } = listening()
    const at = await rig(t, { model })
    const custom = { type: 'custom_tool_call', call_id: 'call_c', name: 'patch', input: '+x' }
    const patched = { type: 'custom_tool_call_output', call_id: 'call_c', output: 'ok' }
    await ok(
      at.post({
        model: 'helper',
        tools: [weather, { type: 'custom', name: 'patch' }],
        input: [
          user('x'),
          call('call_a', 'A'),
          call('call_b', 'B'),
          custom,
          patched,
          output('call_b', 'b'),
          user('y'),
          output('call_a', 'a'),
        ],
      }),
    )
    const [, answer, results, after] = asked[0]!.history
    assert.deepEqual(answer?.role === 'assistant' && answer.parts[2], {
      type: 'call',
      id: 'call_c',
      name: 'patch',
      form: 'text',
      text: '+x',
    })
    assert.deepEqual(
      results?.role === 'tool' && results.results.map(({ callId, outcome }) => [callId, outcome.parts[0]]),
      [
        ['call_a', { type: 'text', text: 'a' }],
        ['call_b', { type: 'text', text: 'b' }],
        ['call_c', { type: 'text', text: 'ok' }],
      ],
    )
    assert.equal(after?.role, 'user')
  },
)

test(cites('RESP-ITEM-13', 'a call that was cut off may come back without an output'), async t => {
  const { asked, model } = listening()
  const at = await rig(t, { model })
  await ok(
    at.post({ model: 'helper', input: [user('x'), { ...call('call_a'), status: 'incomplete' }, user('y')] }),
  )
  assert.deepEqual(
    asked[0]?.history.map(entry => entry.role),
    ['user', 'user'],
  )
})

test(cites('RESP-ITEM-12', 'unknown types and members are refused'), async t => {
  const at = await rig(t)
  const bad: [object, string][] = [
    [{ type: 'web_search_call', id: 'ws_1' }, 'input[0].type'],
    [{ type: 'message', role: 'tool', content: 'x' }, 'input[0].role'],
    [{ type: 'message', content: 'x' }, 'input[0].role'],
    [{ type: 'message', role: 'user', content: 'x', colour: 1 }, 'input[0].colour'],
    [{ ...call('c'), colour: 1 }, 'input[0].colour'],
    [{ type: 'function_call', call_id: 'c', name: 'x' }, 'input[0].arguments'],
    [{ type: 'function_call_output', call_id: 'c' }, 'input[0].output'],
    [user([{ type: 'input_text', text: 'x', colour: 1 }]), 'input[0].content[0].colour'],
    [user([{ type: 'input_text' }]), 'input[0].content[0].text'],
    [{ content: 'x' }, 'input[0].type'],
    [[], 'input[0]'],
    ['x' as unknown as object, 'input[0]'],
    [{ type: 'toString' }, 'input[0].type'],
  ]
  for (const [item, param] of bad) {
    const error = await refused(at.post({ model: 'helper', input: [item] }))
    assert.deepEqual([error.status, error.param], [400, param])
  }
})

// ---- tools --------------------------------------------------------------------------------------------------------------

test(
  cites(
    'RESP-TOOL-01',
    'RESP-TOOL-02',
    'RESP-TOOL-03',
    'RESP-TOOL-13',
    'tools reach the model in every form',
  ),
  async t => {
    const { asked, model } = listening()
    const at = await rig(t, { model })
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const body = await ok(
      at.post({
        model: 'helper',
        input: 'x',
        tools: [
          { ...weather, strict: true },
          { ...nested, function: { ...nested.function, name: 'other' } },
          { type: 'custom', name: 'patch', description: 'Patches.', format: grammar },
          { type: 'custom', name: 'free' },
          { type: 'function', name: 'bare' },
        ],
      }),
    )
    assert.deepEqual(
      asked[0]?.tools.map(tool => [tool.name, tool.side, tool.input]),
      [
        ['get_weather', 'client', { form: 'json', schema: weather.parameters, strict: true }],
        ['other', 'client', { form: 'json', schema: weather.parameters }],
        ['patch', 'client', { form: 'text', grammar: { syntax: 'lark', definition: 'start: "x"' } }],
        ['free', 'client', { form: 'text' }],
        ['bare', 'client', { form: 'json', schema: { type: 'object', properties: {} } }],
      ],
    )
    const shown = body['tools'] as { type: string; name: string; strict?: unknown; format?: unknown }[]
    assert.deepEqual([shown[0]?.strict, shown[1]?.name, shown[2]?.format], [true, 'other', grammar])
  },
)

test(cites('RESP-TOOL-04', 'RESP-TOOL-05', 'RESP-TOOL-06', 'tool choices reach the model'), async t => {
  const { asked, model } = listening()
  const at = await rig(t, { model })
  const tools = [weather, { type: 'custom', name: 'patch' }]
  const flat = { type: 'function', name: 'get_weather' }
  const choices: [unknown, unknown][] = [
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [flat, { tool: 'get_weather' }],
    [{ type: 'function', function: { name: 'get_weather' } }, { tool: 'get_weather' }],
    [{ type: 'custom', name: 'patch' }, { tool: 'patch' }],
    [
      { type: 'allowed_tools', mode: 'required', tools: [flat] },
      { allowed: ['get_weather'], mode: 'required' },
    ],
  ]
  for (const [tool_choice, expected] of choices) {
    const before = asked.length
    await ok(at.post({ model: 'helper', input: 'x', tools, tool_choice }))
    assert.deepEqual(asked[before]?.choice, expected)
  }
})

test(
  cites('RESP-TOOL-07', 'RESP-TOOL-08', 'RESP-TOOL-10', 'unsupported tools and choices are refused'),
  async t => {
    const at = await rig(t)
    const send = (more: object) => refused(at.post({ model: 'helper', input: 'x', ...more }))
    assert.equal((await send({ tool_choice: 'required' })).param, 'tool_choice')
    assert.equal(
      (await send({ tools: [weather], tool_choice: { type: 'function', name: 'no' } })).param,
      'tool_choice',
    )
    const kinds = ['mcp', 'file_search', 'code_interpreter', 'toString']
    for (const type of kinds) {
      const error = await send({ tools: [{ type, server_label: 'x', server_url: 'http://169.254.169.254' }] })
      assert.deepEqual([error.status, error.param], [400, 'tools[0].type'])
    }
    assert.equal((await send({ tools: [weather, weather] })).code, 'duplicate_tool')
    assert.equal((await send({ tools: [{ type: 'function' }] })).param, 'tools[0].name')
    assert.equal((await send({ tools: [{ ...weather, colour: 1 }] })).param, 'tools[0].colour')
    assert.equal(
      (await send({ tools: [{ ...weather, parameters: { $ref: 'http://127.0.0.1/x' } }] })).status,
      400,
    )
    assert.equal(
      (await send({ tools: [{ type: 'custom', name: 'x', format: { type: 'xml' } }] })).status,
      400,
    )
  },
)

// ---- the body itself ------------------------------------------------------------------------------------------------------

test(cites('RESP-ERR-02', 'RESP-ERR-03', 'bodies that cannot be read are refused'), async t => {
  const at = await rig(t, { limits: { bodyBytes: 2000 } })
  const deep = `{"model":"helper","input":${'['.repeat(40)}${']'.repeat(40)}}`
  for (const body of ['{', '[]', '"x"', deep, '{"model":"helper","model":"x","input":"y"}'])
    assert.deepEqual((await refused(at.post(body))).status, 400)
  assert.equal((await refused(at.post({ model: 'helper', input: 'x'.repeat(3000) }))).status, 413)
  const gzip = await refused(at.post({ model: 'helper', input: 'x' }, { 'content-encoding': 'gzip' }))
  assert.equal(gzip.status, 415)
})

test(
  cites('RESP-ERR-05', 'RESP-MODL-01', 'RESP-MODL-02', 'models are listed, and unknown paths are 404'),
  async t => {
    const at = await rig(t, { models: { swift: scripted([{ text: 'x' }]) } })
    const list = (await (await at.get('/v1/models')).json()) as { object: string; data: { id: string }[] }
    assert.deepEqual([list.object, list.data.map(model => model.id)], ['list', ['helper', 'swift']])
    const one = (await (await at.get('/v1/models/helper')).json()) as object
    assert.deepEqual(Object.keys(one), ['id', 'object', 'created', 'owned_by'])
    assert.equal((await refused(at.get('/v1/models/none'))).code, 'model_not_found')
    assert.equal((await refused(at.get('/v1/responses/x/y/z'))).status, 404)
    assert.equal((await refused(at.get('/v1/responses/resp_none_1'))).status, 404)
  },
)
