// Tools that run in the chat itself, as an example of an application's own tools, and sessions that declare them.
import type { AapClient, AgentInfo, ClientTool, ServerToolRef, ToolSpec } from '../../client/index.ts'

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

/** The tools of an agent, with those that run without asking. */
export function toolRefs({ tools = [] }: AgentInfo, trusted: ReadonlySet<string>): ServerToolRef[] {
  return tools.map(({ name }) => ({ name, trust: trusted.has(name) }))
}

export function createSession(
  client: AapClient,
  agent: AgentInfo,
  trusted: ReadonlySet<string>,
): Promise<string> {
  const takesTools = agent.capabilities?.application?.tools !== undefined
  return client.createSession({
    agent: { name: agent.name, tools: toolRefs(agent, trusted) },
    ...(takesTools && { tools: localToolSpecs }),
  })
}
