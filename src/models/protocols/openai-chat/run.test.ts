// The protocol behind the runner, over a socket, against the strict double and a compatible one: the contract of every
// model, a tool loop, and badly split streams. Histories of any kind are sent to both.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { type ModelScenario, modelContract } from '../../../../test/contracts/model.ts'
import type { Model, ModelDelta } from '../../../engine/ports/index.ts'
import { type CallPart, type Outcome, outcomeKinds } from '../../../language/calls.ts'
import type { InputPart } from '../../../language/content.ts'
import type { AnswerPart, Entry } from '../../../language/history.ts'
import { isJsonObject } from '../../../lib/json/index.ts'
import { parseBody } from '../../../testing/doubles/body.ts'
import {
  checkRequestAll,
  type Fault,
  type RunningDouble,
  type Script,
  startDouble,
  type VendorName,
} from '../../../testing/doubles/index.ts'
import type { ModelTarget } from '../../protocol.ts'
import { createModel, type RunLimits } from '../../run.ts'
import { createAgents } from '../../run-http.ts'
import { outcome, quirky, request, target, textIn, tool, user } from './harness.test.ts'
import { type ChatQuirk, chatQuirks, compatibleQuirks, openaiChat } from './index.ts'

const agents = createAgents({})
after(() => agents.http.destroy())

type Opened = { model: Model; double: RunningDouble }

async function open(
  script: Script,
  more: { vendor?: VendorName; target?: ModelTarget; limits?: Partial<RunLimits> } = {},
): Promise<Opened> {
  const double = await startDouble({ vendor: more.vendor ?? 'openai-chat', script })
  after(() => double.close())
  const model = createModel({
    protocol: openaiChat,
    provider: {
      name: 'double',
      url: () => `${double.url}/v1`,
      headers: () => ({ authorization: 'Bearer sk-test' }),
    },
    target: more.target ?? target,
    limits: { retries: 0, backoffMs: 1, ...more.limits },
    agents,
  })
  return { model, double }
}

const calls = [
  { name: 'get_weather', input: { city: 'Paris' } },
  { name: 'get_time', input: { city: 'Oslo' } },
]
const scripts: Record<Exclude<ModelScenario, 'reset'>, { script: Script; limits?: Partial<RunLimits> }> = {
  words: { script: () => ({ thinking: 'A greeting.', text: 'Good morning to you.', chunk: 3 }) },
  calls: { script: () => ({ text: 'Two things.', calls, chunk: 4 }) },
  'one-call': { script: () => ({ calls, chunk: 4 }) },
  'no-calls': { script: () => ({ text: 'It is fine.' }) },
  slow: { script: () => ({ text: 'very slow words', chunk: 1, delayMs: 500 }) },
  silent: { script: () => ({ fault: { kind: 'hang' } }) },
  fails: { script: () => ({ fault: { kind: 'server-error' } }) },
  rejects: { script: () => ({ fault: { kind: 'server-error', status: 400 } }) },
  'times-out': { script: () => ({ fault: { kind: 'hang' } }), limits: { firstByteMs: 30 } },
}

for (const [vendor, to] of [
  ['openai-chat', target],
  ['openai-compatible', quirky(...compatibleQuirks)],
] as const)
  modelContract(vendor, async scenario => {
    if (scenario === 'reset') return { skip: 'the runner never asks again once something was shown' }
    const { script, limits } = scripts[scenario]
    return (await open(script, { vendor, target: to, ...(limits && { limits }) })).model
  })

test('a tool loop through the runner', async () => {
  const { model, double } = await open([
    { text: 'Let me see.', calls: [{ name: 'f', input: { a: 'x' } }] },
    { text: 'Done.' },
  ])
  const history: Entry[] = [user('go')]
  const ask = () =>
    model.respond(request([...history], { tools: [tool('f')] }), () => {}, new AbortController().signal)
  const first = await ask()
  history.push({
    role: 'assistant',
    parts: first.parts.map(
      (part): AnswerPart => (part.type === 'call' ? { ...part, id: 'call_ours' } : part),
    ),
    ...(first.origin && { origin: first.origin }),
  })
  history.push({ role: 'tool', results: [{ callId: 'call_ours', name: 'f', outcome: outcome('found') }] })
  assert.equal(textIn(await ask()), 'Done.')
  assert.deepEqual(double.rejections(), [])
  const body = double.exchanges[1]?.body
  assert.ok(isJsonObject(body) && Array.isArray(body['messages']))
  const native = first.parts.find(part => part.type === 'call')?.nativeId
  assert.deepEqual(body['messages'].at(-1), { role: 'tool', tool_call_id: native, content: 'found' })
})

describe('badly split and broken streams', () => {
  for (const kind of [
    'one-byte-writes',
    'crlf',
    'split-utf8',
    'unknown-events',
    'ping-flood',
  ] satisfies Fault['kind'][])
    test(kind, async () => {
      const { model } = await open([
        { text: 'Grüße, 世界 😀', calls: [{ name: 'f', input: { a: 'ß😀' } }], chunk: 5, fault: { kind } },
      ])
      const deltas: ModelDelta[] = []
      const answer = await model.respond(
        request([user('x')], { tools: [tool('f')] }),
        delta => deltas.push(delta),
        new AbortController().signal,
      )
      assert.equal(textIn(answer), 'Grüße, 世界 😀')
      assert.equal(answer.parts.find(part => part.type === 'call')?.text, '{"a":"ß😀"}')
      assert.ok(deltas.length > 3)
    })
})

// ---- any history -----------------------------------------------------------------------------------------

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', ' ', '\ud83d', '{"a":1}', '\\ud800', '"\\', '[]', '{"a":'),
)
const media = fc.constantFrom<InputPart>(
  { type: 'image', url: 'data:image/png;base64,iVBORw0KGgoAAAAN' },
  { type: 'image', url: 'https://x.test/a.png' },
  { type: 'file', url: 'data:application/pdf;base64,aGk=', mediaType: 'application/pdf' },
  { type: 'file', url: 'data:text/plain;base64,aGk=', mediaType: 'text/plain', name: '\ud83d' },
  { type: 'file', url: 'https://x.test/a.pdf', mediaType: 'application/pdf' },
)
const inputs = fc.array(
  fc.oneof(
    text.map((each): InputPart => ({ type: 'text', text: each })),
    media,
  ),
  { maxLength: 3 },
)
const origins = fc.constantFrom(
  { protocol: 'openai-chat', family: 'gpt' },
  { protocol: 'anthropic', family: 'claude' },
  undefined,
)
const asked = fc.record({
  name: fc.constantFrom('f', 'fs.read', 'fs_read', 'ä', 'y'.repeat(200), ''),
  form: fc.constantFrom('json' as const, 'text' as const),
  text,
  nativeId: fc.constantFrom(undefined, '', 'same', 'toolu.1', 'x'.repeat(500), 'abcDEF123'),
  kind: fc.constantFrom(...outcomeKinds),
  parts: inputs,
})
const steps = fc.array(
  fc.oneof(
    inputs.map(parts => ({ step: 'user' as const, parts })),
    text.map(words => ({ step: 'system' as const, words })),
    fc.record({
      step: fc.constant('assistant' as const),
      words: text,
      thought: text,
      origin: origins,
      asked: fc.array(asked, { maxLength: 3 }),
    }),
  ),
  { maxLength: 8 },
)

function historyOf(drawn: typeof steps extends fc.Arbitrary<infer T> ? T : never): Entry[] {
  const history: Entry[] = []
  let count = 0
  for (const each of drawn) {
    if (each.step === 'user') history.push({ role: 'user', parts: each.parts })
    else if (each.step === 'system') history.push({ role: 'system', text: each.words })
    else {
      const made = each.asked.map((draft): { call: CallPart; outcome: Outcome } => ({
        call: {
          type: 'call',
          id: `call_${count++}`,
          name: draft.name,
          form: draft.form,
          text: draft.text,
          ...(draft.nativeId !== undefined && { nativeId: draft.nativeId }),
        },
        outcome: { kind: draft.kind, parts: draft.parts, from: { source: 'runtime' } },
      }))
      const origin = each.origin === undefined ? {} : { origin: each.origin }
      const parts: AnswerPart[] = [
        { type: 'thinking', text: each.thought },
        { type: 'text', text: each.words },
      ]
      history.push({ role: 'assistant', parts: [...parts, ...made.map(({ call }) => call)], ...origin })
      if (made.length > 0)
        history.push({
          role: 'tool',
          results: made.map(({ call, outcome: ended }) => ({
            callId: call.id,
            name: call.name,
            outcome: ended,
          })),
        })
    }
  }
  return history
}

test('every history is accepted with any quirks', () => {
  const quirks = fc.subarray(Object.keys(chatQuirks) as ChatQuirk[]) // the keys of a const object are its names
  const tools = [tool('f'), tool('fs.read'), tool('sh', { form: 'text' })]
  fc.assert(
    fc.property(steps, quirks, fc.boolean(), (drawn, odd, withTools) => {
      const history = historyOf(drawn)
      const prepared = openaiChat.prepare(request(history, withTools ? { tools } : {}), quirky(...odd))
      const { body, problem } = parseBody(Buffer.from(prepared.body), 'application/json')
      assert.equal(problem ?? null, null)
      assert.deepEqual(checkRequestAll('openai-chat', body), [])
      assert.deepEqual(checkRequestAll('openai-compatible', body), [])
    }),
    { numRuns: 300 },
  )
})
