// Facts of a model request and of a run tool that the log and the traces keep, on each vendor's API.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as z from 'zod'
import { ownVersion } from '../../src/data/version.ts'
import type { Model, Tool } from '../../src/engine/index.ts'
import type { Event, EventType } from '../../src/language/events.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../src/models/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { startDouble } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/index.ts'

type Logged = { level: string; message: string; fields: Record<string, unknown> | undefined }

async function turnOf(t: TestContext, model: Model, tools: Tool[] = [], policy = {}) {
  const lines: Logged[] = []
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'a', model, tools }], policy, data: 'memory' },
    { log: (level, message, fields) => void lines.push({ level, message, fields }) },
  )
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  const reply = await session.send('Hello')
  const events: Event[] = []
  for await (const item of session.watch({ until: 'stop' }))
    if (item.type === 'event') events.push(item.event)
  return { reply, events, lines }
}

function only<Type extends EventType>(events: readonly Event[], type: Type): Extract<Event, { type: Type }> {
  const found = events.filter(event => event.type === type)
  assert.equal(found.length, 1, JSON.stringify(events))
  return found[0] as Extract<Event, { type: Type }> // Filtered by its type.
}

const limits = { backoffMs: 1, maxBackoffMs: 1, retries: 1 }
const vendors = [
  {
    vendor: 'anthropic',
    model: anthropic,
    name: 'claude-sonnet-4-5',
    id: /^msg_/,
    version: '2023-06-01',
    path: '',
  },
  { vendor: 'openai-responses', model: openai, name: 'gpt-5.2', id: /^resp_/, version: 'v1', path: '/v1' },
  { vendor: 'openai-chat', model: openaiChat, name: 'gpt-5.2', id: /^chatcmpl/, version: 'v1', path: '/v1' },
  {
    vendor: 'gemini',
    model: gemini,
    name: 'gemini-3-pro-preview',
    id: /./,
    version: 'v1beta',
    path: '/v1beta',
  },
  {
    vendor: 'gemini-interactions',
    model: geminiInteractions,
    name: 'gemini-3-pro-preview',
    id: /./,
    version: 'v1beta',
    path: '/v1beta',
  },
] as const

for (const { vendor, model, name, id, version, path } of vendors) {
  const asked = async (t: TestContext, faults: number, tries = 1) => {
    const fault = { kind: 'overloaded' } as const
    const script = [...Array.from({ length: faults }, () => ({ fault })), { text: 'Hello.' }]
    const double = await startDouble({ vendor, script })
    t.after(() => double.close())
    return turnOf(
      t,
      model({
        model: name,
        baseUrl: `${double.url}${path}`,
        apiKey: 'key',
        limits: { ...limits, retries: tries },
      }),
    )
  }

  test(`${vendor}: the log has the vendor's id of an answer, its model and API version, and our version`, async t => {
    const { events, reply } = await asked(t, 0)
    assert.equal(reply.text, 'Hello.')
    const answered = only(events, 'model.answered')
    assert.match(answered.vendor?.id ?? '', id)
    assert.ok(answered.vendor?.model?.includes(name), JSON.stringify(answered.vendor))
    assert.equal(answered.vendor?.version, version)
    assert.equal(answered.retries, undefined)
    assert.equal(only(events, 'turn.started').version, ownVersion())
  })

  test(`${vendor}: a request that is made again is in the log of the session and of the operator`, async t => {
    const { events, lines } = await asked(t, 1)
    const { retries = [] } = only(events, 'model.answered')
    assert.equal(retries.length, 1)
    assert.match(`${retries[0]?.code} ${retries[0]?.message}`, /^model_\w+ .*overloaded/i)
    const told = lines.filter(({ message }) => message === 'A request to a model failed and is made again.')
    assert.deepEqual(
      told.map(({ level, fields }) => [level, fields?.['code']]),
      [['warn', retries[0]?.code]],
    )
  })

  test(`${vendor}: a turn that fails in the end names the requests before the last one`, async t => {
    const { events, reply } = await asked(t, 3, 2)
    assert.ok(reply.status === 'done' && reply.stop === 'error')
    assert.equal(only(events, 'turn.ended').retries?.length, 2)
  })
}

test('a tool that throws leaves its kind of error in the outcome, and none of its words', async t => {
  const broken = tool({
    name: 'broken',
    description: 'Breaks.',
    trust: 'trusted',
    input: { type: 'object' },
    run() {
      throw new RangeError('the secret number')
    },
  })
  const { events } = await turnOf(t, scripted([{ calls: [{ name: 'broken', input: {} }] }, { text: 'x' }]), [
    broken,
  ])
  const { outcome } = only(events, 'call.settled')
  assert.deepEqual([outcome.kind, outcome.errorType], ['error', 'RangeError'])
})

const book = tool({
  name: 'book',
  description: 'Books.',
  trust: 'trusted',
  input: z.object({ to: z.string(), seats: z.number().default(2), note: z.string().default('pin 1234567') }),
  run: ({ seats }) => `${seats} seats`,
})

test('arguments that a schema fills in are recorded with the outcome, and only where they differ', async t => {
  const script = (input: JsonObject) => scripted([{ calls: [{ name: 'book', input }] }, { text: 'x' }])
  const filled = await turnOf(t, script({ to: 'Rome' }), [book])
  const whole = { to: 'Rome', seats: 2, note: 'pin 1234567' }
  assert.deepEqual(only(filled.events, 'call.settled').outcome.input, whole)
  const same = await turnOf(t, script(whole), [book])
  assert.equal(only(same.events, 'call.settled').outcome.input, undefined)
})

test('a secret among them is redacted as the arguments of a call are', async t => {
  const policy = { redact: [{ name: 'pin', pattern: '[0-9]{7}' }] }
  const { events } = await turnOf(
    t,
    scripted([{ calls: [{ name: 'book', input: { to: 'Rome' } }] }, { text: 'x' }]),
    [book],
    policy,
  )
  const { outcome } = only(events, 'call.settled')
  assert.ok(outcome.input !== undefined)
  assert.doesNotMatch(JSON.stringify(outcome.input), /1234567/)
})
