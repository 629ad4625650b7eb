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
      'Call this first, before any other tool: name every tool that you will need to change, send or fetch something for the user. A tool that is not named here before you read other texts will need the approval of a person. In `values` give, for each of them, the recipients, addresses, names, ids and amounts of the user that it is for, as the user wrote them; leave a tool out if you cannot know them yet.',
    input: {
      type: 'object',
      properties: {
        tools: { type: 'array', items: { type: 'string' }, maxItems: 50, description: 'Names of tools.' },
        values: {
          type: 'object',
          description: 'By name of a tool: the values of the user that it will be called with.',
          additionalProperties: { type: 'array', items: { type: 'string' }, maxItems: 100 },
          maxProperties: 50,
        },
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
