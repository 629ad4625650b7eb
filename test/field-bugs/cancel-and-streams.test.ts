// Bugs of cancellation and of slow readers that users of similar systems reported, and the right behaviour of each.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { type SseSink, SseWriter } from '../../src/lib/net/sse.ts'
import { begin, eventsOf, until } from '../engine/rig.ts'
import { strictRig } from './strict.ts'

const words = (text: string) => [{ type: 'text' as const, text }]

test('the later of two overlapping cancels does not end the next turn', async () => {
  const speaking = Promise.withResolvers<void>()
  const rig = strictRig([{ text: 'Well,', hang: true }, { text: 'Answered.' }])
  const session = await begin(rig)
  session.feed.watch(item => {
    if (item.type === 'delta' && item.delta.type === 'text') speaking.resolve()
  })
  const first = until(session, () => session.say({ parts: words('one'), wire: 'test' }))
  await speaking.promise
  const cancels = [session.cancel(), session.cancel()]
  const second = until(session, () => session.say({ parts: words('two'), wire: 'test' }))
  assert.deepEqual(await Promise.all(cancels), [true, false])
  await Promise.all([first, second])
  const ends = (await eventsOf(rig, session)).flatMap(event =>
    event.type === 'turn.ended' ? [event.stop] : [],
  )
  assert.deepEqual(ends, ['cancelled', 'end'])
})

/** A socket whose buffer is full from the start. */
class Stalled extends EventEmitter implements SseSink {
  written = 0
  write(): boolean {
    this.written += 1
    return false
  }
  end(): void {}
  destroy(): void {
    this.emit('close')
  }
}

test('a writer that waits for a full socket stops when the socket closes', async () => {
  const sink = new Stalled()
  const writer = new SseWriter(sink, { heartbeatMs: 0, maxUnsentBytes: 1_000_000 })
  let sent = 0
  const pump = async (): Promise<string> => {
    while (!writer.closed) {
      writer.send('data: x\n\n')
      sent += 1
      await writer.ready()
    }
    return 'ended'
  }
  const pumping = pump()
  await new Promise(resolve => setImmediate(resolve))
  const before = sent
  sink.emit('close')
  assert.equal(await pumping, 'ended')
  assert.equal(sent, before, 'nothing is sent into a closed socket')
})
