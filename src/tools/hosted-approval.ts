// The question of a vendor whether it may run a tool on its own side, as a tool of ours: it asks a person, and running it
// says no more than that it was approved. The codec gives the answer to the vendor.
import type { Tool } from '../engine/ports.ts'
import { hostedApproval } from '../language/tools.ts'
import { tool } from './function.ts'

export function hostedApprovalTool(): Tool {
  return tool({
    name: hostedApproval,
    title: 'Run a tool at the model provider',
    description: 'Lets the model provider run a tool of an MCP server on its own side.',
    input: {
      type: 'object',
      properties: { server: { type: 'string' }, tool: { type: 'string' }, arguments: { type: 'string' } },
      required: ['server', 'tool', 'arguments'],
    },
    kind: 'execute',
    idempotent: true,
    exposed: false,
    trust: 'ask',
    run: () => 'Approved: the model provider may run it.',
  })
}
