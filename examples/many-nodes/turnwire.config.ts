// Each node runs this. Counting takes a while, so that there is time to kill the node that counts.
import { setTimeout as pause } from 'node:timers/promises'
import { defineConfig, rehearsal, tool } from 'turnwire'

const { COUNT_SECONDS = '30', TURNWIRE_NODE_ADDRESS: node = 'this node' } = process.env

const countStock = tool({
  name: 'count_stock',
  description: 'Counts how many of an article there are.',
  input: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  // It changes nothing, so another node may run it again.
  readOnly: true,
  async run({ article }, { signal }) {
    await pause(Number(COUNT_SECONDS) * 1_000, undefined, { signal })
    return { article: article ?? '', count: 42, countedBy: node }
  },
})

export default defineConfig({
  agents: [{ name: 'clerk', model: rehearsal(), tools: [countStock] }],
  // A node that is not heard of for so long has lost its sessions. The default is 10 seconds.
  server: { cluster: { leaseMs: 3_000 } },
})
