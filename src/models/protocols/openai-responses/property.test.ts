// The strict double accepts every history that an engine can produce, and some that it cannot. A conversation may change
// its vendor, its mode and its past at any step, and no request is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ModelRequest } from '../../../engine/ports/index.ts'
import { type CallPart, type Outcome, outcomeKinds } from '../../../language/calls.ts'
import type { InputPart, Origin } from '../../../language/content.ts'
import type { AnswerPart, AssistantEntry, Entry } from '../../../language/history.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { parseBody } from '../../../testing/doubles/body.ts'
import { checkRequestAll } from '../../../testing/doubles/index.ts'
import { sealReasoning } from '../../../testing/doubles/openai-responses/history.ts'
import { openaiResponsesDouble as double } from '../../../testing/doubles/openai-responses/index.ts'
import type { ScriptedTurn } from '../../../testing/doubles/script.ts'
import { asString } from '../../common/json-read.ts'
import { SessionCache } from '../../common/session-cache.ts'
import { target } from './harness.test.ts'
import { openaiResponses } from './index.ts'

const ours: Origin = { protocol: 'openai-responses', family: 'gpt' }
const origins: (Origin | undefined)[] = [
  ours,
  ours,
  { protocol: 'openai-responses', family: 'other' },
  { protocol: 'anthropic', family: 'claude' },
  undefined,
]

// Lone surrogates included: a code unit by itself is text to us, and poison to a strict JSON parser.
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', ' ', '\ud83d', '\udc00x', '{"a":1}', '\\ud800', '"\\'),
)
const names = fc.constantFrom('f', 'fs.read', 'fs_read', 'fs read', 'ä', 'y'.repeat(200), 'sql')
const nativeIds = fc.constantFrom(
  undefined,
  '',
  'call_same',
  'call_a',
  'toolu_1',
  'call.with.dots',
  'call_'.padEnd(500, 'x'),
)
const media = fc.constantFrom<InputPart>(
  { type: 'image', url: 'data:image/png;base64,iVBORw0KGgoAAAAN' },
  { type: 'image', url: 'https://x.test/a.png' },
  { type: 'file', url: 'data:application/pdf;base64,aGk=', mediaType: 'application/pdf' },
  { type: 'file', url: 'https://x.test/a.pdf', mediaType: 'application/pdf', name: '\ud83d.pdf' },
)
const inputs = fc.array(
  fc.oneof(
    text.map((each): InputPart => ({ type: 'text', text: each })),
    media,
  ),
  { maxLength: 3 },
)
const outcomes = fc
  .record({ kind: fc.constantFrom(...outcomeKinds), parts: inputs })
  .map(({ kind, parts }): Outcome => ({ kind, parts, from: { source: 'runtime' } }))

type Draft =
  | { type: 'text'; text: string; whole: boolean }
  | { type: 'thinking'; text: string; whole: boolean }
  | { type: 'hosted'; item: JsonObject }
  | {
      type: 'call'
      name: string
      form: 'json' | 'text'
      text: string
      cut: boolean
      nativeId: string | undefined
      whole: boolean
    }

const drafts: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text, whole: fc.boolean() }),
  fc.record({ type: fc.constant('thinking' as const), text, whole: fc.boolean() }),
  fc.record({
    type: fc.constant('hosted' as const),
    item: fc.constantFrom<JsonObject>(
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        type: 'mcp_call',
        server_label: 'd',
        name: 'r',
        arguments: '{}',
        output: '\ud83d',
        status: 'completed',
      },
      { type: 'shell_call', call_id: 'sh', status: 'completed' },
      { type: 'code_interpreter_call', status: 'interpreting', code: 'x' },
    ),
  }),
  fc.record({
    type: fc.constant('call' as const),
    name: names,
    form: fc.constantFrom('json' as const, 'text' as const),
    text,
    cut: fc.boolean(),
    nativeId: nativeIds,
    whole: fc.boolean(),
  }),
)
const answers = fc.record({ origin: fc.constantFrom(...origins), drafts: fc.array(drafts, { maxLength: 6 }) })

/** As it would have been read from the vendor, or with a wrong item. */
function partOf(draft: Draft, origin: Origin | undefined, id: string): AnswerPart | undefined {
  const native = (data: JsonObject) => (origin === undefined ? {} : { native: { origin, data } })
  if (draft.type === 'hosted') {
    if (origin === undefined) return undefined
    const prefix = { web_search_call: 'ws_', mcp_call: 'mcp_' }[asString(draft.item['type'])] ?? 'x_'
    return {
      type: 'hosted',
      tool: 't',
      summary: 's',
      native: { origin, data: { ...draft.item, id: prefix + id } },
    }
  }
  if (draft.type === 'text') {
    const content = [{ type: 'output_text', text: draft.whole ? draft.text : 'another', annotations: [] }]
    const item = { type: 'message', id: `msg_${id}`, role: 'assistant', phase: 'commentary', content }
    return { type: 'text', text: draft.text, ...native(item) }
  }
  if (draft.type === 'thinking') {
    const summary = draft.text === '' ? [] : [{ type: 'summary_text', text: draft.text }]
    const seal = draft.whole ? { encrypted_content: sealReasoning(`rs_${id}`, null) } : {}
    return {
      type: 'thinking',
      text: draft.text,
      ...native({ type: 'reasoning', id: `rs_${id}`, summary, ...seal }),
    }
  }
  const { name, form, cut, nativeId } = draft
  const kind = form === 'json' ? 'function_call' : 'custom_tool_call'
  const item = {
    type: kind,
    id: `${draft.whole ? (form === 'json' ? 'fc' : 'ctc') : 'call'}_${id}`,
    call_id: nativeId ?? '',
    name: 'f',
    [form === 'json' ? 'arguments' : 'input']: draft.text,
    status: 'completed',
  }
  const call: CallPart = { type: 'call', id: `ours ${id}`, name, form, text: draft.text, ...native(item) }
  return { ...call, ...(cut && { cut }), ...(nativeId !== undefined && { nativeId }) }
}

const rounds = fc.array(
  fc.record({
    system: fc.option(text, { nil: undefined }),
    user: fc.option(inputs, { nil: undefined }),
    answer: answers,
    outcomes: fc.array(outcomes, { minLength: 6, maxLength: 6 }),
    /** The same item ids again, as from a history that was forked. */
    repeat: fc.boolean(),
  }),
  { maxLength: 5 },
)

const histories = rounds.map(given => {
  const history: Entry[] = []
  for (const [round, { system, user, answer, outcomes: ends, repeat }] of given.entries()) {
    if (system !== undefined) history.push({ role: 'system', text: system })
    if (user !== undefined) history.push({ role: 'user', parts: user })
    const parts = answer.drafts.flatMap((draft, at) => {
      const part = partOf(draft, answer.origin, `${repeat ? 0 : round}_${at}`)
      return part === undefined ? [] : [part.type === 'call' ? { ...part, id: `${part.id} ${round}` } : part]
    })
    if (parts.length === 0) continue
    history.push({ role: 'assistant', parts, ...(answer.origin && { origin: answer.origin }) })
    const calls = parts.filter(part => part.type === 'call')
    if (calls.length === 0) continue
    history.push({
      role: 'tool',
      results: calls.map(({ id, name }, at) => ({ callId: id, name, outcome: ends[at]! })),
    })
  }
  return history
})

const schemas = fc.constantFrom<JsonObject>(
  { type: 'object' },
  { type: 'object', properties: { a: { type: 'array' } } },
  { anyOf: [{ type: 'object' }, { type: 'string' }] },
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
  { type: 'object', properties: { '\ud83d': { $ref: '#/$defs/x' } }, $defs: { x: { type: 'array' } } },
)
const tools = fc
  .uniqueArray(
    fc.record({
      name: names,
      schema: schemas,
      strict: fc.option(fc.boolean(), { nil: undefined }),
      isText: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 5 },
  )
  .map(given =>
    given.map(
      ({ name, schema, strict, isText }): ToolDeclaration => ({
        name,
        description: '\ud83d what it does',
        input: isText
          ? { form: 'text', grammar: { syntax: 'regex', definition: '.*' } }
          : { form: 'json', schema, ...(strict !== undefined && { strict }) },
        kind: 'other',
        readOnly: false,
        idempotent: false,
        destructive: false,
        side: 'server',
      }),
    ),
  )
const requests: fc.Arbitrary<ModelRequest> = fc.record(
  {
    session: fc.constant('s'),
    system: text,
    history: histories,
    tools,
    choice: fc.oneof(
      fc.constantFrom('auto' as const, 'none' as const, 'required' as const),
      names.map(tool => ({ tool })),
      fc.record({ allowed: fc.array(names), mode: fc.constantFrom('auto' as const, 'required' as const) }),
    ),
    parallel: fc.boolean(),
    maxTokens: fc.integer({ min: 1, max: 100 }),
    options: fc.constant({}),
  },
  { requiredKeys: ['session', 'history', 'tools', 'choice', 'parallel', 'options'] },
)

test('the strict double accepts every history and set of tools, and a second request is the same', () => {
  fc.assert(
    fc.property(requests, fc.boolean(), (request, stateful) => {
      const to = { ...target, stateful }
      const cache = new SessionCache()
      const prepared = openaiResponses.prepare(request, to, cache)
      const { body, problem } = parseBody(Buffer.from(prepared.body, 'utf8'), 'application/json')
      assert.equal(problem, null)
      assert.deepEqual(checkRequestAll('openai-responses', body), [])
      const again = openaiResponses.prepare(request, to, cache)
      assert.equal(again.body, prepared.body)
      assert.equal(again.encoded, 0)
    }),
    { numRuns: 400 },
  )
})

test('a cache never changes the requests of a growing history', () => {
  fc.assert(
    fc.property(requests, fc.boolean(), (request, stateful) => {
      const to = { ...target, stateful }
      const cache = new SessionCache()
      for (let length = 1; length <= request.history.length; length++) {
        const asked = { ...request, history: request.history.slice(0, length) }
        assert.equal(openaiResponses.prepare(asked, to, cache).body, openaiResponses.prepare(asked, to).body)
      }
    }),
    { numRuns: 300 },
  )
})

// ---- conversations -----------------------------------------------------------------------------------------

const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
const turns: fc.Arbitrary<ScriptedTurn> = fc.record(
  {
    thinking: fc.constantFrom('', 'hm'),
    text: fc.constantFrom('', 'well'),
    raw: fc.constantFrom([search], [{ type: 'shell_call', call_id: 'sh', status: 'completed' }]),
    calls: fc.array(
      fc.record(
        {
          id: fc.constantFrom('call_same', '', 'x'.repeat(500)),
          name: fc.constantFrom('f', 'g'),
          text: fc.constantFrom('', '{}', '{"a', '[]'),
          custom: fc.boolean(),
          cut: fc.boolean(),
        },
        { requiredKeys: ['name'] },
      ),
      { maxLength: 3 },
    ),
    stop: fc.constantFrom('length', 'filter'),
  },
  { requiredKeys: [] },
)
const steps = fc.array(
  fc.record({
    stateful: fc.boolean(),
    family: fc.constantFrom('gpt', 'gpt', 'gpt', 'other'),
    turn: turns,
    then: fc.constantFrom('speak', 'speak', 'nothing', 'cancel', 'foreign', 'compact', 'edit', 'repeat'),
  }),
  { maxLength: 8 },
)

/** What may happen to a history between two requests. Never between calls and their results. */
function change(history: Entry[], then: string): void {
  const spoken: Entry = { role: 'user', parts: [{ type: 'text', text: 'and?' }] }
  const answer = history.findLast(entry => entry.role === 'assistant')
  if (then === 'cancel') history.push({ role: 'assistant', parts: [{ type: 'text', text: 'I wa' }] })
  if (then === 'foreign')
    history.push({
      role: 'assistant',
      parts: [{ type: 'text', text: 'hello' }],
      origin: { protocol: 'anthropic', family: 'claude' },
    })
  if (then === 'compact') {
    const from = history.findIndex(entry => entry.role === 'assistant')
    history.splice(0, Math.max(0, from), { role: 'system', text: 'a summary' })
  }
  if (then === 'edit' && answer !== undefined) {
    const parts = answer.parts.map(part => (part.type === 'text' ? { ...part, text: 'edited' } : part))
    history[history.indexOf(answer)] = { ...answer, parts }
  }
  if (then === 'repeat' && answer !== undefined && !answer.parts.some(part => part.type === 'call'))
    history.push(spoken, { ...answer })
  if (then !== 'nothing') history.push(spoken)
}

test('no step of a conversation is refused, whatever changes between the steps', () => {
  fc.assert(
    fc.property(steps, given => {
      const memory = double.memory()
      const history: Entry[] = [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }]
      for (const [round, { stateful, family, turn, then }] of given.entries()) {
        const to = { ...target, stateful, family }
        const asked = {
          session: 's',
          history: [...history],
          tools: [],
          choice: 'auto' as const,
          parallel: true,
          options: {},
        }
        const prepared = openaiResponses.prepare(asked, to)
        const body: unknown = JSON.parse(prepared.body)
        const request = {
          route: { kind: 'create', params: {} },
          query: new URLSearchParams(),
          headers: { authorization: 'Bearer sk-a' },
          body,
          rawText: prepared.body,
        }
        assert.deepEqual(double.check(request, memory, 'strict'), [])
        const state = openaiResponses.initial(prepared.reading)
        for (const frame of double.respond(turn, request, memory).frames) openaiResponses.step(state, frame)
        const end = openaiResponses.halt(state)
        assert.ok('answer' in end)
        const { parts, origin, continuity } = end.answer
        if (parts.length === 0) continue
        const entry: AssistantEntry = {
          role: 'assistant',
          parts: parts.map((part, at) =>
            part.type === 'call' ? { ...part, id: `call-${round}-${at}` } : part,
          ),
          ...(origin && { origin }),
          ...(continuity && { continuity }),
        }
        history.push(entry)
        const calls = entry.parts.filter(part => part.type === 'call')
        const outcome: Outcome = {
          kind: 'ok',
          parts: [{ type: 'text', text: 'y' }],
          from: { source: 'runtime' },
        }
        if (calls.length > 0)
          history.push({
            role: 'tool',
            results: calls.map(({ id, name }) => ({ callId: id, name, outcome })),
          })
        change(history, then)
      }
    }),
    { numRuns: 200 },
  )
})
