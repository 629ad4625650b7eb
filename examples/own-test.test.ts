// How to test an agent of your own: the model is a script, everything else is real. Run it with:
//   npx node --test examples/own-test.test.ts
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted, scriptFromFile, Turnwire, tool } from 'turnwire'
import * as z from 'zod'

const lookUpOrder = tool({
  name: 'look_up_order',
  description: 'The state of an order, by its number.',
  input: z.object({ order: z.int() }),
  readOnly: true,
  trust: 'trusted',
  run: ({ order }) => `Order ${order} was packed this morning.`,
})

test('the clerk looks an order up before it answers', async () => {
  const script = scriptFromFile(`${import.meta.dirname}/scripted.yaml`)
  const turnwire = await Turnwire.open({
    agents: [{ name: 'clerk', model: scripted(script), tools: [lookUpOrder] }],
    data: 'memory',
  })
  const session = await turnwire.session('clerk')
  const reply = await session.send('Where is my order 17?')
  assert.deepEqual(reply, { status: 'done', text: 'Your order is packed.', stop: 'end' })
  await turnwire.close()
})
