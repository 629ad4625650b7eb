// generateContent with the vendor's own SDK: with models that need no network, and through a codec to a strict double of
// every vendor, in a real loop of tool calls in which signatures come back to their maker.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError, type Content, type FunctionCall, GoogleGenAI, type Part } from '@google/genai'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { cities, double, serve, vendors, weather, weatherTurns } from '../stateless/rig.ts'

const conversation = () =>
  scripted([
    { text: 'Let me look.', chunk: 5, calls: cities, usage: { input: 10, output: 5 } },
    {
      text: 'Rain and sun.',
      chunk: 3,
      expect: { results: [{ text: 'Oslo: fine' }, { text: 'Rome: fine' }] },
    },
  ])

const config = {
  tools: [
    {
      functionDeclarations: [
        { name: 'weather', description: weather.description, parametersJsonSchema: weather.schema },
      ],
    },
  ],
}

/** Without `apiVersion` it uses the version of its choice: v1 from 3.0 on, v1beta before. */
const clientOf = (url: string, apiVersion?: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: url, ...(apiVersion && { apiVersion }) } })

/** One request, whole or folded from its stream as a client would: every part that came, in order. */
async function once(client: GoogleGenAI, stream: boolean, contents: Content[]): Promise<Part[]> {
  const request = { model: 'helper', contents, config }
  if (!stream) return (await client.models.generateContent(request)).candidates?.[0]?.content?.parts ?? []
  const parts: Part[] = []
  for await (const chunk of await client.models.generateContentStream(request))
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  return parts.filter(part => part.text !== '' || part.thoughtSignature !== undefined)
}

const answered = ({ id, name = '', args }: FunctionCall): Part => {
  const output = `${String(args?.['city'])}: fine`
  return { functionResponse: { ...(id !== undefined && { id }), name, response: { output } } }
}

async function talk(
  client: GoogleGenAI,
  stream: boolean,
  said: string,
  before: Content[] = [],
): Promise<Content[]> {
  const contents: Content[] = [...before, { role: 'user', parts: [{ text: said }] }]
  for (;;) {
    const parts = await once(client, stream, contents)
    contents.push({ role: 'model', parts })
    const calls = parts.flatMap(part => part.functionCall ?? [])
    if (calls.length === 0) return contents
    contents.push({ role: 'user', parts: calls.map(answered) })
  }
}

const textOf = (content: Content | undefined): string =>
  content?.parts?.map(part => part.text ?? '').join('') ?? ''

describe('@google/genai', () => {
  test('counts tokens, more for more', async t => {
    const { url } = await serve(t, { helper: conversation() })
    const count = async (contents: Content[]) =>
      (await clientOf(url).models.countTokens({ model: 'helper', contents })).totalTokens ?? 0
    const text = { role: 'user', parts: [{ text: 'How many tokens is this?' }] }
    const picture = { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] }
    assert.ok((await count([text])) > 5)
    assert.ok((await count([text, picture])) > (await count([text])) + 1000)
  })

  for (const version of ['v1', 'v1beta'])
    for (const stream of [false, true])
      test(`runs the tool loop${stream ? ' in streams' : ''} with ${version}`, async t => {
        const { url } = await serve(t, { helper: conversation() })
        const contents = await talk(clientOf(url, version), stream, 'weather?')
        assert.equal(textOf(contents.at(-1)), 'Rain and sun.')
      })

  test('reads text, calls, usage and errors', async t => {
    const { url } = await serve(t, { helper: conversation() })
    const client = clientOf(url)
    const response = await client.models.generateContent({ model: 'helper', contents: 'weather?', config })
    assert.equal(response.text, 'Let me look.')
    assert.deepEqual(
      response.functionCalls?.map(call => call.args),
      [{ city: 'Oslo' }, { city: 'Rome' }],
    )
    assert.equal(response.usageMetadata?.totalTokenCount, 15)
    await assert.rejects(
      client.models.generateContent({ model: 'none', contents: 'x' }),
      (error: unknown) => error instanceof ApiError && error.status === 404,
    )
  })

  test('lists agents and models', async t => {
    const { url } = await serve(t, { helper: conversation(), other: conversation(), third: conversation() })
    for (const version of [undefined, 'v1', 'v1beta'])
      for (const pageSize of [undefined, 1, 2, 3]) {
        const { models } = clientOf(url, version)
        const names: (string | undefined)[] = []
        for await (const model of await models.list(pageSize ? { config: { pageSize } } : {}))
          names.push(model.name)
        assert.deepEqual(names, ['models/helper', 'models/other', 'models/third'])
      }
    assert.equal((await clientOf(url).models.get({ model: 'other' })).name, 'models/other')
  })

  test('a stream that breaks is an error', async t => {
    const { url } = await serve(t, {
      helper: scripted([
        { text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } },
      ]),
    })
    await assert.rejects(talk(clientOf(url), true, 'x'), ApiError)
  })

  test('a rehearsal model answers without a script', async t => {
    const { url } = await serve(t, { helper: rehearsal() })
    const contents = await talk(clientOf(url), true, 'What is the weather in Oslo?')
    assert.match(textOf(contents.at(-1)), /fine/)
  })
})

for (const [vendor, modelAt] of vendors)
  for (const stream of [true, false])
    test(`@google/genai → ${vendor}${stream ? ', streaming' : ''}`, async t => {
      const behind = await double(t, vendor, weatherTurns)
      const { url } = await serve(t, { helper: modelAt(behind.url) })
      const client = clientOf(url)
      const first = await talk(client, stream, 'weather in Oslo and Rome?')
      assert.equal(textOf(first.at(-1)), 'Rain and sun.')
      const second = await talk(client, stream, 'thanks', first)
      assert.equal(textOf(second.at(-1)), 'You are welcome.')
      assert.deepEqual(behind.rejections(), [])
      assert.deepEqual(behind.harnessErrors(), [])
      assert.equal(behind.exchanges.length, 4)
      if (vendor === 'gemini')
        assertSignaturesReturned(
          behind.exchanges.map(each => each.frames),
          first,
          behind.exchanges[2]?.rawText,
        )
    })

/** The calls of both answers carried a signature, the caller saw it, and the vendor got it back. */
function assertSignaturesReturned(
  frames: { data: string }[][],
  contents: Content[],
  sent: string | undefined,
): void {
  const signatureOf = (part: Part): string[] =>
    part.functionCall && part.thoughtSignature !== undefined ? [part.thoughtSignature] : []
  const made = frames.flatMap(each =>
    each.flatMap(({ data }) => {
      const { candidates } = JSON.parse(data) as { candidates?: { content: Content }[] }
      return candidates?.[0]?.content.parts?.flatMap(signatureOf) ?? []
    }),
  )
  assert.equal(made.length, 2)
  assert.deepEqual(
    contents.flatMap(content => content.parts?.flatMap(signatureOf) ?? []),
    made,
  )
  for (const signature of made) assert.ok(sent?.includes(JSON.stringify(signature)))
}
