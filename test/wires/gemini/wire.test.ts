// generateContent over HTTP: requests and how they are refused, answers, and streams.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import type { Model, ModelRequest } from '../../../src/engine/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { obedient } from '../obedient.ts'
import { framesOf, serve } from '../stateless/rig.ts'

const whole = '/v1beta/models/helper:generateContent'
const stream = '/v1beta/models/helper:streamGenerateContent?alt=sse'
const user = { role: 'user', parts: [{ text: 'hi' }] }
const declaration = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'OBJECT',
    properties: { city: { type: 'STRING', nullable: true }, days: { type: 'INTEGER', format: 'int32' } },
    required: ['city'],
    propertyOrdering: ['city', 'days'],
  },
}
const tools = [{ functionDeclarations: [declaration] }]
const call = (more: object = {}) => ({ functionCall: { name: 'weather', args: { city: 'Oslo' }, ...more } })
const answer = (more: object = {}) => ({
  functionResponse: { name: 'weather', response: { output: 'rain' }, ...more },
})
const model = (...parts: unknown[]) => ({ role: 'model', parts })
const said = (...parts: unknown[]) => ({ role: 'user', parts })

function recorder(): { model: Model; asked: ModelRequest[] } {
  const asked: ModelRequest[] = []
  return {
    asked,
    model: scripted(request => {
      asked.push({ ...request, history: [...request.history] })
      return obedient(request, { text: 'yes' })
    }),
  }
}

describe('a request is read', () => {
  test('contents, parts and responses become one history', async t => {
    const { model: helper, asked } = recorder()
    const { post } = await serve(t, { helper })
    const response = await post(whole, {
      systemInstruction: { parts: [{ text: 'Be short.' }] },
      contents: [
        said({ text: 'look' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }),
        model({ text: 'hm', thought: true }, { text: 'well' }, call({ id: 'f1' }), call({ id: 'f2' })),
        said(
          answer({ id: 'f2', response: { error: 'no such city' } }),
          answer({ id: 'f1', response: { degrees: 3 } }),
          { text: 'and?' },
        ),
      ],
      tools,
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } },
      generationConfig: { maxOutputTokens: 99, temperature: 0.5 },
      safetySettings: [],
    })
    assert.equal(response.status, 200)
    const [seen] = asked
    assert.equal(seen?.system, 'Be short.')
    assert.deepEqual(seen?.history[0], {
      role: 'user',
      parts: [
        { type: 'text', text: 'look' },
        { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' },
      ],
    })
    const results = seen?.history.find(entry => entry.role === 'tool')
    assert.deepEqual(
      results?.results.map(each => [each.callId, each.outcome.kind, each.outcome.parts]),
      [
        ['call_1_2', 'ok', [{ type: 'text', text: '{"degrees":3}' }]],
        ['call_1_3', 'error', [{ type: 'text', text: 'no such city' }]],
      ],
    )
    assert.deepEqual(seen?.history.at(-1), { role: 'user', parts: [{ type: 'text', text: 'and?' }] })
    assert.deepEqual(seen?.choice, { allowed: ['weather'], mode: 'required' })
    assert.equal(seen?.maxTokens, 99)
    assert.deepEqual(seen?.body, { gemini: { safetySettings: [], generationConfig: { temperature: 0.5 } } })
    assert.deepEqual(seen?.tools[0]?.input, {
      form: 'json',
      schema: {
        type: 'object',
        properties: { city: { type: ['string', 'null'] }, days: { type: 'integer' } },
        required: ['city'],
      },
    })
  })

  test('both spellings of a field, and schemas that are JSON Schema already', async t => {
    const { model: helper, asked } = recorder()
    const { post } = await serve(t, { helper })
    const schema = { type: 'object', properties: { q: { const: 1 } }, additionalProperties: false }
    const response = await post(whole, {
      system_instruction: { parts: { text: 'x' } },
      contents: [user],
    })
    assert.equal(response.status, 400)
    const second = await post(whole, {
      system_instruction: { parts: [{ text: 'x' }] },
      contents: [
        user,
        model({ function_call: { name: 'w', args: {} } }),
        said({ function_response: { name: 'w', response: {} } }),
      ],
      tools: [{ function_declarations: [{ name: 'w', parameters_json_schema: schema }] }],
      tool_config: { function_calling_config: { mode: 'NONE' } },
      generation_config: { max_output_tokens: 7 },
    })
    assert.equal(second.status, 200)
    assert.equal(asked[0]?.system, 'x')
    assert.equal(asked[0]?.choice, 'none')
    assert.equal(asked[0]?.maxTokens, 7)
    assert.deepEqual(asked[0]?.tools[0]?.input, { form: 'json', schema })
    assert.equal(asked[0]?.history.length, 3)
  })

  test('every mode of function calling', async t => {
    const { model: helper, asked } = recorder()
    const { post } = await serve(t, { helper })
    for (const [functionCallingConfig, expected] of [
      [{ mode: 'AUTO' }, 'auto'],
      [{ mode: 'NONE' }, 'none'],
      [{ mode: 'ANY' }, 'required'],
      [{ mode: 'VALIDATED' }, 'auto'],
      [
        { mode: 'VALIDATED', allowedFunctionNames: ['weather'] },
        { allowed: ['weather'], mode: 'auto' },
      ],
    ]) {
      assert.equal(
        (await post(whole, { contents: [user], tools, toolConfig: { functionCallingConfig } })).status,
        200,
      )
      assert.deepEqual(asked.at(-1)?.choice, expected)
    }
    assert.deepEqual(asked[3]?.body, {
      gemini: { toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } },
    })
  })
})

describe('a request is refused in the vendor’s words', () => {
  const counts =
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
  const callOrder =
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
  const responseOrder =
    'Please ensure that function response turn comes immediately after a function call turn.'
  const talk = (...contents: unknown[]) => ({ contents, tools })
  const cases: [name: string, body: unknown, message: string | RegExp][] = [
    ['fewer responses than calls', talk(user, model(call(), call()), said(answer())), counts],
    ['no response to a call', talk(user, model(call()), user), counts],
    ['a call at the end', talk(user, model(call())), counts],
    ['responses in two contents', talk(user, model(call(), call()), said(answer()), said(answer())), counts],
    ['a call at the beginning', talk(model(call()), said(answer())), callOrder],
    [
      'a call after a content of the model',
      talk(user, model({ text: 'x' }), model(call()), said(answer())),
      callOrder,
    ],
    ['a response without a call', talk(said(answer())), responseOrder],
    ['a response from the model', talk(user, model(answer())), responseOrder],
    [
      'a response without a name',
      talk(user, model(call()), said({ functionResponse: { response: {} } })),
      /Name cannot be empty/,
    ],
    [
      'a response that is text',
      talk(user, model(call()), said(answer({ response: 'rain' }))),
      /google\.protobuf\.Struct/,
    ],
    [
      'a response with the id of no call',
      talk(user, model(call({ id: 'a' })), said(answer({ id: 'b' }))),
      /"b" is not the id of an open function call/,
    ],
    [
      'a response with the name of no call',
      talk(user, model(call()), said(answer({ name: 'x' }))),
      /is not the name of an open function call/,
    ],
    [
      'a function name that begins with a digit',
      { contents: [user], tools: [{ functionDeclarations: [{ name: '1x' }] }] },
      /Invalid function name\. Must start with a letter or an underscore/,
    ],
    [
      'two functions with one name',
      { contents: [user], tools: [{ functionDeclarations: [declaration, declaration] }] },
      'Duplicate function declaration found: weather',
    ],
    [
      'a function with two schemas',
      { contents: [user], tools: [{ functionDeclarations: [{ ...declaration, parametersJsonSchema: {} }] }] },
      /only one of 'parameters' and 'parameters_json_schema'/,
    ],
    [
      'an unknown role',
      talk({ role: 'system', parts: [{ text: 'x' }] }),
      'Please use a valid role: user, model.',
    ],
    [
      'no contents',
      { contents: [] },
      'Unable to submit request because at least one contents field is required',
    ],
    ['a content without parts', talk({ role: 'user', parts: [] }), /contents\.parts must not be empty/],
    ['an empty part', talk(said({})), /required oneof field 'data' must have one initialized field/],
    [
      'a part with two kinds of data',
      talk(said({ text: 'x', inlineData: {} })),
      /oneof field 'data' is already set/,
    ],
    [
      'an unknown mode of function calling',
      { contents: [user], tools, toolConfig: { functionCallingConfig: { mode: 'SOME' } } },
      /FunctionCallingConfig\.Mode\), "SOME"/,
    ],
    [
      'allowed names in the mode AUTO',
      { contents: [user], tools, toolConfig: { functionCallingConfig: { allowedFunctionNames: ['x'] } } },
      /only when function calling mode is ANY or VALIDATED/,
    ],
    [
      'an unknown field',
      { contents: [user], prompt: 'x' },
      'Invalid JSON payload received. Unknown name "prompt": Cannot find field.',
    ],
    [
      'a tool of the vendor',
      { contents: [user], tools: [{ googleSearch: {} }] },
      /the model behind "helper" has no web search of its own/,
    ],
    [
      'a tool that only the vendor has',
      { contents: [user], tools: [{ codeExecution: {} }] },
      /codeExecution is not offered here/,
    ],
    ['two candidates', { contents: [user], generationConfig: { candidateCount: 2 } }, /one candidate/],
    [
      'a file that is not at an https address',
      talk(said({ fileData: { mimeType: 'image/png', fileUri: 'gs://a/b' } })),
      /https/,
    ],
    ['not JSON', '{', /Invalid JSON/],
  ]
  for (const [name, body, message] of cases)
    test(name, async t => {
      const { post } = await serve(t, { helper: recorder().model })
      const response = await post(whole, body)
      const { error } = (await response.json()) as {
        error: { code: number; message: string; status: string }
      }
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
      assert.equal(response.status, 400)
      assert.deepEqual([error.code, error.status], [400, 'INVALID_ARGUMENT'])
    })

  test('an unknown model or method is 404, a model that timed out is 504', async t => {
    const { post } = await serve(t, {
      helper: scripted([{ fail: { code: 'model_timeout', message: 'slow' } }]),
    })
    const unknown = await post('/v1beta/models/gemini-none:generateContent', { contents: [user] })
    assert.equal(unknown.status, 404)
    assert.match(await unknown.text(), /models\/gemini-none is not found for API version v1beta/)
    assert.equal((await post('/v1beta/models/helper:sing', { contents: [user] })).status, 404)
    const failed = await post(stream, { contents: [user] })
    assert.equal(failed.status, 504)
    assert.deepEqual(await failed.json(), {
      error: { code: 504, message: 'slow', status: 'DEADLINE_EXCEEDED' },
    })
  })
})

describe('an answer', () => {
  const helper = () =>
    scripted([
      {
        thinking: 'hm',
        text: 'look',
        chunk: 2,
        calls: [{ name: 'weather', input: { city: 'Oslo' } }],
        usage: { input: 10, output: 5, thinking: 2, cacheRead: 3 },
      },
    ])
  const usageMetadata = {
    promptTokenCount: 10,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    cachedContentTokenCount: 3,
    totalTokenCount: 15,
  }
  type Chunk = {
    candidates: {
      content: { parts: { text?: string; functionCall?: { id: string } }[] }
      finishReason?: string
    }[]
    usageMetadata?: object
  }

  test('has parts, a reason and usage; thoughts only when asked for', async t => {
    const { post } = await serve(t, { helper: helper() })
    for (const includeThoughts of [true, false]) {
      const response = await post(whole, {
        contents: [user],
        tools,
        generationConfig: { thinkingConfig: { includeThoughts } },
      })
      const made = (await response.json()) as Chunk
      const [candidate] = made.candidates
      const id = candidate?.content.parts.at(-1)?.functionCall?.id
      assert.deepEqual(candidate, {
        content: {
          role: 'model',
          parts: [
            ...(includeThoughts ? [{ text: 'hm', thought: true }] : []),
            { text: 'look' },
            { functionCall: { id, name: 'weather', args: { city: 'Oslo' } } },
          ],
        },
        index: 0,
        finishReason: 'STOP',
      })
      assert.deepEqual(made.usageMetadata, usageMetadata)
    }
  })

  test('comes in chunks, with the call whole in the last', async t => {
    const { post } = await serve(t, { helper: helper() })
    const frames = await framesOf(await post(stream, { contents: [user], tools }))
    const chunks = frames.map(({ data }) => JSON.parse(data) as Chunk)
    assert.deepEqual(
      chunks.map(({ candidates: [candidate] }) => [
        candidate?.content.parts.map(part => part.text ?? 'call'),
        candidate?.finishReason,
      ]),
      [
        [['lo'], undefined],
        [['ok'], undefined],
        [['call'], 'STOP'],
      ],
    )
    assert.deepEqual(chunks.at(-1)?.usageMetadata, usageMetadata)
  })

  test('comes as a list without alt=sse', async t => {
    const { post } = await serve(t, { helper: helper() })
    const made = (await (
      await post(stream.replace('?alt=sse', ''), { contents: [user], tools })
    ).json()) as Chunk[]
    assert.equal(made.length, 1)
    assert.equal(made[0]?.candidates[0]?.finishReason, 'STOP')
  })

  test('gives every reason to stop', async t => {
    for (const [stop, reason] of [
      ['end', 'STOP'],
      ['length', 'MAX_TOKENS'],
      ['refusal', 'SAFETY'],
      ['filter', 'SAFETY'],
    ] as const) {
      const { post } = await serve(t, { helper: scripted([{ text: 'no', stop }]) })
      const made = (await (await post(whole, { contents: [user] })).json()) as Chunk
      assert.equal(made.candidates[0]?.finishReason, reason)
    }
  })

  test('that fails in mid-stream ends with an error', async t => {
    const { post } = await serve(t, {
      helper: scripted([
        { text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } },
      ]),
    })
    const frames = await framesOf(await post(stream, { contents: [user] }))
    assert.deepEqual(JSON.parse(frames.at(-1)?.data ?? ''), {
      error: { code: 502, message: 'gone', status: 'INTERNAL' },
    })
  })
})

test('models are listed, agents first', async t => {
  const { url } = await serve(
    t,
    { helper: recorder().model, other: recorder().model },
    { config: { models: { 'spare-1': recorder().model } } },
  )
  const { models } = (await (await fetch(`${url}/v1beta/models`)).json()) as { models: { name: string }[] }
  assert.deepEqual(
    models.map(each => each.name),
    ['models/helper', 'models/other', 'models/spare-1'],
  )
  const one = (await (await fetch(`${url}/v1beta/models/spare-1`)).json()) as {
    supportedGenerationMethods: string[]
  }
  assert.deepEqual(one.supportedGenerationMethods, [
    'generateContent',
    'streamGenerateContent',
    'countTokens',
  ])
  assert.equal((await fetch(`${url}/v1beta/models/none`)).status, 404)
})

test('the list under /v1 has the form of the client that asks for it', async t => {
  const { url } = await serve(t, { helper: recorder().model })
  const read = async (path: string, headers: Record<string, string>): Promise<object> =>
    (await (await fetch(`${url}/v1/models${path}`, { headers })).json()) as object
  for (const headers of [{ 'x-goog-api-key': 'any' }, { 'x-goog-api-client': 'google-genai-sdk/3.1.0' }]) {
    assert.deepEqual(Object.keys(await read('', headers)), ['models'])
    assert.deepEqual(Object.entries(await read('/helper', headers))[0], ['name', 'models/helper'])
    assert.match(JSON.stringify(await read('/none', headers)), /API version v1,.*"status":"NOT_FOUND"/)
  }
  const anthropic = { 'anthropic-version': '2023-06-01', 'x-api-key': 'any' }
  assert.deepEqual(Object.keys(await read('', anthropic)), ['data', 'has_more', 'first_id', 'last_id'])
  assert.deepEqual(Object.entries(await read('/helper', anthropic))[0], ['type', 'model'])
  assert.match(JSON.stringify(await read('/none', anthropic)), /"type":"not_found_error"/)
  assert.deepEqual(Object.keys(await read('', {})), ['object', 'data'])
  assert.deepEqual(Object.entries(await read('/helper', {}))[0], ['id', 'helper'])
  assert.match(JSON.stringify(await read('/none', {})), /"code":"model_not_found"/)
})

test('a list is given in pages, and refuses a token that is of no page', async t => {
  const { model } = recorder()
  const { url } = await serve(t, { helper: model, other: model })
  const page = async (query: string): Promise<string> => (await fetch(`${url}/v1beta/models?${query}`)).text()
  assert.match(await page('pageSize=1'), /models\/helper".*"nextPageToken":"helper"\}$/)
  assert.match(
    await page('pageSize=1&pageToken=helper'),
    /^\{"models":\[\{"name":"models\/other"[^\]]*\]\}\]\}$/,
  )
  assert.match(await page('pageToken=none'), /page_token: .*"status":"INVALID_ARGUMENT"/)
})

test('a name with a slash is found, as the SDK writes it into the path', async t => {
  const { model } = recorder()
  const config = { models: { 'labs/one': model } }
  const { post, url } = await serve(t, { helper: model }, { config })
  const answer = await post('/v1/models/labs/one:generateContent', { contents: [user] })
  assert.equal(answer.status, 200, await answer.text())
  assert.match(await (await fetch(`${url}/v1beta/models/labs/one`)).text(), /"name":"models\/labs\/one"/)
})

test('the key comes in a header, never in the address', async t => {
  const { key, entry } = newKey('ana')
  const { post } = await serve(t, { helper: recorder().model }, { config: { server: { keys: [entry] } } })
  const body = { contents: [user] }
  assert.equal((await post(whole, body)).status, 401)
  assert.equal((await post(whole, body, { 'x-goog-api-key': key })).status, 200)
  assert.equal((await post(whole, body, { authorization: `Bearer ${key}` })).status, 200)
  for (const path of [whole, '/v1/models/helper:generateContent']) {
    const refused = await post(`${path}?key=${key}`, body)
    assert.equal(refused.status, 400)
    const { error } = (await refused.json()) as { error: { message: string } }
    assert.match(error.message, /x-goog-api-key/)
    assert.equal(error.message.includes(key), false)
  }
})
