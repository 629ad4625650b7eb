// What the tests of this protocol share: short ways to make entries, a body that the strict double accepted, and an answer
// read from the frames of a scripted turn without a socket.

import assert from 'node:assert/strict'
import { foldDeltas } from '../../../../test/contracts/model.ts'
import {
  call,
  outcome,
  resultsOf,
  sampleRequest,
  sampleTarget,
  tool as sampleTool,
  user,
} from '../../../../test/models/samples.ts'
import type { ModelAnswer, ModelCall, ModelDelta, ModelRequest } from '../../../engine/ports/index.ts'
import type { AnswerPart, AssistantEntry, Entry } from '../../../language/history.ts'
import type { ToolDeclaration, ToolInput } from '../../../language/tools.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { bendFrames, listFaults, reshapeTurn } from '../../../testing/doubles/faults.ts'
import { checkRequestAll, type ScriptedTurn } from '../../../testing/doubles/index.ts'
import type { ChatQuirks } from '../../../testing/doubles/openai-chat/answer.ts'
import { chatDouble } from '../../../testing/doubles/openai-chat/index.ts'
import type { ModelFailure, ModelTarget } from '../../protocol.ts'
import { type ChatQuirk, openaiChat } from './index.ts'

export { call, outcome, resultsOf as results, user }

export const target: ModelTarget = { ...sampleTarget, model: 'gpt-test', family: 'gpt' }
export const origin = { protocol: 'openai-chat', family: 'gpt' }
export const quirky = (...quirks: ChatQuirk[]): ModelTarget => ({ ...target, quirks: new Set(quirks) })

export const request = (history: readonly Entry[], more: Partial<ModelRequest> = {}): ModelRequest =>
  sampleRequest({ history, ...more })
export const assistant = (...parts: AnswerPart[]): AssistantEntry => ({ role: 'assistant', parts, origin })
export const tool = (name: string, input?: ToolInput): ToolDeclaration =>
  sampleTool(name, {
    description: `does ${name}`,
    input: input ?? { form: 'json', schema: { type: 'object', properties: { a: { type: 'string' } } } },
  })

/** The body, when the strict double takes it. */
export function accepted(asked: ModelRequest, to: ModelTarget = target): JsonObject {
  const body: unknown = JSON.parse(openaiChat.prepare(asked, to).body)
  assert.ok(isJsonObject(body))
  assert.deepEqual(checkRequestAll('openai-chat', body), [])
  return body
}

export function messagesOf(body: JsonObject): JsonObject[] {
  const { messages } = body
  assert.ok(Array.isArray(messages))
  return messages.filter(isJsonObject)
}

export type Read = { end: { answer: ModelAnswer } | { failure: ModelFailure }; deltas: ModelDelta[] }

/** The answer to a scripted turn, streamed or whole, from a double with these quirks. */
export function read(
  turn: ScriptedTurn,
  options: { quirks?: Partial<ChatQuirks>; asked?: ModelRequest; to?: ModelTarget; whole?: boolean } = {},
): Read {
  const double = chatDouble('openai-chat', 'openai', options.quirks)
  const prepared = openaiChat.prepare(
    options.asked ?? request([user('hi')], { tools: [tool('f'), tool('g')] }),
    options.to ?? target,
  )
  const body: unknown = JSON.parse(prepared.body)
  const asked = {
    route: { kind: 'create', params: {} },
    query: new URLSearchParams(),
    headers: {},
    body,
    rawText: prepared.body,
  }
  const answered = double.respond(reshapeTurn(turn), asked, double.memory())
  const frames =
    options.whole === true
      ? [{ data: JSON.stringify(answered.body) }]
      : bendFrames(answered.frames, listFaults(turn), double).filter(frame => frame.comment !== true)
  const state = openaiChat.initial(prepared.reading)
  const deltas = frames.flatMap(frame => openaiChat.step(state, frame))
  return { end: openaiChat.halt(state), deltas }
}

/** The same, when it ends well: the deltas add up to the answer. */
export function answered(...given: Parameters<typeof read>): ModelAnswer {
  const { end, deltas } = read(...given)
  if ('failure' in end) assert.fail(end.failure.message)
  const shown = foldDeltas(deltas)
  const { answer } = end
  assert.equal(shown.text, textIn(answer))
  assert.deepEqual(
    shown.calls,
    callsIn(answer).map(({ name, form, text }) => ({ name, form, text })),
  )
  return answer
}

export function textIn(answer: ModelAnswer): string {
  return answer.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
}

export function callsIn(answer: ModelAnswer): ModelCall[] {
  return answer.parts.filter(part => part.type === 'call')
}
