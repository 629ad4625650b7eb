// A configuration with two agents, a shared model, tools of three kinds of trust, and a policy. Serve it with:
//   cd examples/config && npx turnwire serve
import { defineConfig, rehearsal, tool } from 'turnwire'
import * as z from 'zod'

const searchTickets = tool({
  name: 'search_tickets',
  description: 'Finds support tickets that contain a word.',
  input: z.object({ query: z.string().min(1) }),
  readOnly: true,
  trust: 'trusted',
  run: ({ query }) => [{ id: 17, title: `The ${query} does not open` }],
})

const closeTicket = tool({
  name: 'close_ticket',
  description: 'Closes a support ticket by its number.',
  input: z.object({ ticket: z.int().positive() }),
  // It may run again with the same arguments, so a crash in the middle costs nothing.
  idempotent: true,
  run: ({ ticket }) => `Ticket ${ticket} is closed.`,
})

export default defineConfig({
  models: { rehearsal: rehearsal() },
  agents: [
    { name: 'support', title: 'Support', model: 'rehearsal', tools: [searchTickets, closeTicket] },
    { name: 'reader', title: 'Reader', model: 'rehearsal', tools: [searchTickets], clientTools: false },
  ],
  policy: {
    rules: [
      { agent: 'reader', destructive: true, then: 'deny', reason: 'The reader changes nothing.' },
      { tool: 'close_*', then: 'ask', expiresInMs: 15 * 60_000 },
    ],
    redact: ['secrets'],
  },
  limits: { steps: 20 },
})
