// Lines that a person types while a turn runs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AapClient } from '../../client/index.ts'
import { sayAside } from './aside.ts'

function rig(running: string[] = []) {
  const did: string[] = []
  // Only these methods are used.
  const client = {
    say: async (_session: string, text: string, { during }: { during: string }) => {
      did.push(`${during} ${text}`)
      return { state: during === 'interrupt' ? 'delivered' : 'queued', messageId: 'm1' }
    },
    getState: async () => ({ running }),
    cancelCall: async (_session: string, id: string) => void did.push(`stop ${id}`),
  } as unknown as AapClient
  const calls = new Map([
    ['c1', { name: 'look' }],
    ['c2', { name: 'pay' }],
  ])
  return { did, say: (line: string) => sayAside({ client, session: 's', calls }, line) }
}

test('a line steers, a command queues or interrupts, and each is told', async () => {
  const { did, say } = rig()
  const words = [await say('in blue'), await say('/queue then this'), await say('/interrupt wait')]
  assert.deepEqual(did, ['steer in blue', 'queue then this', 'interrupt wait'])
  assert.deepEqual(words, [
    'The model reads it with its next step.',
    'It is said when this turn has ended.',
    'The model reads it now.',
  ])
})

test('an empty line, and a command that is none here, say nothing', async () => {
  const { did, say } = rig()
  assert.deepEqual([await say(''), await say('/queue'), did], ['', '', []])
  assert.match(await say('/tools'), /\/queue <text>.*\/stop/)
  assert.deepEqual(did, [])
})

test('running calls are stopped, all or those of one tool', async () => {
  const { did, say } = rig(['c1', 'c2'])
  assert.equal(await say('/stop pay'), 'Stopped: pay.')
  assert.equal(await say('/stop'), 'Stopped: look, pay.')
  assert.equal(await say('/stop none'), 'No such call runs.')
  assert.deepEqual(did, ['stop c2', 'stop c1', 'stop c2'])
})
