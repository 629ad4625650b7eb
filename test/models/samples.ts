// Entries, tools and requests for the tests of the protocols, and what the engine makes of an answer.
import assert from 'node:assert/strict'
import type { ModelAnswer, ModelRequest } from '../../src/engine/ports/index.ts'
import type { CallPart, Outcome } from '../../src/language/calls.ts'
import { type AssistantEntry, type Entry, listCalls, type ToolEntry } from '../../src/language/history.ts'
import type { ToolDeclaration } from '../../src/language/tools.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import type { ModelFailure, ModelTarget } from '../../src/models/protocol.ts'

export const sampleTarget: Omit<ModelTarget, 'model' | 'family'> = {
  maxTokens: 1000,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
}

export const sampleRequest = (over: Partial<ModelRequest> = {}): ModelRequest => ({
  session: 's',
  history: [user('hello')],
  tools: [],
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

export const call = (id: string, over: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  id,
  name: 'f',
  form: 'json',
  text: '{}',
  ...over,
})

export const outcome = (text: string, over: Partial<Outcome> = {}): Outcome => ({
  kind: 'ok',
  parts: [{ type: 'text', text }],
  from: { source: 'runtime' },
  ...over,
})

/** The results of calls of the tool `f`. */
export const resultsOf = (...given: [id: string, outcome: Outcome][]): ToolEntry => ({
  role: 'tool',
  results: given.map(([callId, each]) => ({ callId, name: 'f', outcome: each })),
})

/** The results of an answer's calls. */
export const results = (entry: AssistantEntry, said: string | Outcome = 'done'): ToolEntry => ({
  role: 'tool',
  results: listCalls(entry).map(({ id, name }) => ({
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

type Ended = { end: { answer: ModelAnswer } | { failure: ModelFailure } }

export function answerOf({ end }: Ended): ModelAnswer {
  assert.ok('answer' in end, JSON.stringify(end))
  return end.answer
}

export function failureOf({ end }: Ended): ModelFailure {
  assert.ok('failure' in end, JSON.stringify(end))
  return end.failure
}

/** A request's body is always an object. */
export const bodyOf = (prepared: { body: string }): JsonObject => JSON.parse(prepared.body) as JsonObject
