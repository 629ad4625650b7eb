// Clients that others wrote, driven through real tool loops: the official OpenAI SDK, the AI SDK with both of its
// providers, and the OpenAI Agents SDK.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import OpenAI from 'openai'
import * as z from 'zod'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { type ScriptStep, scripted as scriptedOf } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { latch, type Rig, type RigOptions, rig, weather } from './rig.ts'

setTracingDisabled(true)

const twoCalls: ScriptStep[] = [
  {
    thinking: 'Two cities.',
    text: 'Let me look.',
    calls: [
      { name: 'get_weather', input: { city: 'Paris' } },
      { name: 'get_weather', input: { city: 'Oslo' } },
    ],
    chunk: 4,
    usage: { input: 20, output: 10 },
    expect: { tools: ['get_weather'] },
  },
  {
    text: 'Paris is sunny, Oslo is not.',
    chunk: 5,
    usage: { input: 40, output: 8 },
    expect: { results: [{ text: 'Paris: sunny' }, { text: 'Oslo: rain' }] },
  },
]

const skies: Record<string, string> = { Paris: 'Paris: sunny', Oslo: 'Oslo: rain' }

function openai({ url }: Rig): OpenAI {
  return new OpenAI({ apiKey: 'any', baseURL: `${url}/v1`, maxRetries: 0 })
}

type InputItem = OpenAI.Responses.ResponseInputItem

function outputsFor(response: OpenAI.Responses.Response): InputItem[] {
  return response.output.flatMap((item): InputItem[] => {
    if (item.type !== 'function_call') return []
    const { city } = JSON.parse(item.arguments) as { city: string }
    return [{ type: 'function_call_output', call_id: item.call_id, output: skies[city] ?? '?' }]
  })
}

const tools: OpenAI.Responses.Tool[] = [{ ...weather, type: 'function', strict: false }]

test(cites('RESP-SDK-01', 'openai: a stateless tool loop, every item sent back as it came'), async t => {
  const at = await rig(t, { script: twoCalls })
  const client = openai(at)
  const input: InputItem[] = [{ role: 'user', content: 'How is the weather?' }]
  const first = await client.responses.create({ model: 'helper', input, tools, store: false })
  assert.equal(first.status, 'completed')
  assert.equal(first.output.filter(item => item.type === 'function_call').length, 2)
  const again = [...input, ...(first.output as InputItem[]), ...outputsFor(first)]
  const last = await client.responses.create({ model: 'helper', input: again, tools, store: false })
  assert.equal(last.output_text, 'Paris is sunny, Oslo is not.')
  assert.deepEqual(last.usage?.total_tokens, 48)
})

test(
  cites('RESP-SDK-01', 'openai: the streaming helper takes every event and gives the same response'),
  async t => {
    const at = await rig(t, { script: twoCalls })
    const client = openai(at)
    const stream = client.responses.stream({ model: 'helper', input: 'How is the weather?', tools })
    let text = ''
    const types = new Set<string>()
    for await (const event of stream) {
      types.add(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    const response = await stream.finalResponse()
    assert.equal(text, 'Let me look.')
    assert.equal(response.output_text, text)
    assert.ok(types.has('response.function_call_arguments.delta') && types.has('response.completed'))
    const again = [
      { role: 'user' as const, content: 'How?' },
      ...(response.output as InputItem[]),
      ...outputsFor(response),
    ]
    const bare = await client.responses.create({ model: 'helper', input: again, tools, stream: true })
    let done = ''
    for await (const event of bare) if (event.type === 'response.output_text.done') done = event.text
    assert.equal(done, 'Paris is sunny, Oslo is not.')
  },
)

test(cites('RESP-SDK-01', 'openai: structured output is parsed'), async t => {
  const at = await rig(t, { script: [{ text: '{"answer":42}' }] })
  const response = await openai(at).responses.parse({
    model: 'helper',
    input: 'The answer, as JSON.',
    text: {
      format: {
        type: 'json_schema',
        name: 'answer',
        strict: true,
        schema: {
          type: 'object',
          properties: { answer: { type: 'number' } },
          required: ['answer'],
          additionalProperties: false,
        },
      },
    },
  })
  assert.equal(response.output_text, '{"answer":42}')
  assert.equal(response.text?.format?.type, 'json_schema')
})

test(
  cites('RESP-SDK-02', 'openai: background, retrieve, stream of a stored response, input items, delete'),
  async t => {
    const gate = latch()
    const script: NonNullable<RigOptions['script']> = [{ text: 'done at last', chunk: 3 }]
    const at = await rig(t, { model: gated(gate, script) })
    const client = openai(at)
    const made = await client.responses.create({ model: 'helper', input: 'Think.', background: true })
    assert.equal(made.status, 'in_progress')
    assert.equal((await client.responses.retrieve(made.id)).status, 'in_progress')
    const watching = client.responses.retrieve(made.id, { stream: true })
    gate.open()
    let last = ''
    let final = -1
    for await (const event of await watching) {
      last = event.type
      final = event.sequence_number
    }
    assert.equal(last, 'response.completed')
    const whole = await client.responses.retrieve(made.id)
    assert.equal(whole.output_text, 'done at last')
    const rest = await client.responses.retrieve(made.id, { stream: true, starting_after: final - 3 })
    const numbers: number[] = []
    for await (const event of rest) numbers.push(event.sequence_number)
    assert.deepEqual(numbers, [final - 2, final - 1, final])
    const items = await client.responses.inputItems.list(made.id)
    assert.equal(items.data[0]?.type, 'message')
    await client.responses.delete(made.id)
    await assert.rejects(client.responses.retrieve(made.id), { status: 404 })
  },
)

test(cites('RESP-SDK-02', 'openai: cancel ends a background response'), async t => {
  const at = await rig(t, { script: [{ text: 'half', hang: true }] })
  const client = openai(at)
  const made = await client.responses.create({ model: 'helper', input: 'Think.', background: true })
  const cancelled = await client.responses.cancel(made.id)
  assert.equal(cancelled.status, 'cancelled')
})

test(cites('RESP-SDK-02', 'openai: previous_response_id carries the conversation'), async t => {
  const at = await rig(t, { script: twoCalls })
  const client = openai(at)
  const first = await client.responses.create({ model: 'helper', input: 'How?', tools, store: true })
  const last = await client.responses.create({
    model: 'helper',
    previous_response_id: first.id,
    input: outputsFor(first),
    tools,
  })
  assert.equal(last.output_text, 'Paris is sunny, Oslo is not.')
  assert.equal(last.previous_response_id, first.id)
})

test(cites('RESP-SDK-01', 'openai: models are listed'), async t => {
  const at = await rig(t, { models: { swift: rehearsal() } })
  const ids: string[] = []
  for await (const model of openai(at).models.list()) ids.push(model.id)
  assert.deepEqual(ids, ['helper', 'swift'])
  assert.equal((await openai(at).models.retrieve('swift')).object, 'model')
})

test(cites('RESP-MODL-01', 'the SDK of Anthropic gets the models in its own form'), async t => {
  const at = await rig(t, { models: { swift: rehearsal(), slow: rehearsal() } })
  const client = new Anthropic({ apiKey: 'any', baseURL: at.url, maxRetries: 0 })
  const ids: string[] = []
  for await (const model of client.models.list({ limit: 2 })) ids.push(model.id)
  assert.deepEqual(ids, ['helper', 'swift', 'slow'])
  const { type, id, display_name, created_at } = await client.models.retrieve('swift')
  assert.deepEqual([type, id, display_name], ['model', 'swift', 'swift'])
  assert.ok(!Number.isNaN(Date.parse(created_at)))
  await assert.rejects(client.models.retrieve('nobody'), { status: 404, type: 'not_found_error' })
})

test(cites('RESP-SDK-01', 'openai: errors carry status, code and parameter'), async t => {
  const at = await rig(t)
  await assert.rejects(openai(at).responses.create({ model: 'nobody', input: 'x' }), {
    status: 404,
    code: 'model_not_found',
    param: 'model',
  })
})

/** The script, but only once the gate is open. */
function gated(gate: ReturnType<typeof latch>, script: NonNullable<RigOptions['script']>) {
  const inner = scriptedOf(script)
  return {
    id: 'gated',
    async respond(...args: Parameters<typeof inner.respond>) {
      await gate.wait()
      return inner.respond(...args)
    },
  }
}

// ---- the AI SDK ---------------------------------------------------------------------------------------------------------

const aiTools = {
  get_weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => skies[city] ?? '?',
  }),
}

function aiModels(at: Rig): Record<string, Parameters<typeof generateText>[0]['model']> {
  const { url } = at
  return {
    openai: createOpenAI({ apiKey: 'any', baseURL: `${url}/v1` }).responses('helper'),
    openResponses: createOpenResponses({ name: 'turnwire', apiKey: 'any', url: `${url}/v1/responses` })(
      'helper',
    ),
  }
}

for (const provider of ['openai', 'openResponses']) {
  test(cites('RESP-SDK-03', `ai with ${provider}: generateText runs the loop`), async t => {
    const at = await rig(t, { script: twoCalls })
    const result = await generateText({
      model: aiModels(at)[provider]!,
      prompt: 'How is the weather?',
      tools: aiTools,
      stopWhen: isStepCount(3),
      providerOptions: { openai: { store: false } },
    })
    assert.equal(result.text, 'Paris is sunny, Oslo is not.')
    assert.equal(result.steps.length, 2)
    assert.equal(result.steps[0]?.toolResults.length, 2)
    assert.equal(result.totalUsage.outputTokens, 18)
  })

  test(cites('RESP-SDK-03', `ai with ${provider}: streamText runs the loop`), async t => {
    const at = await rig(t, { script: twoCalls })
    const result = streamText({
      model: aiModels(at)[provider]!,
      prompt: 'How is the weather?',
      tools: aiTools,
      stopWhen: isStepCount(3),
      providerOptions: { openai: { store: false } },
    })
    let text = ''
    for await (const piece of result.textStream) text += piece
    assert.equal(text, 'Let me look.Paris is sunny, Oslo is not.')
    assert.equal(await result.finishReason, 'stop')
  })
}

for (const [name, options] of [
  ['its defaults', {}],
  ['store', { openai: { store: true } }],
] as const)
  test(cites('RESP-SDK-03', 'RESP-STOR-20', `ai with openai and ${name}: a chat is one session`), async t => {
    const script = [...twoCalls, { text: 'Yes, rain.' }]
    const at = await rig(t, { script })
    const ask = { tools: aiTools, stopWhen: isStepCount(3), providerOptions: options }
    const question = { role: 'user' as const, content: 'How is the weather?' }
    const first = streamText({ ...ask, model: aiModels(at)['openai']!, messages: [question] })
    assert.equal(await first.text, 'Paris is sunny, Oslo is not.')
    // Days later, and after a restart: the items are still there.
    const again = await at.restart()
    const messages = [
      question,
      ...(await first.steps).flatMap(({ response }) => response.messages),
      { role: 'user' as const, content: 'And in Oslo?' },
    ]
    const second = await generateText({ ...ask, model: aiModels(again)['openai']!, messages })
    assert.equal(second.text, 'Yes, rain.')
    const { rows } = await again.engine.list('alice', { limit: 10 })
    assert.equal(rows.length, 1)
  })

test(cites('RESP-STOR-20', 'a conversation that its client changed is a session of its own'), async t => {
  const at = await rig(t, { script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
  const ask = async (messages: ModelMessage[]): Promise<ModelMessage[]> => {
    const { response } = await generateText({ model: aiModels(at)['openai']!, messages })
    return [...messages, ...response.messages]
  }
  const [question, answer] = await ask([{ role: 'user', content: 'Count.' }])
  const more: ModelMessage = { role: 'user', content: 'More.' }
  await ask([{ role: 'user', content: 'Count!' }, answer!, more])
  await ask([question!, answer!, more])
  const { rows } = await at.engine.list('alice', { limit: 10 })
  assert.equal(rows.length, 2)
})

test(cites('RESP-STRM-11', 'a client that hangs up ends a response that it did not ask to keep'), async t => {
  const at = await rig(t, { script: [{ text: 'half', hang: true }, { text: 'Here again.' }] })
  const stop = new AbortController()
  const { textStream } = streamText({
    model: aiModels(at)['openai']!,
    prompt: 'Go on.',
    abortSignal: stop.signal,
    onError: () => {},
  })
  for await (const _ of textStream) stop.abort()
  const session = (await at.engine.list('alice', { limit: 10 })).rows[0]!.id
  const stopped = at.engine.follow({ owner: 'alice', session }, { from: 1, until: 'stop', deltas: 'none' })
  const stops: unknown[] = []
  for await (const batch of stopped)
    for (const item of batch)
      if (item.type === 'event' && item.event.type === 'turn.ended') stops.push(item.event.stop)
  assert.deepEqual(stops, ['cancelled'])
})

// ---- the Agents SDK -------------------------------------------------------------------------------------------------------

function runner(t: TestContext, at: Rig): { run: Runner; agent: Agent } {
  const provider = new OpenAIProvider({ openAIClient: openai(at), useResponses: true })
  t.after(() => provider.close?.())
  const agent = new Agent({
    name: 'Weather',
    model: 'helper',
    instructions: 'Use the tool.',
    modelSettings: { store: false },
    tools: [
      agentTool({
        name: 'get_weather',
        description: 'The weather in a city.',
        parameters: z.object({ city: z.string() }),
        execute: async ({ city }) => skies[city] ?? '?',
      }),
    ],
  })
  return { run: new Runner({ modelProvider: provider }), agent }
}

test(cites('RESP-SDK-04', '@openai/agents: a run with parallel calls'), async t => {
  const at = await rig(t, { script: twoCalls })
  const { run, agent } = runner(t, at)
  const result = await run.run(agent, 'How is the weather?')
  assert.equal(result.finalOutput, 'Paris is sunny, Oslo is not.')
})

test(cites('RESP-SDK-04', '@openai/agents: a streamed run'), async t => {
  const at = await rig(t, { script: twoCalls })
  const { run, agent } = runner(t, at)
  const result = await run.run(agent, 'How is the weather?', { stream: true })
  let text = ''
  for await (const piece of result.toTextStream()) text += piece
  await result.completed
  assert.equal(result.finalOutput, 'Paris is sunny, Oslo is not.')
  assert.match(text, /Let me look\./)
})

test(cites('RESP-SDK-04', '@openai/agents: the rehearsal model works the same way'), async t => {
  const at = await rig(t, { model: rehearsal() })
  const { run, agent } = runner(t, at)
  const result = await run.run(agent, 'What is the weather in Paris?')
  assert.match(String(result.finalOutput), /Paris: sunny/)
})
