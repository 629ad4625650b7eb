// A conversation with a strict double of Google's, without a socket: the double checks each request, the protocol reads
// its frames, and the answer becomes an entry as the engine would make it.
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
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { surrogateProblem } from '../../../testing/doubles/body.ts'
import { bendFrames, listFaults, reshapeTurn } from '../../../testing/doubles/faults.ts'
import { type Rejection, type ScriptedTurn, vendorDouble } from '../../../testing/doubles/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import type {
  Prepared as AnyPrepared,
  Protocol as AnyProtocol,
  Frame,
  ModelFailure,
  ModelTarget,
} from '../../protocol.ts'
import { geminiGenerate } from '../gemini/index.ts'
import { geminiInteractions } from '../interactions/index.ts'
import type { GoogleReading } from './decode.ts'

type Prepared = AnyPrepared<GoogleReading>
/** Either protocol; its own state stays inside. */
export type Protocol = AnyProtocol<unknown, GoogleReading>

export { answerOf, bodyOf, entryOf, failureOf, results, tool, user }

export const target = (over: Partial<ModelTarget> = {}): ModelTarget => ({
  ...sampleTarget,
  model: 'gemini-3-pro',
  family: 'gemini-3',
  maxTokens: 4096,
  ...over,
})

export const older = target({ model: 'gemini-2.5-flash', family: 'gemini-2.5' })

export const request = (over: Partial<ModelRequest> = {}): ModelRequest =>
  sampleRequest({ tools: [tool('read'), tool('patch', { input: { form: 'text' } })], ...over })

export const outcome = (text: string, kind: OutcomeKind = 'ok'): Outcome => sampleOutcome(text, { kind })

export const call = (id: string, name: string, over: Partial<CallPart> = {}): CallPart =>
  sampleCall(id, { name, ...over })

export const assistant = (...parts: AssistantEntry['parts']): AssistantEntry => ({ role: 'assistant', parts })

export type Heard = {
  prepared: Prepared
  body: JsonObject
  /** The answer as it comes without a stream. */
  whole: unknown
  frames: Frame[]
  deltas: ModelDelta[]
  end: { answer: ModelAnswer } | { failure: ModelFailure }
}

export type Talk = {
  /** What the double refuses of this request. */
  judge(asked: ModelRequest, at?: ModelTarget): Rejection[]
  /** Throws when the double refuses. */
  ask(turn: ScriptedTurn, asked?: ModelRequest, at?: ModelTarget): Heard
}

export function startTalk(protocol: Protocol, options: { trustForeign?: boolean } = {}): Talk {
  const vendor = vendorDouble(protocol.name === 'gemini' ? 'gemini' : 'gemini-interactions')
  const memory = vendor.memory(options)
  const cache = new SessionCache()
  const exchangeOf = (prepared: Prepared) => {
    const url = new URL(`http://double/v1beta${prepared.path}`)
    const route = vendor.route('POST', url.pathname)
    assert.ok(route, `no route for ${prepared.path}`)
    assert.equal(surrogateProblem(prepared.body), null)
    assert.ok(prepared.body.isWellFormed())
    return { route, query: url.searchParams, headers: {}, body: bodyOf(prepared), rawText: prepared.body }
  }
  return {
    judge(asked, at = target()) {
      return vendor.check(exchangeOf(protocol.prepare(asked, at)), memory, 'strict')
    },
    ask(turn, asked = request(), at = target()) {
      const prepared = protocol.prepare(asked, at, cache)
      const exchange = exchangeOf(prepared)
      assert.deepEqual(vendor.check(exchange, memory, 'strict'), [], prepared.body)
      const answered = vendor.respond(reshapeTurn(turn), exchange, memory)
      const bent = bendFrames(answered.frames, listFaults(turn), vendor)
      const frames = bent.filter(frame => frame.comment !== true)
      return {
        prepared,
        body: exchange.body,
        whole: answered.body,
        frames,
        ...fold(protocol, prepared, frames),
      }
    },
  }
}

export function fold(
  protocol: Protocol,
  prepared: Prepared,
  frames: readonly Frame[],
): Pick<Heard, 'deltas' | 'end'> {
  const state = protocol.initial(prepared.reading)
  const deltas = frames.flatMap(frame => protocol.step(state, frame))
  const end = protocol.halt(state)
  if ('answer' in end) agrees(deltas, end.answer)
  return { deltas, end }
}

/** The contract: the deltas add up to the answer, call by call. */
function agrees(deltas: readonly ModelDelta[], answer: ModelAnswer): void {
  for (const type of ['text', 'thinking'] as const) {
    const shown = deltas.map(delta => (delta.type === type ? delta.text : '')).join('')
    const said = answer.parts.map(part => (part.type === type ? part.text : '')).join('')
    assert.equal(shown, said)
  }
  const calls: { name: string; form: string; text: string }[] = []
  for (const delta of deltas) {
    if (delta.type === 'call') {
      assert.equal(delta.index, calls.length)
      calls.push({ name: delta.name, form: delta.form, text: '' })
    } else if (delta.type === 'arguments') calls[delta.index]!.text += delta.text
  }
  const asked = answer.parts.filter(part => part.type === 'call')
  assert.deepEqual(
    calls,
    asked.map(({ name, form, text }) => ({ name, form, text })),
  )
}

export const callsIn = (answer: ModelAnswer) => answer.parts.filter(part => part.type === 'call')

/** Reads a value in a body: `at(body, 'contents', 1, 'parts')`. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let found = value
  for (const step of path) {
    if (Array.isArray(found) && typeof step === 'number') found = found.at(step)
    else found = isJsonObject(found) ? found[step] : undefined
  }
  return found
}

/** The objects of a list somewhere in a body. */
export function rows(value: unknown): JsonObject[] {
  assert.ok(Array.isArray(value))
  return value.filter(isJsonObject)
}

export const PNG = 'data:image/png;base64,iVBORw0KGgoAAAA='

for (const protocol of [geminiGenerate, geminiInteractions] satisfies Protocol[]) {
  test(`${protocol.name}: the harness reads a text answer`, () => {
    const heard = startTalk(protocol).ask({ text: 'hi' })
    assert.deepEqual(
      answerOf(heard)
        .parts.map(part => (part.type === 'text' ? part.text : ''))
        .join(''),
      'hi',
    )
  })
}
