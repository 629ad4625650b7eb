// Vendors that answer with nonsense. Each field of an answer of each protocol is replaced by each of some hostile values: the
// turn ends, and the next turn of the same session is answered. Nothing that a vendor sends makes a session useless.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Model, Session } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { createAgents, createModel, type Protocol, protocols } from '../../src/models/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say, stopAll } from '../engine/rig.ts'

type Vendor = {
  protocol: Protocol
  /** An answer as a stream, with text and one call of `look`. */
  stream: readonly JsonObject[]
  /** The same as one body. */
  body: JsonObject
  /** A stream that says "Fine." */
  fine: readonly JsonObject[]
}

const args = { at: 1 }
const argsText = '{"at":1}'

const anthropicCall = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
const anthropicStart = (content: Json[]): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  usage: { input_tokens: 3, output_tokens: 1 },
})
const anthropicEnd = (stop_reason: string): JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const anthropicText = (text: string): JsonObject[] => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
]
const searched = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'q' } }

const responsesCall = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'look',
  arguments: argsText,
  status: 'completed',
}
const responsesText = (text: string): JsonObject => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' }
const response = (output: Json[]): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
})
const responsesFine = responsesText('Fine.')

const chatChunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
  usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
})
const chatCall = { id: 'call_1', type: 'function', function: { name: 'look', arguments: argsText } }

const geminiChunk = (parts: Json[], finishReason?: string): JsonObject => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
  modelVersion: 'm',
})
const geminiCall = { functionCall: { id: 'c1', name: 'look', args }, thoughtSignature: 'c2ln' }
const geminiSearched = { executableCode: { language: 'PYTHON', code: '1' } }

const interactionsCall = { type: 'function_call', id: 'c1', name: 'look', arguments: args, signature: 'c2ln' }
const interaction = (steps: Json[], status: string): JsonObject => ({
  id: 'int_1',
  status,
  model: 'm',
  steps,
  usage: { total_input_tokens: 3, total_output_tokens: 5 },
})
const modelText = (text: string): JsonObject => ({ type: 'model_output', content: [{ type: 'text', text }] })
const interactionsText = (text: string): JsonObject[] => [
  { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
  { event_type: 'step.delta', index: 0, delta: { type: 'text', text } },
  { event_type: 'step.stop', index: 0 },
]
const interactionEnds = (status: string): JsonObject => ({
  event_type: 'interaction.completed',
  interaction: { id: 'int_1', status, usage: { total_input_tokens: 3, total_output_tokens: 5 } },
})

const vendors: Record<string, Vendor> = {
  anthropic: {
    protocol: protocols.anthropicMessages,
    stream: [
      { type: 'message_start', message: anthropicStart([]) },
      ...anthropicText('I look.'),
      { type: 'content_block_start', index: 1, content_block: anthropicCall },
      {
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: argsText },
      },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: searched },
      { type: 'content_block_stop', index: 2 },
      ...anthropicEnd('tool_use'),
    ],
    body: {
      ...anthropicStart([{ type: 'text', text: 'I look.' }, { ...anthropicCall, input: args }, searched]),
      stop_reason: 'tool_use',
    },
    fine: [
      { type: 'message_start', message: anthropicStart([]) },
      ...anthropicText('Fine.'),
      ...anthropicEnd('end_turn'),
    ],
  },
  'openai-responses': {
    protocol: protocols.openaiResponses,
    stream: [
      { type: 'response.created', response: response([]) },
      { type: 'response.output_item.added', output_index: 0, item: reasoning },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      { type: 'response.output_item.added', output_index: 1, item: { ...responsesCall, arguments: '' } },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'fc_1',
        output_index: 1,
        delta: argsText,
      },
      {
        type: 'response.function_call_arguments.done',
        item_id: 'fc_1',
        output_index: 1,
        arguments: argsText,
      },
      { type: 'response.output_item.done', output_index: 1, item: responsesCall },
      { type: 'response.completed', response: response([reasoning, responsesCall]) },
    ],
    body: response([reasoning, responsesText('I look.'), responsesCall]),
    fine: [
      { type: 'response.created', response: response([]) },
      { type: 'response.output_item.done', output_index: 0, item: responsesFine },
      { type: 'response.completed', response: response([responsesFine]) },
    ],
  },
  'openai-chat': {
    protocol: protocols.openaiChat,
    stream: [
      chatChunk({ role: 'assistant', content: 'I look.', reasoning_content: 'Hm.' }),
      chatChunk({ tool_calls: [{ index: 0, ...chatCall }] }),
      chatChunk({}, 'tool_calls'),
    ],
    body: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'I look.', tool_calls: [chatCall] },
          finish_reason: 'tool_calls',
        },
      ],
    },
    fine: [chatChunk({ role: 'assistant', content: 'Fine.' }), chatChunk({}, 'stop')],
  },
  gemini: {
    protocol: protocols.geminiGenerate,
    stream: [
      geminiChunk([{ text: 'I look.' }]),
      geminiChunk([
        { functionCall: { name: 'look', willContinue: true }, thoughtSignature: 'c2ln' },
        { functionCall: { partialArgs: [{ jsonPath: '$.at', numberValue: 1 }], willContinue: true } },
        { functionCall: {} },
      ]),
      geminiChunk([geminiCall, geminiSearched], 'STOP'),
    ],
    body: geminiChunk([{ text: 'I look.' }, geminiCall, geminiSearched], 'STOP'),
    fine: [geminiChunk([{ text: 'Fine.' }], 'STOP')],
  },
  interactions: {
    protocol: protocols.geminiInteractions,
    stream: [
      { event_type: 'interaction.start', interaction: { id: 'int_1', status: 'in_progress' } },
      ...interactionsText('I look.'),
      { event_type: 'step.start', index: 1, step: interactionsCall },
      { event_type: 'step.delta', index: 1, delta: { type: 'arguments_delta', arguments: argsText } },
      { event_type: 'step.stop', index: 1 },
      interactionEnds('requires_action'),
    ],
    body: interaction([modelText('I look.'), interactionsCall], 'requires_action'),
    fine: [...interactionsText('Fine.'), interactionEnds('completed')],
  },
}

// ---- what is put in place of a field -------------------------------------------------------------------------------

const nested = (open: string, close: string): string => `${open.repeat(10_000)}1${close.repeat(10_000)}`

/** As JSON text: no value of the language could be written so. */
const hostile: Record<string, string> = {
  'a list 10,000 deep': nested('[', ']'),
  'an object 10,000 deep': nested('{"a":', '}'),
  'the text of an object 10,000 deep': JSON.stringify(nested('{"a":', '}')),
  'a path 10,000 deep': JSON.stringify(`$${'.a'.repeat(10_000)}`),
  'a number beyond doubles': '1e999',
  'a large number': '4294967295',
  'a number below zero': '-1',
  'a broken character': '"a\\u0000\\ud800b"',
  'a prototype': '{"__proto__":{"x":1},"constructor":null,"toString":1}',
  nothing: 'null',
  'an empty text': '""',
  'an empty list': '[]',
  'a long text': JSON.stringify('x'.repeat(100_000)),
}

const MARK = '@@hostile@@'

/** The value with a mark in place of each of its fields in turn, containers too. */
function* marked(value: Json): Generator<Json> {
  yield MARK
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const changed of marked(item)) yield value.with(at, changed)
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value))
      for (const changed of marked(item)) yield { ...value, [key]: changed }
}

/** Answers, each with one field replaced; the text of a stream or of a body. */
function* answersOf({ stream, body }: Vendor, value: string): Generator<string> {
  const put = (text: string): string => text.replaceAll(JSON.stringify(MARK), () => value)
  for (const [at, event] of stream.entries())
    for (const changed of marked(event)) yield put(streamText(stream.with(at, changed as JsonObject)))
  for (const changed of marked(body)) yield put(JSON.stringify(changed))
}

function streamText(events: readonly JsonObject[]): string {
  const frames = events.map(event => {
    const name = event['type'] ?? event['event_type']
    const data = JSON.stringify(event)
    return typeof name === 'string' && name !== MARK
      ? `event: ${name}\ndata: ${data}\n\n`
      : `data: ${data}\n\n`
  })
  return frames.join('')
}

// ---- a server that answers as it is told ---------------------------------------------------------------------------

let next: string[] = []
let otherwise = ''
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const text = next.shift() ?? otherwise
    const isStream = /^(?:event|data):/.test(text)
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' }).end(text)
  })
})
const agents = createAgents({})
before(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)))
after(async () => {
  await stopAll()
  agents.http.destroy()
  agents.https.destroy()
  server.closeAllConnections()
  server.close()
})

function modelOf({ protocol }: Vendor): Model {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return createModel({
    protocol,
    provider: { name: 'hostile', url: () => url, headers: () => ({}) },
    target: {
      model: 'm',
      family: 'f',
      maxTokens: 100,
      body: {},
      hosted: [],
      quirks: new Set(),
      stateful: false,
    },
    limits: { retries: 0 },
    agents,
  })
}

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => 'seen',
})

function outcomesOf(session: Session): string[] {
  return session.state.entries.flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome.kind) : [],
  )
}

/** The words of the turn after the one in which the vendor answered so. */
async function wordsAfter(vendor: Vendor, answer: string): Promise<{ words: string; session: Session }> {
  const rig = makeRig({ model: modelOf(vendor), tools: [look], store: memoryStore() })
  const session = await begin(rig)
  otherwise = streamText(vendor.fine)
  next = [answer]
  await say(session, 'go')
  next = []
  await say(session, 'and now?')
  const last = session.state.entries.at(-1)
  const stop = session.state.lastStop
  const words =
    last?.role === 'assistant' && stop?.stop === 'end' ? joinText(last.parts) : JSON.stringify(stop)
  return { words, session }
}

for (const [name, vendor] of Object.entries(vendors))
  describe(`a session outlives each answer of ${name} that has, in place of some field,`, () => {
    for (const [what, value] of Object.entries(hostile))
      test(what, async () => {
        for (const answer of answersOf(vendor, value)) {
          const { words } = await wordsAfter(vendor, answer)
          assert.equal(words, 'Fine.', answer.slice(0, 3_000))
        }
      })
  })

const deepArguments: Record<string, (deep: string) => string> = {
  anthropic: deep =>
    JSON.stringify(vendors['anthropic']?.body).replace(JSON.stringify(args), () => `{"at":${deep}}`),
  'openai-responses': deep =>
    JSON.stringify(vendors['openai-responses']?.body).replace(JSON.stringify(argsText), () =>
      JSON.stringify(`{"at":${deep}}`),
    ),
  'openai-chat': deep =>
    JSON.stringify(vendors['openai-chat']?.body).replace(
      JSON.stringify(argsText),
      // Some compatible servers send an object.
      () => `{"at":${deep}}`,
    ),
  gemini: deep =>
    JSON.stringify(vendors['gemini']?.body).replace(JSON.stringify(args), () => `{"at":${deep}}`),
  interactions: deep =>
    JSON.stringify(vendors['interactions']?.body).replace(JSON.stringify(args), () => `{"at":${deep}}`),
}

for (const [name, answerWith] of Object.entries(deepArguments))
  for (const levels of [65, 10_000])
    test(`${name}: arguments ${levels} deep are invalid, and the session goes on`, async () => {
      const answer = answerWith('['.repeat(levels) + ']'.repeat(levels))
      const { words, session } = await wordsAfter(vendors[name] as Vendor, answer)
      assert.equal(words, 'Fine.')
      assert.deepEqual(outcomesOf(session), ['invalid'])
    })
