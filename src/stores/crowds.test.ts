import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { CallSettled, Event, ModelAnswered } from '../language/events.ts'
import { decodeEvents, encodeEvents } from './crowds.ts'

const hash = 'f'.repeat(64)

const started = (index: number): Event => ({
  v: 1,
  at: 1000,
  type: 'call.started',
  callId: `call_${index}`,
  attempt: 1,
  allowed: { toolHash: hash, rule: 'operator-trust' },
})

const settled = (index: number, at = 1000): CallSettled => ({
  v: 1,
  at,
  type: 'call.settled',
  callId: `call_${index}`,
  outcome: {
    kind: 'ok',
    parts: [{ type: 'text', text: `result ${index}` }],
    from: { source: 'tool', tool: 'wait' },
    ms: 10 + (index % 3),
  },
})

const answered = (calls: number): ModelAnswered => ({
  v: 1,
  at: 999,
  type: 'model.answered',
  parts: [
    { type: 'text', text: 'Let me see.' },
    ...Array.from({ length: calls }, (_, index) => ({
      type: 'call' as const,
      id: `call_${index}`,
      name: 'wait',
      form: 'json' as const,
      text: `{"n":${index}}`,
    })),
  ],
  stop: 'calls',
  model: 'scripted',
})

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** The same events, with their members in the same order, as whoever reads them as text would see. */
function comesBack(events: readonly Event[]): string {
  const text = encodeEvents(events)
  assert.equal(JSON.stringify(decodeEvents(text)), JSON.stringify(events))
  return text
}

test('a crowd takes a fraction of the space and comes back as it was', () => {
  const events = [answered(256), ...many(256, started), ...many(256, index => settled(index, 1010))]
  const text = comesBack(events)
  assert.ok(text.length * 3 < JSON.stringify(events).length, `${text.length} bytes`)
  assert.equal(text.match(/operator-trust/g)?.length, 1, 'what all have in common is written once')
})

test('what was written once is read for ever', () => {
  const ids = many(8, index => `"call_${index}"`).join(',')
  const head = '"v":[1],"at":[1000],"type":["call.started"]'
  const allowed = `{"toolHash":["${hash}"],"rule":["operator-trust"]}`
  const text = `[{"crowd":8,"of":{${head},"callId":[${ids}],"attempt":[1],"allowed":${allowed}}}]`
  assert.deepEqual(decodeEvents(text), many(8, started))
  assert.equal(encodeEvents(many(8, started)), text)
})

test('a few events are written as they are', () => {
  const events = [answered(2), started(0), started(1), settled(0), settled(1)]
  assert.equal(comesBack(events), JSON.stringify(events))
})

test('a crowd ends where the type, the moment or the members change', () => {
  const limited: Event = { ...settled(99), limit: 'calls' }
  const events = [
    ...many(9, started),
    ...many(9, settled),
    limited,
    ...many(9, settled),
    ...many(9, index => settled(index, 1001)),
  ]
  assert.equal(comesBack(events).match(/"crowd":9/g)?.length, 4)
})

test('members that differ in name, in order or in depth', () => {
  const unlike = many(10, index => {
    const { outcome, ...rest } = settled(index)
    const more = index % 2 === 0 ? { structured: { n: index } } : { redactions: index }
    return { ...rest, outcome: { ...outcome, ...more } }
  })
  comesBack(unlike)
  const turned: Event[] = many(10, index => {
    const { v, at, type, callId, outcome } = settled(index)
    return index === 5 ? { outcome, callId, type, at, v } : { v, at, type, callId, outcome }
  })
  assert.deepEqual(decodeEvents(encodeEvents(turned)), turned)
})

test('two objects stay two', () => {
  const [first, second] = decodeEvents(encodeEvents(many(8, started)))
  assert.ok(first?.type === 'call.started' && second?.type === 'call.started')
  assert.deepEqual(first.allowed, second.allowed)
  assert.notEqual(first.allowed, second.allowed)
})

test('a member that is undefined is left out, as JSON does', () => {
  const events = many(8, index => ({ ...settled(index), limit: undefined })) as unknown as Event[]
  assert.deepEqual(decodeEvents(encodeEvents(events)), many(8, settled))
})

test('what tools, models and clients write is data, whatever it is called', () => {
  const structured = JSON.parse('{"crowd":2,"of":{"type":["x"]},"__proto__":{"polluted":true}}')
  const text = '{"crowd":8,"of":{"v":[1]}}'
  const events: Event[] = many(8, index => {
    const { outcome, ...rest } = settled(index)
    return { ...rest, outcome: { ...outcome, parts: [{ type: 'text', text }], structured } }
  })
  comesBack(events)
  const said: Event = {
    v: 1,
    at: 1,
    type: 'turn.started',
    turn: 't',
    wire: 'd',
    parts: [{ type: 'text', text }],
  }
  comesBack([said, ...events])
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('whatever JSON the outcomes hold, it comes back', () => {
  const texts = fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) })
  const provenance = fc.oneof(
    fc.constant({ source: 'runtime' }),
    fc.record({ source: fc.constant('tool'), tool: fc.string() }),
  )
  const outcome = {
    kind: fc.constantFrom('ok', 'error'),
    parts: fc.array(texts, { maxLength: 2 }),
    from: provenance,
  }
  const event = (more: object) =>
    fc.record({ v: fc.constant(1), ...more, callId: fc.string(), outcome: fc.record(outcome) })
  const withData = (more: object) =>
    fc.record({
      v: fc.constant(1),
      ...more,
      callId: fc.string(),
      outcome: fc.record({ ...outcome, structured: fc.jsonValue(), ms: fc.nat() }),
    })
  const run = fc
    .tuple(fc.constantFrom('call.settled', 'call.late'), fc.nat({ max: 2 }), fc.boolean())
    .chain(([type, at, data]) => {
      const same = { at: fc.constant(at), type: fc.constant(type) }
      return fc.array<object>(data ? withData(same) : event(same), { minLength: 5, maxLength: 14 })
    })
  let crowds = 0
  fc.assert(
    fc.property(fc.array(run, { maxLength: 5 }), runs => {
      const events = runs.flat()
      const text = encodeEvents(events as Event[])
      if (text.includes('{"crowd":')) crowds++
      assert.deepEqual(decodeEvents(text), JSON.parse(JSON.stringify(events)))
    }),
    { numRuns: 300 },
  )
  assert.ok(crowds > 50, `only ${crowds} of 300 had a crowd`)
})
