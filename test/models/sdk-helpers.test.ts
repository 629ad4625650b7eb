// The helpers of the vendors' SDKs, as users call them: tool loops, assembled streams, parsed answers, chats that keep
// their own history. Each talks to a strict double, which refuses nothing.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import {
  type RunningDouble,
  type ScriptedTurn,
  startDouble,
  type VendorName,
} from '../../src/testing/doubles/index.ts'

const schema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
}
const asks = (...cities: string[]): ScriptedTurn => ({
  calls: cities.map(city => ({ name: 'weather', input: { city } })),
})
const sun = ({ city }: { city: string }): string => `Sun in ${city}.`

async function open(t: TestContext, vendor: VendorName, ...script: ScriptedTurn[]): Promise<RunningDouble> {
  const double = await startDouble({ vendor, script })
  t.after(async () => {
    await double.close()
    assert.deepEqual(double.rejections(), [])
    assert.deepEqual(double.harnessErrors(), [])
  })
  return double
}

// ---- OpenAI ------------------------------------------------------------------------------------------------

const openai = ({ url }: RunningDouble) => new OpenAI({ apiKey: 'k', baseURL: `${url}/v1`, maxRetries: 0 })
const model = 'gpt-5.2'

for (const stream of [false, true])
  test(`openai: runTools completes, ${stream ? 'streamed' : 'whole'}`, async t => {
    const double = await open(t, 'openai-chat', asks('Oslo', 'Rome'), { text: 'Sunny in both.' })
    const { completions } = openai(double).chat
    const params = {
      model,
      messages: [{ role: 'user' as const, content: 'Weather?' }],
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            description: 'The weather.',
            parse: (text: string): { city: string } => JSON.parse(text),
            function: sun,
            parameters: schema,
            strict: true,
          },
        },
      ],
    }
    const runner = stream ? completions.runTools({ ...params, stream }) : completions.runTools(params)
    assert.equal(await runner.finalContent(), 'Sunny in both.')
    assert.match(JSON.stringify(double.exchanges[1]?.body), /Sun in Rome\./)
  })

test('openai: the SDK assembles a Chat stream, and parses a structured answer', async t => {
  const double = await open(t, 'openai-chat', { text: 'Hello there.' }, { text: '{"city":"Oslo"}' })
  const { completions } = openai(double).chat
  const messages = [{ role: 'user' as const, content: 'hi' }]
  assert.equal(
    (await completions.stream({ model, messages }).finalChatCompletion()).choices[0]?.message.content,
    'Hello there.',
  )
  const parsed = await completions.parse({
    model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
  })
  assert.deepEqual(parsed.choices[0]?.message.parsed, { city: 'Oslo' })
})

test('openai: the SDK assembles a Responses stream, and continues it by its id', async t => {
  const double = await open(t, 'openai-responses', { thinking: 'Hm.', ...asks('Oslo') }, { text: 'Sunny.' })
  const tools = [{ type: 'function' as const, name: 'weather', parameters: schema, strict: true }]
  const { responses } = openai(double)
  const first = await responses.stream({ model, input: 'Weather?', tools }).finalResponse()
  const call = first.output.find(item => item.type === 'function_call')
  assert.deepEqual(call?.parsed_arguments ?? JSON.parse(call?.arguments ?? ''), { city: 'Oslo' })
  const second = await responses.create({
    model,
    previous_response_id: first.id,
    tools,
    input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sun' }],
  })
  assert.equal(second.output_text, 'Sunny.')
})

// ---- Anthropic ---------------------------------------------------------------------------------------------

test('anthropic: the tool runner completes over a thread that the vendor holds', async t => {
  const double = await open(t, 'anthropic', asks('Oslo'), asks('Rome'), { text: 'Sunny in both.' })
  const client = new Anthropic({ apiKey: 'k', baseURL: double.url, maxRetries: 0 })
  const message = await client.beta.messages.toolRunner({
    model: 'claude-sonnet-4-6',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Weather?' }],
    tools: [
      {
        type: 'custom',
        name: 'weather',
        description: 'The weather.',
        input_schema: schema,
        parse: input => input as { city: string }, // Checked by the double's script above.
        run: sun,
      },
    ],
  })
  assert.deepEqual(message.content, [{ type: 'text', text: 'Sunny in both.', citations: null }])
  const [first, second] = double.exchanges.map(({ body }) => JSON.stringify(body))
  assert.match(first ?? '', /"thread":\{"type":"create"\}/)
  assert.match(second ?? '', /"thread":\{"type":"continue"/)
})

test('anthropic: a thread is refused if it is unknown, continued twice, or sent its system and tools again', async t => {
  const double = await startDouble({ vendor: 'anthropic', script: () => ({ text: 'ok' }) })
  t.after(() => double.close())
  const { messages } = new Anthropic({ apiKey: 'k', baseURL: double.url, maxRetries: 0 }).beta
  const ask = (thread: Anthropic.Beta.BetaMessageThreadParam, more: { system?: string } = {}) =>
    messages.create({
      model: 'claude-sonnet-4-6',
      max_tokens: 100,
      betas: ['message-threads-2026-08-12'],
      messages: [{ role: 'user', content: 'hi' }],
      thread,
      ...more,
    })
  const { id } = await ask({ type: 'create' }, { system: 'Be brief.' })
  const goOn = { type: 'continue', previous_message_id: id } as const
  await assert.rejects(ask(goOn, { system: 'Be brief.' }), /system: is held by the thread/)
  await ask(goOn)
  await assert.rejects(ask(goOn), /thread_already_continued/)
  await assert.rejects(ask({ ...goOn, previous_message_id: 'msg_x' }), /thread_not_found/)
})

// ---- Google ------------------------------------------------------------------------------------------------

const google = ({ url }: RunningDouble) => new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } })
const declared = { functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }

test('google: a streamed chat completes although the SDK keeps each chunk as a content', async t => {
  const double = await open(
    t,
    'gemini',
    { text: 'I will look it up.', chunk: 4, ...asks('Oslo', 'Rome') },
    { text: 'Sunny.' },
  )
  const chat = google(double).chats.create({ model: 'gemini-3-pro', config: { tools: [declared] } })
  const calls = []
  for await (const chunk of await chat.sendMessageStream({ message: 'Weather?' }))
    calls.push(...(chunk.functionCalls ?? []))
  const message = calls.map(({ id, name }) => ({
    functionResponse: { id: id ?? '', name: name ?? '', response: { output: 'sun' } },
  }))
  assert.equal((await chat.sendMessage({ message })).text, 'Sunny.')
})

test('google: automatic function calling completes', async t => {
  const double = await open(t, 'gemini', asks('Oslo'), { text: 'Sunny.' })
  const response = await google(double).models.generateContent({
    model: 'gemini-3-pro',
    contents: 'Weather?',
    config: {
      tools: [
        {
          tool: () => Promise.resolve(declared),
          callTool: calls =>
            Promise.resolve(
              calls.map(({ id, name }) => ({
                functionResponse: { id: id ?? '', name: name ?? '', response: { output: 'sun' } },
              })),
            ),
        },
      ],
    },
  })
  assert.equal(response.text, 'Sunny.')
})
