// Whole answers that nobody reads: they are made at the pace of their reader, wait for room, are refused when their owner has
// none left, and are given up after a time.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { beforeEach, test } from 'node:test'
import type { Context } from 'hono'
import type { WireEnv } from '../host.ts'
import { sendJson, streamJson } from './send.ts'
import { unsentBytes } from './unsent.ts'

const KiB = 1024
const MiB = 1024 * KiB
const turn = () => new Promise<void>(resolve => setImmediate(resolve))

/** A connection whose client takes `writes` writes and then nothing. */
class Connection extends EventEmitter {
  status = 0
  written = 0
  destroyed = false
  writableEnded = false
  #left: number

  constructor(writes: number) {
    super()
    this.#left = writes
  }

  writeHead(status: number): void {
    this.status = status
  }

  write(text: string): boolean {
    this.written += text.length
    this.#left -= 1
    return this.#left > 0
  }

  end(text = ''): void {
    this.written += text.length
    this.writableEnded = true
    this.emit('close')
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

let owners = 0
let owner = ''
beforeEach(() => {
  // What is unsent is counted for the whole process.
  owner = `owner ${++owners}`
})

/** What is used of the framework's context. */
function asked(outgoing: Connection, by = owner): Context<WireEnv> {
  const given = { env: { outgoing }, get: () => ({ owner: by, name: by }) }
  return given as unknown as Context<WireEnv>
}

const limits = { bodyBytes: MiB, jsonDepth: 64, heartbeatMs: 0, unsentBytes: 4 * MiB, stallMs: 60 }
const host = { log: () => {}, limits }

/** 100 pieces of 16 KiB. */
function answer() {
  const made = { pieces: 0, over: false }
  async function* pieces() {
    try {
      for (; made.pieces < 100; ) {
        made.pieces += 1
        yield 'x'.repeat(16 * KiB)
      }
    } finally {
      made.over = true
    }
  }
  return { made, pieces: pieces() }
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await turn()
}

test('no more of an answer is made than its reader takes', async () => {
  const connection = new Connection(4)
  const { made, pieces } = answer()
  await streamJson(asked(connection), host, pieces, { bytes: KiB })
  await settle()
  const taken = made.pieces
  assert.ok(taken <= 8, `${taken} pieces were made for a reader that took 4 writes`)
  connection.destroy()
  await settle()
  assert.equal(made.pieces, taken, 'none is made for a reader that has gone')
  assert.equal(made.over, true, 'nothing is held for a reader that has gone')
})

test('a reader that takes nothing for the stall time is dropped, and its room is free', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const connection = new Connection(1)
  const { made, pieces } = answer()
  await streamJson(asked(connection), host, pieces, { bytes: 60 * MiB })
  await settle()
  let isAdmitted = false
  const next = unsentBytes.admit(owner, { bytes: 60 * MiB }).then(reader => {
    isAdmitted = true
    unsentBytes.leave(reader)
  })
  await settle()
  assert.deepEqual([connection.destroyed, isAdmitted], [false, false])
  t.mock.timers.tick(61)
  await next
  await settle()
  assert.deepEqual([connection.destroyed, made.over], [true, true])
})

test('an answer for which there is no room waits before its first piece is made', async () => {
  const before = await unsentBytes.admit(owner, { bytes: 60 * MiB })
  const connection = new Connection(Infinity)
  const { made, pieces } = answer()
  const sent = streamJson(asked(connection), host, pieces, { bytes: 10 * MiB })
  const other = new Connection(Infinity)
  await streamJson(asked(other, 'another'), host, answer().pieces, { bytes: 10 * MiB })
  await settle()
  assert.equal(other.written, 100 * 16 * KiB, 'another owner does not wait')
  assert.deepEqual([made.pieces, connection.status], [0, 0])
  unsentBytes.leave(before)
  await sent
  await settle()
  assert.equal(connection.written, 100 * 16 * KiB)
})

test('a whole answer is refused while those before it take all of the room', () => {
  const first = new Connection(1)
  sendJson(asked(first), JSON.stringify('x'.repeat(70 * MiB)))
  assert.equal(first.status, 200, 'one answer may have any size')
  const large = JSON.stringify('x'.repeat(MiB))
  assert.throws(() => sendJson(asked(new Connection(1)), large), { code: 'rate_limited' })
  const small = new Connection(1)
  sendJson(asked(small), { ok: true })
  assert.deepEqual([small.status, small.written], [200, 11])
  const other = new Connection(Infinity)
  sendJson(asked(other, 'another'), large)
  assert.equal(other.status, 200)
  first.destroy()
  const again = new Connection(Infinity)
  sendJson(asked(again), large)
  assert.equal(again.written, large.length)
})
