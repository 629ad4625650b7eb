// The thread that writes, when it dies: with other programs in its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WriteThread } from './write-thread.ts'

const setup = { options: { file: 'x.db' }, places: {} }
const program = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
const listening = "import { parentPort } from 'node:worker_threads'; parentPort.on('message', message => "

test('a thread that dies fails the writes that it was given, and the next ones get a new thread', async () => {
  const thread = new WriteThread(setup, program(`${listening}{ throw new Error('out of order') })`))
  for (let round = 0; round < 2; round += 1)
    await assert.rejects(thread.commit([{ kind: 'remove', session: 's' }]), {
      code: 'store_failed',
      message: 'The thread that writes to x.db ended: out of order',
    })
  await thread.close()
})

test('what cannot cross to the thread is refused, and the thread lives on', async () => {
  const thread = new WriteThread(
    setup,
    program(
      `${listening}message === 'close' ? parentPort.close() : parentPort.postMessage(message.writes.length))`,
    ),
  )
  const crossing = thread.commit([{ kind: 'remove', session: (() => {}) as unknown as string }])
  await assert.rejects(crossing, /could not be cloned/)
  assert.equal(await thread.commit([{ kind: 'remove', session: 's' }]), 1)
  await thread.close()
})
