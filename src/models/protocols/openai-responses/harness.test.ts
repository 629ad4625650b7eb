// What the tests of this protocol share: short ways to make entries, and a conversation with the strict double, without a
// socket, in which every request is checked and every answer becomes an entry as the engine would make it.

import assert from 'node:assert/strict'
import type { ModelAnswer, ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, Outcome } from '../../../language/calls.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import type { ToolDeclaration, ToolInput } from '../../../language/tools.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { checkRequestAll } from '../../../testing/doubles/index.ts'
import { openaiResponsesDouble as double } from '../../../testing/doubles/openai-responses/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/script.ts'
import { SessionCache } from '../../common/session-cache.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { openaiResponses } from './index.ts'

export const target: ModelTarget = {
  model: 'gpt-test',
  family: 'gpt',
  maxTokens: 1000,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
}
export const stateful: ModelTarget = { ...target, stateful: true }

export const request = (history: readonly Entry[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  session: 's',
  history,
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
  ...more,
})
export const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
export const tool = (
  name: string,
  input: ToolInput = { form: 'json', schema: { type: 'object' } },
): ToolDeclaration => ({
  name,
  description: `does ${name}`,
  input,
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
})
export const call = (id: string, more: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  id,
  name: 'f',
  form: 'json',
  text: '{}',
  ...more,
})
export const outcome = (text: string, more: Partial<Outcome> = {}): Outcome => ({
  kind: 'ok',
  parts: [{ type: 'text', text }],
  from: { source: 'runtime' },
  ...more,
})
export const results = (...given: [id: string, outcome: Outcome][]): ToolEntry => ({
  role: 'tool',
  results: given.map(([callId, each]) => ({ callId, name: 'f', outcome: each })),
})

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
