// What the codecs cost: reading an answer against parsing the same bytes and nothing else, and preparing the next
// request of a long session against joining the bytes that it is made of.
import { createParser } from 'eventsource-parser'
import type { ModelRequest } from '../src/engine/ports/index.ts'
import type { Entry } from '../src/language/history.ts'
import { SessionCache } from '../src/models/common/session-cache.ts'
import { type Frame, type ModelTarget, type Prepared, type Protocol, protocols } from '../src/models/index.ts'
import { eventReader } from '../src/models/run-attempt.ts'
import { frameText } from '../src/testing/doubles/faults.ts'
import { type ScriptedTurn, type VendorName, vendorDouble } from '../src/testing/doubles/index.ts'
import type { Trial, Variant } from './harness.ts'
import { add } from './parts.ts'

type Codec = { vendor: VendorName; protocol: Protocol; model: string; family: string }

const codecs: Codec[] = [
  {
    vendor: 'anthropic',
    protocol: protocols.anthropicMessages,
    model: 'claude-sonnet-4-6',
    family: 'claude',
  },
  {
    vendor: 'openai-responses',
    protocol: protocols.openaiResponses,
    model: 'gpt-5.2',
    family: 'gpt',
  },
  { vendor: 'openai-chat', protocol: protocols.openaiChat, model: 'gpt-5.2', family: 'gpt' },
  { vendor: 'gemini', protocol: protocols.geminiGenerate, model: 'gemini-3-pro', family: 'gemini' },
  {
    vendor: 'gemini-interactions',
    protocol: protocols.geminiInteractions,
    model: 'gemini-3-pro',
    family: 'gemini',
  },
]

const targetOf = ({ model, family }: Codec): ModelTarget => ({
  model,
  family,
  maxTokens: 4096,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
})

const requestOf = (history: readonly Entry[]): ModelRequest => ({
  session: 's',
  system: 'You are a careful assistant.',
  history,
  tools: offered,
  choice: 'auto',
  parallel: true,
  options: {},
})
const offered = [add]
const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })

// ---- reading -----------------------------------------------------------------------------------------------

/** The answer as bytes, in pieces as a network gives them. */
function bytesOf({ vendor }: Codec, prepared: Prepared, turn: ScriptedTurn): Uint8Array[] {
  const double = vendorDouble(vendor)
  const url = new URL(`http://double${prepared.path}`)
  const route = { kind: 'create', params: { model: 'gemini-3-pro' }, streaming: true }
  const request = {
    route,
    query: url.searchParams,
    headers: {},
    body: JSON.parse(prepared.body),
    rawText: prepared.body,
  }
  const { frames } = double.respond(turn, request, double.memory())
  const bytes = Buffer.from(frames.map(frame => frameText(frame, '\n')).join(''), 'utf8')
  return Array.from({ length: Math.ceil(bytes.length / 4096) }, (_, at) =>
    bytes.subarray(at * 4096, (at + 1) * 4096),
  )
}

const limits = { maxEventChars: 1e9, maxBodyChars: 1e9 }

function decode({ protocol }: Codec, prepared: Prepared, chunks: readonly Uint8Array[]): number {
  const state = protocol.initial(prepared.reading)
  let deltas = 0
  const reader = eventReader(limits, (frame: Frame) => {
    deltas += protocol.step(state, frame).length
  })
  for (const chunk of chunks) reader.push(chunk)
  reader.push(undefined)
  const end = protocol.halt(state)
  if ('failure' in end) throw new Error(end.failure.message)
  return deltas
}

function parseAlone(chunks: readonly Uint8Array[]): number {
  const decoder = new TextDecoder()
  let parsed = 0
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '[DONE]') parsed += JSON.parse(data) === null ? 0 : 1
    },
  })
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
  return parsed
}

function readingTrial(name: string, turn: ScriptedTurn, repeat: number, id: string): Trial {
  const variants: Variant[] = []
  const bars: Trial['bars'] = []
  for (const codec of codecs) {
    const prepared = codec.protocol.prepare(requestOf([user('Go.')]), targetOf(codec))
    const chunks = bytesOf(codec, prepared, turn)
    const times = (run: () => unknown) => () => {
      for (let count = 0; count < repeat; count++) run()
    }
    variants.push({ name: `${codec.vendor}, parse alone`, run: times(() => parseAlone(chunks)) })
    variants.push({ name: codec.vendor, run: times(() => decode(codec, prepared, chunks)) })
    bars.push({
      id: `${id} ${codec.vendor}`,
      ours: codec.vendor,
      floor: `${codec.vendor}, parse alone`,
      most: 2,
    })
  }
  return { name, measure: 'cpu', units: repeat, variants, bars }
}

/** 1,000 pieces of text of one answer, and 1 MB of arguments in pieces of 64 characters (Gemini sends calls whole). */
export async function readAnswers(): Promise<Trial[]> {
  const words = 'So it goes on. '.repeat(1000)
  const text = JSON.stringify({ a: 1, b: 2, text: 'x'.repeat(1024 * 1024) })
  return [
    readingTrial('an answer of 1,000 deltas', { text: words, chunk: 15 }, 20, 'deltas'),
    readingTrial('1 MB of arguments', { calls: [{ name: 'add', text }], chunk: 64 }, 1, 'arguments'),
  ]
}

// ---- preparing ---------------------------------------------------------------------------------------------

function longHistory(calls: number, { protocol, family }: Codec): Entry[] {
  const origin = { protocol: protocol.name, family }
  const history: Entry[] = [user('Add many numbers.')]
  for (let at = 0; at < calls; at++) {
    const id = `call_${at}`
    history.push({
      role: 'assistant',
      origin,
      parts: [
        { type: 'text', text: `Number ${at} is next. `.repeat(4) },
        { type: 'call', id, nativeId: id, name: 'add', form: 'json', text: `{"a":${at},"b":1}` },
      ],
    })
    const parts = [{ type: 'text' as const, text: `The sum is ${at + 1}. `.repeat(4) }]
    history.push({
      role: 'tool',
      results: [
        { callId: id, name: 'add', outcome: { kind: 'ok', parts, from: { source: 'tool', tool: 'add' } } },
      ],
    })
  }
  return history
}

/** The next request when two entries are new: the others are cached, and only joined again. */
function nextRequest(codec: Codec, calls: number): { prepare: () => void; join: () => void } {
  const whole = longHistory(calls + 400, codec)
  const history = whole.slice(0, calls * 2 + 1)
  const target = targetOf(codec)
  const cache = new SessionCache()
  codec.protocol.prepare(requestOf(history), target, cache)
  const pieces = history.map(entry => JSON.stringify(entry))
  return {
    prepare() {
      history.push(...whole.slice(history.length, history.length + 2))
      const { encoded, body } = codec.protocol.prepare(requestOf(history), target, cache)
      if (encoded !== 2) throw new Error(`${codec.vendor} encoded ${encoded} entries, though 2 were new`)
      if (Buffer.byteLength(body) === 0) throw new Error('nothing was prepared')
    },
    join() {
      if (Buffer.byteLength(`[${pieces.join(',')}]`) === 0) throw new Error('nothing was joined')
    },
  }
}

const CALLS = 3000
const STEPS = 20

export async function nextRequests(): Promise<Trial> {
  const variants: Variant[] = []
  const bars: Trial['bars'] = []
  const times = (run: () => void) => () => {
    for (let count = 0; count < STEPS; count++) run()
  }
  for (const codec of codecs) {
    const { prepare, join } = nextRequest(codec, CALLS)
    variants.push({ name: `${codec.vendor}, joining the bytes`, run: times(join) })
    variants.push({ name: codec.vendor, run: times(prepare) })
    bars.push({
      id: `P3 ${codec.vendor}`,
      ours: codec.vendor,
      floor: `${codec.vendor}, joining the bytes`,
      most: 1.3,
    })
  }
  return {
    name: `the next request of a session of ${CALLS} calls`,
    measure: 'cpu',
    units: STEPS,
    variants,
    bars,
  }
}
