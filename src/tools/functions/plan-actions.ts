// With `declare: true`: the model names the tools that it will act with before it reads anything that outsiders wrote. The
// gate finds the names in the log.
import type { Tool } from '../../engine/ports/index.ts'
import { planActionsName } from '../../language/flow.ts'
import { tool } from './tool.ts'

export function planTool(): Tool {
  return tool({
    name: planActionsName,
    title: 'Name the actions',
    description:
      'Call this first, before any other tool: name every tool that you will need to change, send or fetch something for the user. A tool that is not named here before you read other texts will need the approval of a person.',
    input: {
      type: 'object',
      properties: {
        tools: { type: 'array', items: { type: 'string' }, maxItems: 50, description: 'Names of tools.' },
      },
      required: ['tools'],
      additionalProperties: false,
    },
    kind: 'think',
    readOnly: true,
    trust: 'trusted',
    exposed: false,
    flow: { output: 'trusted' },
    run: () => 'Noted.',
  })
}
