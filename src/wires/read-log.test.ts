// Histories as wires read them: every result once, in the order asked, whatever the order in which the calls ended.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage } from '../../test/collect-garbage.ts'
import type { CallPart } from '../language/calls.ts'
import type { Event, Recorded } from '../language/events.ts'
import { readHistory, readLog } from './read-log.ts'

const base = { v: 1, at: 1 } as const
const ref = { owner: 'ana', session: 's' }
const call = (id: string): CallPart => ({ type: 'call', id, name: 'give', form: 'json', text: '{}' })
const answered: Event = {
  ...base,
  type: 'model.answered',
  parts: ['a', 'b', 'c'].map(call),
  stop: 'calls',
  model: 'm',
}
const settled = (callId: string, length: number): Event => ({
  ...base,
  type: 'call.settled',
  callId,
  outcome: {
    kind: 'ok',
    from: { source: 'tool', tool: 'give' },
    parts: [{ type: 'text', text: callId.repeat(length) }],
  },
})
const edited: Event = {
  ...base,
  type: 'call.edited',
  callId: 'b',
  text: '{"n":1}',
  argsHash: 'h',
  by: 'maria',
}

/** `a×3` for the text "aaa". */
async function read(...events: Event[]): Promise<string[]> {
  const log = events.map((event, index): Recorded => ({ seq: index + 1, event }))
  const engine = { events: async (_: unknown, after = 0) => log.slice(after, after + 2) }
  const found: string[] = []
  for await (const entry of readHistory(engine, ref))
    if (entry.role !== 'tool') found.push(entry.role)
    else
      for (const { callId, outcome } of entry.results)
        found.push([callId, ...outcome.parts.map(part => ('text' in part ? brief(part.text) : ''))].join(' '))
  return found
}

function brief(text: string): string {
  return text.startsWith('The arguments') ? 'note' : `${text[0]}×${text.length}`
}

test('results come in the order asked, whatever their size and the order in which they were settled', async () => {
  const whole = ['assistant', 'a a×3', 'b b×9000', 'c c×5000']
  const [a, b, c] = [settled('a', 3), settled('b', 9000), settled('c', 5000)]
  assert.deepEqual(await read(answered, a, b, c), whole)
  assert.deepEqual(await read(answered, c, b, a), whole)
  assert.deepEqual(await read(answered, b, a, c, answered, c, a, b), [...whole, ...whole])
})

test('calls that are not settled yet have no result, and those after them have theirs', async () => {
  assert.deepEqual(await read(answered, settled('a', 5000), settled('c', 1)), [
    'assistant',
    'a a×5000',
    'c c×1',
  ])
})

test('results that wait for an earlier one are not kept: they are read again when their turn comes', async () => {
  const count = 200
  const names = Array.from({ length: count }, (_, n) => `c${n}`)
  const first: Event = { ...base, type: 'model.answered', parts: names.map(call), stop: 'calls', model: 'm' }
  /** Each event is made when it is read, so that only the reader can keep it. The first call is settled last. */
  const eventAt = (seq: number): Event | undefined => {
    if (seq === 1) return first
    const name = names[count + 1 - seq]
    return name === undefined ? undefined : settled(name, 20_000)
  }
  const alive: WeakRef<Event>[] = []
  let most = 0
  const engine = {
    async events(_: unknown, after = 0): Promise<Recorded[]> {
      const event = eventAt(after + 1)
      if (event?.type === 'call.settled') alive.push(new WeakRef(event.outcome.parts[0] as never))
      // The last call to be settled is about to be read: all others wait for it.
      if (after === count) {
        await new Promise(resolve => setImmediate(resolve))
        collectGarbage()
        most = Math.max(most, alive.filter(ref => ref.deref() !== undefined).length)
      }
      return event ? [{ seq: after + 1, event }] : []
    },
  }
  let results = 0
  for await (const entry of readHistory(engine, ref)) if (entry.role === 'tool') results += 1
  assert.equal(results, count)
  assert.ok(most < 10, `${most} of ${count} results were kept`)
})

test('an edit is told before a large result too', async () => {
  const results = [settled('b', 9000), settled('a', 1), settled('c', 1)]
  assert.deepEqual(await read(answered, edited, ...results), ['assistant', 'a a×1', 'b note b×9000', 'c c×1'])
})

test('a log is asked for in pages of at most 1 MiB, and no page is asked for before the one before it was taken', async () => {
  const asked: (number | undefined)[] = []
  const engine = {
    async events(_: unknown, after = 0, maxBytes?: number): Promise<Recorded[]> {
      asked.push(maxBytes)
      return after < 5 ? [{ seq: after + 1, event: answered }] : []
    },
  }
  const log = readLog(engine, ref)
  await log.next()
  assert.equal(asked.length, 1)
  await log.next()
  assert.equal(asked.length, 2)
  await log.return()
  for await (const _ of readHistory(engine, ref));
  for (const maxBytes of asked) assert.ok(maxBytes !== undefined && maxBytes <= 1024 * 1024, `${maxBytes}`)
})
