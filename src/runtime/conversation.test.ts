import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { scripted } from '../models/scripted/index.ts'
import { Turnwire } from './turnwire.ts'

async function opened() {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model: scripted([{ text: 'One.' }, { text: 'Two.' }]) }],
    data: 'memory',
  })
  return { turnwire, session: await turnwire.session('a') }
}

test('what a watcher throws is thrown to whoever sent, and the turn goes on', async () => {
  const { turnwire, session } = await opened()
  const watch = (): never => {
    throw new Error('no room to write')
  }
  await assert.rejects(session.send('Go', watch), { message: 'no room to write' })
  const ended = Promise.withResolvers<void>()
  const stop = await turnwire.engine.watch('local', session.id, 0, item => {
    if (item.type === 'event' && item.event.type === 'turn.ended') ended.resolve()
  })
  await ended.promise
  stop()
  assert.equal((await session.send('And?')).text, 'Two.')
  await turnwire.close()
})

test('a schema of a tool of one’s own that cannot be used is refused in words', async () => {
  const { turnwire } = await opened()
  const own = { name: 'look', description: 'Looks.' }
  await assert.rejects(turnwire.session('a', { ownTools: [{ ...own, input: z.object({ at: z.date() }) }] }), {
    code: 'invalid_tool',
    message: /^The schema of "look" cannot be used: .*Use what JSON can hold/,
  })
  await turnwire.close()
})
