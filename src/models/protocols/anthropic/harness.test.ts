// A conversation with the strict double, without a socket: the double checks each request, the protocol reads its frames,
// and the answer becomes an entry as the engine would make it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelAnswer, ModelDelta, ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, Outcome, OutcomeKind } from '../../../language/calls.ts'
import { type AssistantEntry, callsOf, type Entry, type ToolEntry } from '../../../language/history.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { bendFrames, faultsOf, reshapeTurn } from '../../../testing/doubles/faults.ts'
import {
  checkRequestAll,
  type Rejection,
  type ScriptedTurn,
  vendorDouble,
} from '../../../testing/doubles/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import type { Prepared as AnyPrepared, Frame, ModelFailure, ModelTarget } from '../../protocol.ts'
import type { Reading } from './decode.ts'
import { anthropicMessages } from './index.ts'

export type Prepared = AnyPrepared<Reading>

export const target = (over: Partial<ModelTarget> = {}): ModelTarget => ({
  model: 'claude-sonnet-4-6',
  family: 'claude',
  maxTokens: 4096,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
  ...over,
})

export const request = (over: Partial<ModelRequest> = {}): ModelRequest => ({
  session: 's',
  history: [user('hello')],
  tools: [tool('read')],
  choice: 'auto',
  parallel: true,
  options: {},
  ...over,
})

export const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })

export const tool = (name: string, over: Partial<ToolDeclaration> = {}): ToolDeclaration => ({
  name,
  description: `Does ${name}.`,
  input: { form: 'json', schema: { type: 'object', properties: { p: { type: 'string' } } } },
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
  ...over,
})

export const outcome = (text: string, kind: OutcomeKind = 'ok'): Outcome => ({
  kind,
  parts: [{ type: 'text', text }],
  from: { source: 'runtime' },
})

/** The results of an answer's calls. */
export const results = (entry: AssistantEntry, said: string | Outcome = 'done'): ToolEntry => ({
  role: 'tool',
  results: callsOf(entry).map(({ id, name }) => ({
    callId: id,
    name,
    outcome: typeof said === 'string' ? outcome(said) : said,
  })),
})

let counter = 0

/** The entry that the engine records for an answer. It goes through JSON, as it does through any store. */
export function entryOf({ parts, origin, continuity }: ModelAnswer): AssistantEntry {
  const entry = {
    role: 'assistant',
    parts: parts.map(part => (part.type === 'call' ? { ...part, id: `call_${++counter}` } : part)),
    origin,
    continuity,
  }
  // An entry that was written as JSON and read again is an entry.
  return JSON.parse(JSON.stringify(entry)) as AssistantEntry
}

export const call = (id: string, name: string, over: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  id,
  name,
  form: 'json',
  text: '{}',
  ...over,
})

export type Heard = {
  prepared: Prepared
  body: JsonObject
  deltas: ModelDelta[]
  frames: Frame[]
  end: { answer: ModelAnswer } | { failure: ModelFailure }
}

export type Talk = {
  /** Throws when the double refuses. */
  ask(request: ModelRequest, target: ModelTarget, turn: ScriptedTurn): Heard
}

const vendor = vendorDouble('anthropic')

export function startTalk(): Talk {
  const memory = vendor.memory()
  const cache = new SessionCache()
  return {
    ask(asked, at, turn) {
      const prepared = anthropicMessages.prepare(asked, at, cache)
      const body = bodyOf(prepared)
      const exchange = {
        route: { kind: 'create', params: {} },
        query: new URLSearchParams(),
        headers: prepared.headers,
        body,
        rawText: prepared.body,
      }
      assert.equal(vendor.authorise({ ...prepared.headers, 'x-api-key': 'k' }, new URLSearchParams()), null)
      const broken = vendor.check(exchange, memory, 'strict')
      assert.deepEqual(broken, [], prepared.body)
      const answered = vendor.respond(reshapeTurn(turn), exchange, memory)
      const frames = bendFrames(answered.frames, faultsOf(turn), vendor)
      return { prepared, body, frames, ...fold(prepared, frames) }
    },
  }
}

export function fold(prepared: Prepared, frames: readonly Frame[]): Pick<Heard, 'deltas' | 'end'> {
  const state = anthropicMessages.initial(prepared.reading)
  const deltas = frames.flatMap(frame => anthropicMessages.step(state, frame))
  return { deltas, end: anthropicMessages.halt(state) }
}

export function answerOf({ end }: Pick<Heard, 'end'>): ModelAnswer {
  assert.ok('answer' in end, JSON.stringify(end))
  return end.answer
}

export function failureOf({ end }: Pick<Heard, 'end'>): ModelFailure {
  assert.ok('failure' in end, JSON.stringify(end))
  return end.failure
}

/** A request's body is always an object. */
export const bodyOf = (prepared: Prepared): JsonObject => JSON.parse(prepared.body) as JsonObject

export type Said = { role: string; content: (JsonObject & { type: string })[] }

/** Messages always hold lists of blocks, whose fields are read as JSON. */
export const messagesOf = (prepared: Prepared): Said[] => bodyOf(prepared)['messages'] as Json as Said[]

/** What the strict double refuses in a body by itself. Signatures of unknown origin count as genuine. */
export const judge = (prepared: Prepared): Rejection[] =>
  checkRequestAll('anthropic', bodyOf(prepared), { trustForeign: true })

export const own = { protocol: 'anthropic', family: 'claude' }

export const assistant = (...parts: AssistantEntry['parts']): AssistantEntry => ({
  role: 'assistant',
  parts,
  origin: own,
})

/** Prepared, and accepted by the strict double. */
export function prepare(over: Partial<ModelRequest> = {}, at: Partial<ModelTarget> = {}): Prepared {
  const prepared = anthropicMessages.prepare(request(over), target(at))
  assert.deepEqual(judge(prepared), [], prepared.body)
  return prepared
}

test('the harness reads the double’s answers and throws at its refusals', () => {
  const heard = startTalk().ask(request(), target(), { text: 'hi' })
  assert.equal(answerOf(heard).stop, 'end')
  assert.throws(() => startTalk().ask(request(), target({ body: { nonsense: 1 } }), { text: 'hi' }), /A-28/)
})
