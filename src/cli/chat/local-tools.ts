// Tools that run in the chat itself, as an example of an application's own tools.
import type { ClientTool, ToolSpec } from '../../client/index.ts'

export const localToolSpecs: ToolSpec[] = [
  {
    name: 'local_time',
    title: 'Local time',
    description: 'The date, time and time zone where the user is.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  },
]

export const localTools: Readonly<Record<string, ClientTool>> = {
  local_time: () => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    return `${new Date().toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })} (${timeZone})`
  },
}
