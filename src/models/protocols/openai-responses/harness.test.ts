// What the tests of this protocol share: short ways to make entries, and a conversation with the strict double, without a
// socket, in which every request is checked and every answer becomes an entry as the engine would make it.

import assert from 'node:assert/strict'
import {
  call,
  outcome,
  resultsOf,
  sampleRequest,
  sampleTarget,
  tool as sampleTool,
  user,
} from '../../../../test/models/samples.ts'
import type { ModelAnswer, ModelRequest } from '../../../engine/ports/index.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import type { ToolDeclaration, ToolInput } from '../../../language/tools.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { checkRequestAll } from '../../../testing/doubles/index.ts'
import { openaiResponsesDouble as double } from '../../../testing/doubles/openai-responses/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/script.ts'
import { SessionCache } from '../../common/session-cache.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { openaiResponses } from './index.ts'

export { call, outcome, resultsOf as results, user }

export const target: ModelTarget = { ...sampleTarget, model: 'gpt-test', family: 'gpt' }
export const stateful: ModelTarget = { ...target, stateful: true }

export const request = (history: readonly Entry[], more: Partial<ModelRequest> = {}): ModelRequest =>
  sampleRequest({ history, ...more })
export const tool = (
  name: string,
  input: ToolInput = { form: 'json', schema: { type: 'object' } },
): ToolDeclaration => sampleTool(name, { description: `does ${name}`, input })

export function bodyOf(prepared: Prepared): JsonObject {
  const body: unknown = JSON.parse(prepared.body)
  assert.ok(isJsonObject(body))
  return body
}

/** The body, if the double accepts it. */
export function accepted(asked: ModelRequest, to: ModelTarget = target): JsonObject {
  const body = bodyOf(openaiResponses.prepare(asked, to))
  assert.deepEqual(checkRequestAll('openai-responses', body), [])
  return body
}

export function itemsOf(body: JsonObject): JsonObject[] {
  const { input } = body
  assert.ok(Array.isArray(input))
  return input.filter(isJsonObject)
}

/** A conversation with the double, which stores responses. */
export function conversation(
  to: ModelTarget,
  tools: ToolDeclaration[] = [tool('f'), tool('sql', { form: 'text' })],
) {
  const memory = double.memory()
  const cache = new SessionCache()
  const history: Entry[] = []
  let calls = 0
  const sent: JsonObject[] = []
  const ask = (turn: ScriptedTurn, goTo: ModelTarget = to): ModelAnswer => {
    const prepared = openaiResponses.prepare(request([...history], { tools }), goTo, cache)
    const body = bodyOf(prepared)
    sent.push(body)
    const asked = {
      route: { kind: 'create', params: {} },
      query: new URLSearchParams(),
      headers: { authorization: 'Bearer sk-a' },
      body,
      rawText: prepared.body,
    }
    assert.deepEqual(double.check(asked, memory, 'strict'), [])
    const { frames } = double.respond(turn, asked, memory)
    const state = openaiResponses.initial(prepared.reading)
    for (const frame of frames) openaiResponses.step(state, frame)
    const end = openaiResponses.halt(state)
    if ('failure' in end) assert.fail(end.failure.message)
    const { answer } = end
    const entry: AssistantEntry = {
      role: 'assistant',
      parts: answer.parts.map(part => (part.type === 'call' ? { ...part, id: `ours_${calls++}` } : part)),
      ...(answer.origin && { origin: answer.origin }),
      ...(answer.continuity && { continuity: answer.continuity }),
    }
    history.push(entry)
    const asks = entry.parts.filter(part => part.type === 'call')
    if (asks.length > 0)
      history.push({
        role: 'tool',
        results: asks.map(({ id, name }) => ({ callId: id, name, outcome: outcome(`result of ${id}`) })),
      })
    return answer
  }
  return { history, sent, ask, memory, last: () => sent.at(-1)! }
}
