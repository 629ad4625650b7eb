import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ApiError, type Content, GoogleGenAI } from '@google/genai'
import type { RunningDouble, ServeOptions } from '../double.ts'
import { startDouble } from '../vendors.ts'

async function open(
  t: TestContext,
  options: ServeOptions,
): Promise<{ double: RunningDouble; client: GoogleGenAI }> {
  const double = await startDouble({ vendor: 'gemini', apiKey: 'key', ...options })
  t.after(() => double.close())
  return {
    double,
    client: new GoogleGenAI({ apiKey: 'key', vertexai: false, httpOptions: { baseUrl: double.url } }),
  }
}

const name = 'gemini-3-pro'
const go: Content = { role: 'user', parts: [{ text: 'go' }] }
const config = {
  tools: [
    {
      functionDeclarations: [
        { name: 'read', parametersJsonSchema: { type: 'object', properties: { p: { type: 'string' } } } },
      ],
    },
  ],
}
const twice = [
  { name: 'read', input: { p: 'x' } },
  { name: 'read', input: { p: 'y' } },
]

test('the SDK generates content', async t => {
  const { client } = await open(t, { script: [{ text: 'hello', thinking: 'hm' }] })
  const response = await client.models.generateContent({ model: name, contents: 'hi' })
  assert.equal(response.text, 'hello')
  assert.equal(response.candidates?.[0]?.finishReason, 'STOP')
})

test('the SDK completes a tool loop and echoes signatures (whole)', async t => {
  const { client, double } = await open(t, { script: [{ calls: twice }, { text: 'done' }] })
  const first = await client.models.generateContent({ model: name, contents: [go], config })
  const calls = first.functionCalls ?? []
  assert.deepEqual(
    calls.map(one => one.args),
    [{ p: 'x' }, { p: 'y' }],
  )
  assert.ok(calls.every(one => one.id))
  const parts = calls.map(({ id, name: called }) => ({
    functionResponse: { ...(id && { id }), name: called!, response: { output: 1 } },
  }))
  const contents = [go, first.candidates![0]!.content!, { role: 'user', parts }]
  const second = await client.models.generateContent({ model: name, contents, config })
  assert.equal(second.text, 'done')
  assert.deepEqual(double.rejections(), [])
})

test('the SDK streams a tool loop, with bytes cut anywhere', async t => {
  const { client, double } = await open(t, {
    script: [
      {
        thinking: 'žluť',
        text: 'so 😀',
        calls: twice,
        chunk: 2,
        fault: [{ kind: 'split-utf8' }, { kind: 'crlf' }],
      },
      { text: 'done' },
    ],
  })
  const seen: Content['parts'] = []
  for await (const chunk of await client.models.generateContentStream({
    model: name,
    contents: [go],
    config,
  })) {
    seen.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  }
  const text = seen.filter(part => !part.thought).map(part => part.text ?? '')
  assert.equal(text.join(''), 'so 😀')
  const calls = seen.filter(part => part.functionCall)
  assert.deepEqual(
    calls.map(part => Boolean(part.thoughtSignature)),
    [true, false],
  )
  const parts = calls.map(part => ({
    functionResponse: {
      ...(part.functionCall?.id && { id: part.functionCall.id }),
      name: 'read',
      response: { output: 1 },
    },
  }))
  await client.models.generateContent({
    model: name,
    contents: [go, { role: 'model', parts: calls }, { role: 'user', parts }],
    config,
  })
  assert.deepEqual(double.rejections(), [])
})

test("Vertex paths are answered, and refusals there use Vertex's words", async t => {
  const { double } = await open(t, { script: [{ text: 'hi' }] })
  const send = (body: object): Promise<Response> =>
    fetch(`${double.url}/v1/projects/p/locations/l/publishers/google/models/${name}:generateContent`, {
      method: 'POST',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  assert.equal((await send({ contents: [go] })).status, 200)
  const unsigned = { role: 'model', parts: [{ functionCall: { name: 'read', args: { p: 'x' } } }] }
  const answered = { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: 1 } } }] }
  const refused = await send({ contents: [go, unsigned, answered], ...config })
  assert.equal(refused.headers.get('x-double-rule'), 'G-04')
  assert.match(
    await refused.text(),
    /Unable to submit request because function call `read` in the 2. content block is missing a thought_signature/,
  )
})

test('errors surface as ApiError with status and text', async t => {
  const { client, double } = await open(t, { script: [{ fault: { kind: 'overloaded' } }] })
  const isError = (status: number, says: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.status, status)
    assert.match(error.message, says)
    return true
  }
  await assert.rejects(
    client.models.generateContent({ model: name, contents: [{ role: 'tool', parts: [{ text: 'x' }] }] }),
    isError(400, /Please use a valid role/),
  )
  await assert.rejects(
    client.models.generateContent({ model: name, contents: 'x' }),
    isError(503, /UNAVAILABLE/),
  )
  await assert.rejects(
    client.models.generateContent({ model: name, contents: 'x' }),
    isError(422, /no more turns/),
  )
  const stranger = new GoogleGenAI({ apiKey: 'other', vertexai: false, httpOptions: { baseUrl: double.url } })
  await assert.rejects(
    stranger.models.generateContent({ model: name, contents: 'x' }),
    isError(400, /API key not valid/),
  )
  assert.deepEqual(
    double.rejections().map(rejection => rejection.rule),
    ['G-14', 'G-00'],
  )
})

const ENDS = [
  {
    turn: { fault: { kind: 'malformed-function-call' as const }, calls: twice },
    reason: 'MALFORMED_FUNCTION_CALL',
    calls: 0,
  },
  {
    turn: { fault: { kind: 'arguments' as const, text: '{"a":1}{"b":2}' }, calls: twice },
    reason: 'MALFORMED_FUNCTION_CALL',
    calls: 0,
  },
  {
    turn: { fault: { kind: 'max-tokens-in-arguments' as const }, calls: twice },
    reason: 'MAX_TOKENS',
    calls: 1,
  },
  { turn: { stop: 'RECITATION', text: 'x' }, reason: 'RECITATION', calls: 0 },
  { turn: { calls: twice, stop: 'end' }, reason: 'STOP', calls: 2 },
]
for (const { turn, reason, calls } of ENDS) {
  test(`a turn ${JSON.stringify(turn.fault ?? turn.stop)} ends with ${reason}`, async t => {
    const { client } = await open(t, { script: [turn, turn] })
    const whole = await client.models.generateContent({ model: name, contents: 'x', config })
    assert.equal(whole.candidates?.[0]?.finishReason, reason)
    assert.equal(whole.functionCalls?.length ?? 0, calls)
    let last: string | undefined
    let streamed = 0
    for await (const chunk of await client.models.generateContentStream({
      model: name,
      contents: 'x',
      config,
    })) {
      last = chunk.candidates?.[0]?.finishReason ?? last
      streamed += chunk.functionCalls?.length ?? 0
    }
    assert.deepEqual([last, streamed], [reason, calls])
  })
}

test('a blocked prompt has no candidates', async t => {
  const { client } = await open(t, { script: [{ stop: 'filter' }] })
  const response = await client.models.generateContent({ model: name, contents: 'x' })
  assert.equal(response.candidates, undefined)
  assert.equal(response.promptFeedback?.blockReason, 'PROHIBITED_CONTENT')
})

test('call ids can be left out, and older models have none', async t => {
  const { client } = await open(t, {
    script: [{ calls: twice, fault: { kind: 'omit-ids' } }, { calls: twice }],
  })
  for (const which of [name, 'gemini-2.5-flash']) {
    const response = await client.models.generateContent({ model: which, contents: 'x', config })
    assert.deepEqual(
      response.functionCalls?.map(one => one.id),
      [undefined, undefined],
    )
  }
})
