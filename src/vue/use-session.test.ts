// Where no page draws: while a server renders, and in a scope of effects without a component.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSSRApp, defineComponent, effectScope, h, nextTick, ref } from 'vue'
import { renderToString } from 'vue/server-renderer'
import type { WatchedItem } from '../react/view-fold.ts'
import { type SessionClient, useSession } from './index.ts'

/** Streams that say nothing until they are closed. */
function silentClient(): { client: SessionClient; opened: Map<string, AbortSignal>; said: string[] } {
  const opened = new Map<string, AbortSignal>()
  const said: string[] = []
  const none = (): Promise<never> => Promise.reject(new Error('not used'))
  const client: SessionClient = {
    async *watch(id, { signal }): AsyncGenerator<WatchedItem> {
      if (!signal) return
      opened.set(id, signal)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      yield* []
    },
    say: async (id, text) => void said.push(`${id} ${text}`),
    sendTurn: none,
    withdraw: none,
    cancelCall: none,
    reconcile: none,
    undo: none,
    cancel: none,
  }
  return { client, opened, said }
}

test('a server that renders a page opens no stream', async () => {
  const { client, opened } = silentClient()
  const Page = defineComponent(() => {
    const { connection } = useSession(client, 'one')
    return () => h('p', connection.value)
  })
  assert.equal(await renderToString(createSSRApp(Page)), '<p>connecting</p>')
  assert.equal(opened.size, 0)
})

test('in a scope: the stream follows the id, and closes with the scope', async () => {
  const { client, opened, said } = silentClient()
  const id = ref<string>()
  const scope = effectScope()
  const session = scope.run(() => useSession(client, id))
  assert.ok(session)
  await assert.rejects(session.send('Hello'), /There is no session yet/)
  await session.cancel()
  id.value = 'one'
  await nextTick()
  await session.send('Hello')
  assert.deepEqual(said, ['one Hello'])
  id.value = 'two'
  await nextTick()
  const closed = () => ['one', 'two'].map(name => opened.get(name)?.aborted)
  assert.deepEqual(closed(), [true, false])
  scope.stop()
  assert.deepEqual(closed(), [true, true])
})
