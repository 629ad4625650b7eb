// The memory that a session gives its model: a step encodes only its new entries, however long the history is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAgents, createModel, type Protocol, protocols } from '../../src/models/index.ts'
import { startDouble } from '../../src/testing/doubles/index.ts'
import { begin, makeRig, say } from './rig.ts'

test('the next request of a session encodes only its new entries', async t => {
  const double = await startDouble({ vendor: 'openai-chat', script: () => ({ text: 'Very well.' }) })
  const agents = createAgents({})
  t.after(async () => {
    agents.http.destroy()
    await double.close()
  })
  const encoded: number[] = []
  const { openaiChat } = protocols
  const counting: Protocol = {
    ...openaiChat,
    prepare(request, target, cache) {
      const prepared = openaiChat.prepare(request, target, cache)
      encoded.push(prepared.encoded)
      return prepared
    },
  }
  const model = createModel({
    protocol: counting,
    provider: { name: 'p', url: () => `${double.url}/v1`, headers: () => ({ authorization: 'Bearer k' }) },
    target: {
      model: 'gpt-5.2',
      family: 'gpt',
      maxTokens: 100,
      body: {},
      hosted: [],
      quirks: new Set(),
      stateful: false,
    },
    agents,
  })
  const rig = makeRig({ model })
  const [first, second] = [await begin(rig), await begin(rig)]
  for (const text of ['one', 'two', 'three']) await say(first, text)
  await say(second, 'one')
  await say(first, 'four')
  // One user entry at first, then an answer and a user entry each time.
  assert.deepEqual(encoded, [1, 2, 2, 1, 2])
})
