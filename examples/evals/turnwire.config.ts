import { defineConfig, scripted, tool } from 'turnwire'
import * as z from 'zod'

const order = z.object({ order: z.int() })
const lookUp = tool({
  name: 'look_up_order',
  description: 'The state of an order.',
  input: order,
  readOnly: true,
  trust: 'trusted',
  run: () => 'packed',
})
const refund = tool({
  name: 'refund_order',
  description: 'Pays an order back.',
  input: order,
  trust: 'ask',
  run: () => 'refunded',
})
const looksFirst = scripted([
  { calls: [{ name: 'look_up_order', input: { order: 17 } }] },
  { calls: [{ name: 'refund_order', input: { order: 17 } }] },
  { text: 'Order 17 is refunded.' },
])
const hasty = scripted([{ calls: [{ name: 'refund_order', input: { order: 17 } }] }, { text: 'Refunded.' }])

// In place of the scripts: anthropic({ model: … }), openai({ model: … }).
export default defineConfig({
  agents: [{ name: 'clerk', model: 'careful', tools: [lookUp, refund] }],
  models: { careful: looksFirst, hasty },
})
