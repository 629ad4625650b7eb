// The timeline as plain data: what a person reads from its bars.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bar, layOut, tickLabel, tickStep } from '../../console/src/pages/session/timeline-layout.ts'
import { ViewFold, type WatchedItem } from '../../src/react/view-fold.ts'

const begin = 1_790_000_000_000

/** A view of these events, each with the milliseconds since the beginning at which it happened. */
function viewOf(events: readonly [ms: number, event: object][]): ReturnType<ViewFold['snapshot']> {
  const fold = new ViewFold()
  let seq = 0
  for (const [ms, event] of events) {
    const isDelta = 'delta' in event
    if (!isDelta) seq += 1
    // The events are written down as the log has them.
    fold.take((isDelta ? event : { seq, event: { v: 1, at: begin + ms, ...event } }) as WatchedItem)
  }
  return fold.snapshot()
}

const settings = { tools: null, options: {}, clientTools: [] }
const call = (id: string, name = 'read') => ({ type: 'call', id, name, form: 'json', text: '{}' })
const started = (callId: string, attempt = 1) => ({
  type: 'call.started',
  callId,
  attempt,
  allowed: { toolHash: 'h', rule: 'r' },
})
const settled = (callId: string, kind = 'ok') => ({
  type: 'call.settled',
  callId,
  outcome: { kind, parts: [], from: { source: 'tool', tool: 'read' } },
})
const opening: [number, object][] = [
  [0, { type: 'session.created', owner: 'local', agent: 'a', wire: 'w', settings, seed: [] }],
  [0, { type: 'turn.started', turn: 't', wire: 'w', parts: [] }],
]
const answered = (...parts: object[]) => ({
  type: 'model.answered',
  model: 'm',
  stop: parts.length > 0 ? 'calls' : 'end',
  parts,
})
const barsOf = (events: [number, object][], now: number): Bar[] =>
  layOut(viewOf([...opening, ...events]), begin + now).bars
const named = (bars: readonly Bar[], id: string): Bar => bars.find(bar => bar.callId === id)!

test('parallel calls are side by side, each in a lane of its own, in the order asked', () => {
  const bars = barsOf(
    [
      [400, answered(call('a'), call('b'), call('c'))],
      [410, started('a')],
      [411, started('b')],
      [412, started('c')],
      [500, settled('b')],
      [700, settled('a')],
      [900, settled('c')],
      [1000, answered()],
      [1000, { type: 'turn.ended', turn: 't', stop: 'end' }],
    ],
    1000,
  )
  assert.deepEqual(
    ['a', 'b', 'c'].map(id => named(bars, id).lane),
    [1, 2, 3],
  )
  assert.deepEqual(
    bars.filter(bar => bar.kind === 'step').map(bar => bar.lane),
    [0, 0],
  )
  // The turn waited for the last of them.
  assert.deepEqual(
    ['a', 'b', 'c'].map(id => named(bars, id).isCritical),
    [false, false, true],
  )
  assert.equal(named(bars, 'c').to - named(bars, 'c').from, 500)
  // Of the 990 ms in which something ran it has 488.
  assert.equal(named(bars, 'c').share, 488 / 990)
})

const requested = (callId: string) => ({
  type: 'approval.requested',
  callId,
  argsHash: 'x',
  toolHash: 'h',
  rule: 'r',
})

test('what waits for a person is hatched until the decision, and a call that waits now until now', () => {
  const bars = barsOf(
    [
      [100, answered(call('a', 'mail'), call('b', 'mail'))],
      [110, requested('a')],
      [110, requested('b')],
      [2110, { type: 'approval.decided', callId: 'a', granted: true, by: 'ana' }],
      [2120, started('a')],
      [2500, settled('a')],
    ],
    3000,
  )
  const parts = (id: string) =>
    named(bars, id).parts.map(({ look, from, to }) => [look, from - begin, to - begin])
  assert.deepEqual(parts('a'), [
    ['thin', 100, 110],
    ['hatched', 110, 2110],
    ['solid', 2120, 2500],
  ])
  assert.deepEqual(parts('b'), [
    ['thin', 100, 110],
    ['hatched', 110, 3000],
  ])
  assert.deepEqual([named(bars, 'a').status, named(bars, 'b').status], ['ok', 'waiting'])
})

test('another attempt of a call and a stream that started over are notches', () => {
  const bars = barsOf(
    [
      [60, { delta: { type: 'step.reset', step: 1 } }],
      [400, answered(call('a'))],
      [410, started('a')],
      [600, started('a', 2)],
      [700, started('a', 3)],
      [900, settled('a')],
    ],
    1000,
  )
  assert.equal(named(bars, 'a').notches, 2)
  assert.equal(bars.find(bar => bar.kind === 'step')?.notches, 1)
})

test('every outcome keeps its own status on its bar', () => {
  const kinds = ['ok', 'error', 'invalid', 'denied', 'timeout', 'cancelled', 'abandoned', 'unknown']
  const bars = barsOf(
    [
      [100, answered(...kinds.map(kind => call(kind)))],
      ...kinds.map((kind): [number, object] => [200, settled(kind, kind)]),
    ],
    300,
  )
  assert.deepEqual(
    kinds.map(kind => named(bars, kind).status),
    kinds,
  )
})

test('a question to a person is hatched until its answer, and no share counts the time of people', () => {
  const asked = { type: 'question.asked', callId: 'a', question: 'q', message: 'How much?' }
  const bars = barsOf(
    [
      [100, answered(call('a', 'refund'))],
      [100, started('a')],
      [200, asked],
      [9200, { type: 'question.answered', callId: 'a', question: 'q', action: 'accept', by: 'ana' }],
      [9300, settled('a')],
      [9400, answered()],
      [9400, { type: 'turn.ended', turn: 't', stop: 'end' }],
    ],
    9400,
  )
  assert.deepEqual(
    named(bars, 'a').parts.map(({ look, from, to }) => [look, from - begin, to - begin]),
    [
      ['solid', 100, 200],
      ['hatched', 200, 9200],
      ['solid', 9200, 9300],
    ],
  )
  // Two steps of 100 ms and 200 ms of the call.
  assert.equal(named(bars, 'a').share, 0.5)
})

test('an agent that works for a call is hatched while its own call waits for a person', () => {
  const bars = barsOf(
    [
      [100, answered(call('a', 'ask_courier'), call('c', 'ask_clerk'))],
      [100, started('a')],
      [100, started('c')],
      [200, { type: 'call.nested', parent: 'a', call: call('b', 'mail') }],
      [200, requested('b')],
      // Of two calls of the other agent one runs while the other waits.
      [200, { type: 'call.nested', parent: 'c', call: call('d', 'mail') }],
      [200, { type: 'call.nested', parent: 'c', call: call('e', 'read') }],
      [200, requested('d')],
      [200, started('e')],
      [700, settled('e')],
      [9000, { type: 'approval.decided', callId: 'b', granted: true, by: 'ana' }],
      [9000, { type: 'approval.decided', callId: 'd', granted: true, by: 'ana' }],
      [9000, started('b')],
      [9000, started('d')],
      [9100, settled('b')],
      [9100, settled('d')],
      [9200, settled('a')],
      [9200, settled('c')],
    ],
    9300,
  )
  const waits = (id: string) =>
    named(bars, id)
      .parts.filter(({ look }) => look === 'hatched')
      .map(({ from, to }) => [from - begin, to - begin])
  assert.deepEqual(waits('a'), [[200, 9000]])
  assert.deepEqual(waits('c'), [[700, 9000]])
})

test('a call whose arguments were refused is a thin line: nobody was waited for', () => {
  const bars = barsOf(
    [
      [100, answered(call('a'))],
      [400, settled('a', 'invalid')],
    ],
    500,
  )
  assert.deepEqual(
    named(bars, 'a').parts.map(({ look }) => look),
    ['thin'],
  )
})

test('an agent that works for a call stands under its name, and its calls are folded until they are asked for', () => {
  const view = viewOf([
    ...opening,
    [100, answered({ ...call('a', 'ask_analyst'), text: '{"task":"count"}' })],
    [110, started('a')],
    [120, { type: 'call.delegated', callId: 'a', agent: 'analyst', session: 's2' }],
    [130, { type: 'call.nested', parent: 'a', call: call('b', 'plot') }],
    [140, started('b')],
    [200, settled('b')],
    [300, settled('a')],
  ])
  const folded = layOut(view, begin + 400)
  assert.equal(folded.hasNested, true)
  assert.equal(named(folded.bars, 'a').label, 'analyst · 1 call')
  assert.equal(named(folded.bars, 'a').detail, 'count')
  assert.equal(named(folded.bars, 'b'), undefined)
  const open = layOut(view, begin + 400, true)
  assert.deepEqual([named(open.bars, 'b').lane, named(open.bars, 'b').depth], [2, 1])
})

test('the axis has round numbers', () => {
  assert.deepEqual(
    [3, 140, 900, 7000, 100_000, 5_000_000].map(tickStep),
    [5, 200, 1000, 10_000, 120_000, 7_200_000],
  )
})

test('neighbouring ticks of the axis have different labels, in one unit', () => {
  for (const step of [1, 5, 20, 100, 500, 2000, 15_000, 60_000, 300_000, 3_600_000])
    for (const start of [0, 9_000, 59_000, 3_540_000, 7_200_000]) {
      const length = start + 12 * step
      const labels = Array.from({ length: 12 }, (_, at) =>
        tickLabel(Math.ceil(start / step) * step + at * step, step, length),
      )
      assert.equal(new Set(labels).size, labels.length, `${step} from ${start}: ${labels.join(', ')}`)
    }
  assert.deepEqual(
    [0, 500, 1000].map(ms => tickLabel(ms, 500, 3000)),
    ['0', '0.5 s', '1.0 s'],
  )
  assert.equal(tickLabel(75_000, 15_000, 120_000), '1 min 15 s')
  assert.equal(tickLabel(3_660_000, 60_000, 4_000_000), '1 h 1 min')
})
