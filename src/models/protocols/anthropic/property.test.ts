// The strict double accepts every history that a session can hold, and a cache never changes a request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { CallResult, OutcomeKind } from '../../../language/calls.ts'
import { outcomeKinds } from '../../../language/calls.ts'
import type { InputPart, Native } from '../../../language/content.ts'
import type { AnswerPart, Entry } from '../../../language/history.ts'
import type { ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import { judge, request, target, tool } from './harness.test.ts'
import { anthropicMessages } from './index.ts'

const FAMILY = 'claude'
const own = { protocol: 'anthropic', family: FAMILY }
const origins = [own, { protocol: 'anthropic', family: 'other' }, { protocol: 'gemini', family: 'gemini' }]
const names = [
  'read',
  'fs.read',
  'fs_read',
  'a.b',
  'a_b',
  'web_search',
  'имя',
  'x'.repeat(200),
  'bad\ud800',
  '',
]
const PNG = 'data:image/png;base64,iVBORw0KGgoAAAA='

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' ', '\n\n', 'half \ud83d', '\udc00 half', '\\ud800 written out'),
  },
)
const native = (data: JsonObject): fc.Arbitrary<Native> =>
  fc.constantFrom(...origins).map(origin => ({ origin, data }))

const inputPart: fc.Arbitrary<InputPart> = fc.oneof(
  text.map(value => ({ type: 'text' as const, text: value })),
  fc
    .constantFrom(
      PNG,
      'https://example.com/a.png',
      'http://example.com/a.png',
      'data:image/svg+xml;base64,PHN2Zz4=',
      'data:image/png;base64,???',
      'data:,hello',
    )
    .map(url => ({ type: 'image' as const, url })),
  fc
    .tuple(
      fc.constantFrom(
        'data:application/pdf;base64,JVBERg==',
        'data:text/plain;base64,aGVsbG8=',
        'data:text/plain;base64,IA==',
        'data:application/zip;base64,UEsD',
        'https://example.com/a.pdf',
        'https://example.com/a.zip',
      ),
      fc.constantFrom('application/pdf', 'text/plain', 'application/zip', 'image/png'),
      fc.option(text, { nil: undefined }),
    )
    .map(([url, mediaType, name]) => ({
      type: 'file' as const,
      url,
      mediaType,
      ...(name !== undefined && { name }),
    })),
)

const thinking: fc.Arbitrary<AnswerPart> = fc.oneof(
  text.map(value => ({ type: 'thinking' as const, text: value })),
  text.chain(value =>
    native({ type: 'thinking', thinking: value.toWellFormed(), signature: 'EqQBCg==' }).map(made => ({
      type: 'thinking' as const,
      text: value,
      native: made,
    })),
  ),
  native({ type: 'redacted_thinking', data: 'EmwKAhgB' }).map(made => ({
    type: 'thinking' as const,
    text: '',
    native: made,
  })),
)

const hosted = fc
  .tuple(
    fc.integer({ min: 1, max: 4 }),
    fc.boolean(),
    fc.constantFrom(...origins),
    fc.constantFrom('web_search', 'code_execution'),
  )
  .map(([number, isUse, origin, name]): AnswerPart => {
    const id = `srvtoolu_${name}${number}`
    const data = isUse
      ? { type: 'server_tool_use', id, name, input: { query: 'x' } }
      : { type: `${name}_tool_result`, tool_use_id: id, content: [] }
    return { type: 'hosted', tool: name, summary: '', native: { origin, data } }
  })

const argumentTexts = fc.constantFrom(
  '{}',
  '',
  '{"p":"x"}',
  '{"p":"\\ud83d"}',
  '{"p":"\\ud83d\\ude00"}',
  '{"p":"\ud83d"}',
  '{"p":',
  '[]',
  'null',
  '"x"',
  '{"a":1}{"b":2}',
  '{"a":1,"a":2}',
  '{"n":12345678901234567890}',
  `{"d":${'['.repeat(5000)}${']'.repeat(5000)}}`,
)

type Called = { part: AnswerPart; result: Omit<CallResult, 'callId'> }

const called: fc.Arbitrary<(id: string) => Called> = fc
  .record({
    name: fc.constantFrom(...names),
    form: fc.constantFrom('json' as const, 'text' as const),
    text: argumentTexts,
    nativeId: fc.constantFrom(undefined, '', 'toolu_same', 'call:with:colons', 'x'.repeat(500), 'toolu_01'),
    native: fc.option(
      fc.oneof(
        native({ caller: { type: 'direct' } }),
        native({ caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_code_execution1' } }),
      ),
      { nil: undefined },
    ),
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
      ...(made.native && { native: made.native }),
      ...(made.cut && { cut: true as const }),
    },
    result: {
      name: made.name,
      outcome: { kind: made.kind, parts: made.parts, from: { source: 'tool' as const, tool: made.name } },
    },
  }))

const answerPart: fc.Arbitrary<AnswerPart> = fc.oneof(
  text.map(value => ({ type: 'text' as const, text: value })),
  text.chain(value =>
    native({ citations: [{ type: 'web_search_result_location', url: 'https://e.com' }] }).map(made => ({
      type: 'text' as const,
      text: value,
      native: made,
    })),
  ),
  thinking,
  hosted,
)

type Step = (next: () => string) => Entry[]

const userStep = fc.array(inputPart, { maxLength: 3 }).map(
  (parts): Step =>
    () => [{ role: 'user', parts }],
)
const systemStep = text.map(
  (value): Step =>
    () => [{ role: 'system', text: value }],
)
const answerStep = fc
  .record({
    parts: fc.array(answerPart, { maxLength: 3 }),
    calls: fc.array(called, { maxLength: 3 }),
    tail: fc.array(answerPart, { maxLength: 1 }),
    origin: fc.option(fc.constantFrom(...origins), { nil: undefined }),
    container: fc.boolean(),
  })
  .map(
    ({ parts, calls, tail, origin, container }): Step =>
      next => {
        const made = calls.map(make => {
          const id = next()
          return { id, ...make(id) }
        })
        const said = [...parts, ...made.map(each => each.part), ...tail]
        if (said.length === 0) return []
        const answer: Entry = {
          role: 'assistant',
          parts: said,
          ...(origin && { origin }),
          ...(container && { continuity: { origin: own, data: { container: { id: 'container_1' } } } }),
        }
        const answered = made.map(({ id, result }) => ({ callId: id, ...result }))
        return answered.length > 0 ? [answer, { role: 'tool', results: answered }] : [answer]
      },
  )

/** Ids of ours too: some a vendor would take, some too long, some with signs it refuses. */
const history = fc
  .tuple(
    fc.array(systemStep, { maxLength: 2 }),
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: userStep },
        { weight: 4, arbitrary: answerStep },
        { weight: 1, arbitrary: systemStep },
      ),
      { maxLength: 8 },
    ),
    fc.constantFrom('call_', 'call:', `${'y'.repeat(500)}`),
    fc.nat({ max: 3 }),
  )
  .map(([lead, steps, prefix, lost]) => {
    let count = 0
    // Also a history that lost its beginning, and with it perhaps the calls of results.
    return [...lead, ...steps].flatMap(step => step(() => `${prefix}${++count}`)).slice(lost)
  })

const declared = fc.uniqueArray(
  fc
    .constantFrom(...names)
    .map(
      (name): ToolDeclaration =>
        name === 'a_b'
          ? tool(name, { input: { form: 'text', grammar: { syntax: 'regex', definition: 'x+' } } })
          : tool(name),
    ),
  { selector: each => each.name, maxLength: 6 },
)

const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.constantFrom<ToolChoice>('auto', 'none', 'required'),
  fc.constantFrom(...names).map(name => ({ tool: name })),
  fc
    .tuple(fc.subarray(names), fc.constantFrom('auto' as const, 'required' as const))
    .map(([allowed, mode]) => ({ allowed, mode })),
)

const deployment = fc
  .record({
    model: fc.constantFrom('claude-sonnet-4-5', 'claude-sonnet-4-6', 'claude-opus-4-8', 'some-model'),
    thinking: fc.constantFrom<JsonObject | undefined>(
      undefined,
      { type: 'adaptive' },
      { type: 'enabled', budget_tokens: 2000 },
      { type: 'disabled' },
    ),
    hosted: fc.subarray<JsonObject>([
      { type: 'web_search_20260318', name: 'web_search' },
      { type: 'code_execution_20260120', name: 'code_execution' },
      { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      { name: '*', defer_loading: true },
    ]),
  })
  .map(({ model, thinking: wanted, hosted: tools }) => {
    const isOld = model !== 'claude-opus-4-8' || wanted?.['type'] !== 'enabled'
    return target({ model, family: FAMILY, hosted: tools, body: wanted && isOld ? { thinking: wanted } : {} })
  })

test('the strict double accepts every history with any tools, choice and deployment', () => {
  fc.assert(
    fc.property(
      history,
      declared,
      choice,
      fc.boolean(),
      deployment,
      text,
      (entries, tools, chosen, parallel, at, system) => {
        const asked = request({ history: entries, tools, choice: chosen, parallel, system })
        const cache = new SessionCache()
        const prepared = anthropicMessages.prepare(asked, at, cache)
        assert.deepEqual(judge(prepared), [], prepared.body)
        const again = anthropicMessages.prepare(asked, at, cache)
        assert.equal(again.body, prepared.body)
        assert.equal(again.encoded, 0)
      },
    ),
    { numRuns: 1500 },
  )
})

test('a cache never changes the requests of a growing history', () => {
  fc.assert(
    fc.property(history, declared, deployment, (entries, tools, at) => {
      const cache = new SessionCache()
      for (let length = 1; length <= entries.length; length++) {
        const asked = request({ history: entries.slice(0, length), tools })
        const grown = anthropicMessages.prepare(asked, at, cache)
        const fresh = anthropicMessages.prepare(asked, at)
        assert.equal(grown.body, fresh.body)
        assert.deepEqual(grown.headers, fresh.headers)
        assert.equal(grown.usesStored, fresh.usesStored)
      }
    }),
    { numRuns: 300 },
  )
})
