// A conversation with the strict double, without a socket: the double checks each request, the protocol reads its frames,
// and the answer becomes an entry as the engine would make it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerOf,
  bodyOf,
  entryOf,
  failureOf,
  results,
  call as sampleCall,
  outcome as sampleOutcome,
  sampleRequest,
  sampleTarget,
  tool,
  user,
} from '../../../../test/models/samples.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, Outcome, OutcomeKind } from '../../../language/calls.ts'
import type { AssistantEntry } from '../../../language/history.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { bendFrames, listFaults, reshapeTurn } from '../../../testing/doubles/faults.ts'
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

export { answerOf, bodyOf, entryOf, failureOf, results, tool, user }

export const target = (over: Partial<ModelTarget> = {}): ModelTarget => ({
  ...sampleTarget,
  model: 'claude-sonnet-4-6',
  family: 'claude',
  maxTokens: 4096,
  ...over,
})

export const request = (over: Partial<ModelRequest> = {}): ModelRequest =>
  sampleRequest({ tools: [tool('read')], ...over })

export const outcome = (text: string, kind: OutcomeKind = 'ok'): Outcome => sampleOutcome(text, { kind })

export const call = (id: string, name: string, over: Partial<CallPart> = {}): CallPart =>
  sampleCall(id, { name, ...over })

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
      const frames = bendFrames(answered.frames, listFaults(turn), vendor)
      return { prepared, body, frames, ...fold(prepared, frames) }
    },
  }
}

export function fold(prepared: Prepared, frames: readonly Frame[]): Pick<Heard, 'deltas' | 'end'> {
  const state = anthropicMessages.initial(prepared.reading)
  const deltas = frames.flatMap(frame => anthropicMessages.step(state, frame))
  return { deltas, end: anthropicMessages.halt(state) }
}

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
