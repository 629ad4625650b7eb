// The agent behind the page. A real model takes the place of the rehearsal.
import { defineConfig, rehearsal, tool } from 'turnwire'
import * as z from 'zod'

const order = z.object({ order: z.int().positive() })

const lookUp = tool({
  name: 'look_up_order',
  description: 'The state of an order, by its number.',
  input: order,
  readOnly: true,
  trust: 'trusted',
  run: ({ order }) => `Order ${order} was packed this morning.`,
})

const cancel = tool({
  name: 'cancel_order',
  description: 'Cancels an order. This cannot be undone.',
  input: order,
  run: ({ order }) => `Order ${order} is cancelled.`,
})

export default defineConfig({
  agents: [{ name: 'clerk', model: rehearsal(), tools: [lookUp, cancel] }],
  // Where the page is.
  server: { origins: [process.env['PAGE_ORIGIN'] ?? 'http://localhost:3000'] },
})
