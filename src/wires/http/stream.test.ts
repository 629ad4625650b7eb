// The pace of an answer: nothing is read or encoded for a client that takes nothing, and large answers leave the event loop
// to others between two pieces.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WireHost } from '../host.ts'
import { pumpItems } from './stream.ts'

const KiB = 1024
const turn = () => new Promise<void>(resolve => setImmediate(resolve))
/** The pump uses nothing but the log. */
const host = { log: () => {} } as unknown as WireHost

/** A client that takes `pieces` writes and then nothing until `drain`. */
function slowWriter(pieces: number) {
  let left = pieces
  let drained = Promise.withResolvers<void>()
  const writer = {
    sent: 0,
    closed: false,
    ended: false,
    get full(): boolean {
      return left <= 0
    },
    send(frames: string): void {
      if (frames === '') return
      writer.sent += frames.length
      left -= 1
    },
    ready: (): Promise<void> => (left > 0 ? Promise.resolve() : drained.promise),
    end: (): void => {
      writer.ended = true
    },
    drain(more: number): void {
      left = more
      drained.resolve()
      drained = Promise.withResolvers()
    },
  }
  return writer
}

/** Counts the batches that were asked for. */
function source(batches: number, items: readonly string[]) {
  const counted = { asked: 0 }
  async function* give() {
    for (; counted.asked < batches; ) {
      counted.asked += 1
      yield items
    }
  }
  return { counted, items: give() }
}

function encoder() {
  const made = {
    encoded: 0,
    take(item: string): string {
      made.encoded += 1
      return item
    },
    fail: () => '',
  }
  return made
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await turn()
}

test('a client that is blocked stops the reading of further pages', async () => {
  const writer = slowWriter(2)
  const { counted, items } = source(100, ['x'.repeat(KiB)])
  const over = pumpItems(host, items, encoder(), writer)
  await settle()
  assert.equal(counted.asked, 2)
  writer.drain(3)
  await settle()
  assert.equal(counted.asked, 5)
  writer.drain(Infinity)
  await over
  assert.equal(counted.asked, 100)
  assert.ok(writer.ended)
})

test('a large page is encoded piece by piece, as its client takes it', async () => {
  const writer = slowWriter(1)
  const made = encoder()
  const page = Array.from({ length: 200 }, () => 'x'.repeat(10 * KiB))
  const { items } = source(1, page)
  const over = pumpItems(host, items, made, writer)
  await settle()
  assert.ok(made.encoded <= 7, `${made.encoded} of 200 items were encoded for a client that took one piece`)
  writer.drain(Infinity)
  await over
  assert.equal(made.encoded, 200)
  assert.equal(writer.sent, 200 * 10 * KiB)
})

test('a client that leaves stops the encoding of the rest of its page', async () => {
  const writer = slowWriter(1)
  const made = encoder()
  const { items } = source(
    1,
    Array.from({ length: 200 }, () => 'x'.repeat(10 * KiB)),
  )
  const over = pumpItems(host, items, made, writer)
  await settle()
  writer.closed = true
  writer.drain(Infinity)
  await over
  assert.ok(made.encoded <= 7, `${made.encoded} items`)
})

test('readers at full speed send one piece for each turn of the event loop, all of them together', async () => {
  const writers = Array.from({ length: 10 }, () => slowWriter(Infinity))
  const pumps = writers.map(writer =>
    pumpItems(host, source(64, ['x'.repeat(16 * KiB)]).items, encoder(), writer),
  )
  const sent = (): number => writers.reduce((sum, each) => sum + each.sent, 0)
  await turn()
  // Each sends its first piece at once.
  assert.ok(sent() <= 11 * 64 * KiB, `${sent()} characters in the first turn of the loop`)
  let most = 0
  for (let before = sent(); before < 10 * 64 * 16 * KiB; ) {
    await turn()
    const now = sent()
    most = Math.max(most, now - before)
    before = now
  }
  await Promise.all(pumps)
  assert.ok(most <= 2 * 64 * KiB, `${most} characters in one turn of the loop`)
})

test('an encoder that cannot even tell of its failure breaks the connection off', async () => {
  const logged: string[] = []
  const logging = { ...host, log: (level: string) => void logged.push(level) }
  const ends: (string | undefined)[] = []
  const writer = {
    send: () => {},
    ready: () => Promise.resolve(),
    end: (how?: string) => void ends.push(how),
    full: false,
    closed: false,
  }
  const broken = (): never => {
    throw new TypeError('a defect')
  }
  const items = (async function* () {
    yield [1]
  })()
  await pumpItems(logging, items, { take: broken, fail: broken }, writer)
  assert.equal(ends[0], 'broken')
  assert.deepEqual(logged, ['error', 'error'])
})
