// A vendor may ask for approval before it runs a tool on its own side. That question becomes a call of this tool, which
// asks a person. Running it only reports the approval; the model's codec sends the answer to the vendor.
import type { Tool } from '../../engine/ports/index.ts'
import { hostedApproval } from '../../language/tools.ts'
import { tool } from './tool.ts'

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
