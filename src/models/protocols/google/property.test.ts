// Both of Google's protocols with arbitrary histories: the strict doubles accept whatever a session can hold, written by
// any vendor, and a second request encodes only its new entries.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ModelAnswer } from '../../../engine/ports/index.ts'
import { type CallResult, type OutcomeKind, outcomeKinds } from '../../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart } from '../../../language/content.ts'
import type { AnswerPart, Entry } from '../../../language/history.ts'
import type { ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import type { Fault, ScriptedTurn } from '../../../testing/doubles/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import type { ModelTarget } from '../../protocol.ts'
import { geminiGenerate } from '../gemini/index.ts'
import { geminiInteractions } from '../interactions/index.ts'
import {
  entryOf,
  older,
  PNG,
  type Protocol,
  request,
  startTalk,
  type Talk,
  target,
  tool,
} from './harness.test.ts'

const generate: Origin = { protocol: 'gemini', family: 'gemini-3' }
const interactions: Origin = { protocol: 'gemini-interactions', family: 'gemini-3' }
const origins: Origin[] = [
  generate,
  interactions,
  { protocol: 'gemini', family: 'gemini-2.5' },
  { protocol: 'anthropic', family: 'claude' },
]
const names = [
  'read',
  'fs.read',
  'fs_read',
  'fs/read',
  'a b',
  'имя',
  'x'.repeat(200),
  'bad\ud800',
  '',
  '9',
  'patch',
]
const SIGNATURE = 'c2lnbmF0dXJl'

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' ', '\n\n', 'half \ud83d', '\udc00 half', '\\ud800 written out'),
  },
)
const origin = fc.constantFrom(...origins)
const native = (make: (origin: Origin) => JsonObject): fc.Arbitrary<Native> =>
  origin.map(made => ({ origin: made, data: make(made) }))

const mediaPart: fc.Arbitrary<Exclude<InputPart, { type: 'text' }>> = fc.oneof(
  fc
    .constantFrom(PNG, 'https://example.com/a.png', 'https://example.com/pic', 'data:,hello')
    .map(url => ({ type: 'image' as const, url })),
  fc
    .tuple(
      fc.constantFrom('data:application/pdf;base64,JVBERg==', 'https://example.com/a.pdf'),
      fc.constantFrom('application/pdf', 'audio/wav', 'text/plain'),
    )
    .map(([url, mediaType]) => ({ type: 'file' as const, url, mediaType })),
)
const inputPart: fc.Arbitrary<InputPart & ResultPart> = fc.oneof(
  text.map(value => ({ type: 'text' as const, text: value })),
  mediaPart,
)

const thinking: fc.Arbitrary<AnswerPart> = fc
  .tuple(text, fc.boolean(), origin)
  .map(([value, signed, made]) => {
    if (!signed) return { type: 'thinking' as const, text: value }
    const data: JsonObject =
      made.protocol === 'gemini'
        ? { text: value.toWellFormed(), thought: true, thoughtSignature: SIGNATURE }
        : { type: 'thought', signature: SIGNATURE, summary: [{ type: 'text', text: value.toWellFormed() }] }
    return { type: 'thinking' as const, text: value, native: { origin: made, data } }
  })

const spoken: fc.Arbitrary<AnswerPart> = fc
  .tuple(text, fc.boolean(), fc.boolean())
  .map(([value, signed, empty]) => {
    if (!signed) return { type: 'text' as const, text: value }
    const said = empty ? '' : value.toWellFormed()
    return {
      type: 'text' as const,
      text: said,
      native: { origin: generate, data: { text: said, thoughtSignature: SIGNATURE } },
    }
  })

const hosted: fc.Arbitrary<AnswerPart> = native(made =>
  made.protocol === 'gemini'
    ? { executableCode: { language: 'PYTHON', code: '1' }, thoughtSignature: SIGNATURE }
    : { type: 'google_search_call', id: 's', arguments: { queries: ['x'] } },
).map(made => ({ type: 'hosted' as const, tool: 'code', summary: '', native: made }))

const argumentTexts = fc.constantFrom(
  '{}',
  '',
  '{"p":"x"}',
  '{"p":"\\ud83d"}',
  '{"p":"\ud83d"}',
  '{"p":',
  '[]',
  'null',
  '{"a":1}{"b":2}',
  '{"n":12345678901234567890}',
  `{"d":${'['.repeat(500)}${']'.repeat(500)}}`,
)

type Called = (id: string) => { part: AnswerPart; result: CallResult }

const called: fc.Arbitrary<Called> = fc
  .record({
    name: fc.constantFrom(...names),
    form: fc.constantFrom('json' as const, 'text' as const),
    text: argumentTexts,
    nativeId: fc.constantFrom(undefined, '', 'same', 'x'.repeat(500), 'id with spaces', 'call_1'),
    maker: fc.option(origin, { nil: undefined }),
    signed: fc.boolean(),
    cut: fc.boolean(),
    kind: fc.constantFrom<OutcomeKind>(...outcomeKinds),
    parts: fc.array(inputPart, { maxLength: 3 }),
  })
  .map(made => (id: string) => ({
    part: {
      type: 'call' as const,
      id,
      name: made.name,
      form: made.form,
      text: made.text,
      ...(made.nativeId !== undefined && { nativeId: made.nativeId }),
      ...(made.cut && { cut: true as const }),
      ...(made.maker && !made.cut && { native: { origin: made.maker, data: nativeCall(made.maker, made) } }),
    },
    result: {
      callId: id,
      name: made.name,
      outcome: { kind: made.kind, parts: made.parts, from: { source: 'runtime' as const } },
    },
  }))

/** As the protocols record them. */
function nativeCall(maker: Origin, made: { nativeId: string | undefined; signed: boolean }): JsonObject {
  const id: JsonObject = made.nativeId ? { id: made.nativeId } : {}
  if (maker.protocol !== 'gemini') return { type: 'function_call', ...id, name: 'wire_name' }
  return { functionCall: { ...id, name: 'wire_name' }, ...(made.signed && { thoughtSignature: SIGNATURE }) }
}

type Stretch = (next: () => string) => Entry[]

const answer: fc.Arbitrary<Stretch> = fc
  .tuple(
    fc.array(fc.oneof(thinking, spoken, hosted), { maxLength: 4 }),
    fc.array(called, { maxLength: 3 }),
    fc.option(origin, { nil: undefined }),
    fc.boolean(),
  )
  .map(([parts, calls, made, shuffled]) => next => {
    const asked = calls.map(one => one(`call_${next()}`))
    const all = [...parts, ...asked.map(one => one.part)]
    const entry: Entry = { role: 'assistant', parts: all, ...(made && { origin: made }) }
    const given = asked.map(one => one.result)
    if (given.length === 0) return [entry]
    return [entry, { role: 'tool', results: shuffled ? given.reverse() : given }]
  })

const stretch: fc.Arbitrary<Stretch> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.array(inputPart, { maxLength: 3 }).map(parts => () => [{ role: 'user' as const, parts }]),
  },
  { weight: 4, arbitrary: answer },
  { weight: 1, arbitrary: text.map(said => () => [{ role: 'system' as const, text: said }]) },
)

const history: fc.Arbitrary<Entry[]> = fc.array(stretch, { maxLength: 7 }).map(stretches => {
  let count = 0
  return stretches.flatMap(one => one(() => String(++count)))
})

const tools: fc.Arbitrary<ToolDeclaration[]> = fc
  .uniqueArray(fc.constantFrom(...names), { maxLength: 6 })
  .map(chosen => chosen.map((name, index) => tool(name, index % 3 === 0 ? { input: { form: 'text' } } : {})))

const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.constantFrom<ToolChoice>('auto', 'none', 'required'),
  fc.constantFrom(...names).map(name => ({ tool: name })),
  fc
    .tuple(fc.subarray(names), fc.constantFrom('auto' as const, 'required' as const))
    .map(([allowed, mode]) => ({ allowed, mode })),
)

const quirky = target({ quirks: new Set(['openapi-schemas']) })

// Each protocol's own state type stays inside its talk.
const protocols: Protocol[] = [geminiGenerate, geminiInteractions]

for (const protocol of protocols) {
  test(`${protocol.name}: the strict double accepts any history`, () => {
    fc.assert(
      fc.property(
        history,
        tools,
        choice,
        fc.boolean(),
        fc.constantFrom(target(), older, quirky, target({ stateful: true })),
        (entries, offered, chosen, parallel, to) => {
          const asked = request({
            history: entries,
            tools: offered,
            choice: chosen,
            parallel,
            system: 'be \ud83d',
          })
          const talk = startTalk(protocol, { trustForeign: true })
          assert.deepEqual(talk.judge(asked, to), [])
        },
      ),
      { numRuns: 300 },
    )
  })

  test(`${protocol.name}: a second request encodes only its new entries`, () => {
    fc.assert(
      fc.property(history, tools, (entries, offered) => {
        const cache = new SessionCache()
        const count = (list: Entry[]) =>
          protocol.prepare(request({ history: list, tools: offered }), target(), cache).encoded
        const leading = entries.findIndex(entry => entry.role !== 'system')
        assert.equal(count(entries), leading < 0 ? 0 : entries.length - leading)
        assert.equal(count(entries), 0)
        const more: Entry = { role: 'user', parts: [{ type: 'text', text: 'more' }] }
        assert.equal(count([...entries, more]), 1)
      }),
      { numRuns: 50 },
    )
  })
}

// ---- sessions that change their model ----------------------------------------------------------------------

const fault = fc.constantFrom<Fault | undefined>(
  undefined,
  { kind: 'omit-ids' },
  { kind: 'call-ids', ids: 'empty' },
  { kind: 'call-ids', ids: 'duplicate' },
  { kind: 'call-ids', ids: 'long' },
  { kind: 'arguments', text: '[]' },
  { kind: 'arguments', text: '{"a":1}{"b":2}' },
  { kind: 'max-tokens-in-arguments' },
  { kind: 'tool-not-offered' },
  { kind: 'same-function-twice' },
  { kind: 'signature-on-empty-part' },
  { kind: 'malformed-function-call' },
  { kind: 'eof-before-end' },
)

const scripted: fc.Arbitrary<ScriptedTurn> = fc
  .record({
    thinking: fc.option(fc.string({ minLength: 1, maxLength: 8 }), { nil: undefined }),
    text: fc.option(fc.string({ minLength: 1, maxLength: 8 }), { nil: undefined }),
    calls: fc.array(
      fc
        .constantFrom('read', 'patch', 'fs.read', 'wipe disk', 'w'.repeat(400))
        .map(name => ({ name, input: { p: 'x' } })),
      { maxLength: 3 },
    ),
    fault,
    chunk: fc.integer({ min: 1, max: 5 }),
  })
  .map(made => ({
    calls: made.calls,
    chunk: made.chunk,
    ...(made.thinking !== undefined && { thinking: made.thinking }),
    ...(made.text !== undefined && { text: made.text }),
    ...(made.fault && { fault: made.fault }),
  }))

const stops = ['tool', 'user', 'both'] as const

type Seat = { protocol: number; to: ModelTarget }
const seats: Seat[] = [
  { protocol: 0, to: target() },
  { protocol: 0, to: older },
  { protocol: 1, to: target() },
  { protocol: 1, to: target({ stateful: true }) },
  { protocol: 1, to: older },
]

const step = fc.record({
  turn: scripted,
  seat: fc.constantFrom(...seats),
  parallel: fc.boolean(),
  kind: fc.constantFrom<OutcomeKind>(...outcomeKinds),
  then: fc.constantFrom(...stops),
})

test('a session that changes models and APIs is accepted at every step', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), steps => {
      const talks: Talk[] = protocols.map(protocol => startTalk(protocol))
      const offered = [tool('read'), tool('patch', { input: { form: 'text' } }), tool('fs.read')]
      const entries: Entry[] = [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }]
      for (const { turn, seat, parallel, kind, then } of steps) {
        const asked = request({ history: [...entries], tools: offered, parallel })
        const heard = talks[seat.protocol]!.ask(turn, asked, seat.to)
        if ('answer' in heard.end) entries.push(...recorded(heard.end.answer, kind))
        const isAnswered = entries.at(-1)?.role === 'tool'
        if (!isAnswered || then !== 'tool')
          entries.push({ role: 'user', parts: [{ type: 'text', text: 'and' }] })
      }
    }),
    { numRuns: 200 },
  )
})

function recorded(said: ModelAnswer, kind: OutcomeKind): Entry[] {
  if (said.parts.length === 0) return []
  const entry = entryOf(said)
  const results = entry.parts.flatMap(part => {
    if (part.type !== 'call') return []
    const outcome = {
      kind,
      parts: [{ type: 'text' as const, text: 'said' }],
      from: { source: 'runtime' as const },
    }
    return [{ callId: part.id, name: part.name, outcome }]
  })
  return results.length === 0 ? [entry] : [entry, { role: 'tool', results }]
}
