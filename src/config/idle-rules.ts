// Finds rules that name a tool which no agent has. Most are typing mistakes, and then a tool runs that was meant to be
// denied. They are logged and not refused, since editors and MCP servers bring tools that are not known beforehand.
import type { PolicyRule } from '../policy/index.ts'
import type { TurnwireConfig } from './config.ts'

/** Tools of editors, and the approval of a vendor's own tools. */
const broughtTools = [
  'update_plan',
  'read_text_file',
  'write_text_file',
  'run_command',
  'hosted_tool_approval',
]

export function idleRules({ agents, policy, mcp = {} }: TurnwireConfig): { rule: string; tool: string }[] {
  const all = agents.flatMap(agent => agent.tools ?? []).map(tool => tool.name)
  const found = [
    ...agents.flatMap((agent, index) =>
      idleIn(
        agent.rules ?? [],
        `agents[${index}].rules`,
        (agent.tools ?? []).map(tool => tool.name),
      ),
    ),
    ...idleIn(policy?.rules ?? [], 'policy.rules', all),
  ]
  // Which tools a server of the configuration has is known once it is connected.
  return found.filter(({ tool }) => !Object.keys(mcp).some(server => tool.startsWith(`${server}__`)))
}

function idleIn(
  rules: readonly PolicyRule[],
  key: string,
  names: readonly string[],
): { rule: string; tool: string }[] {
  const known = [...names, ...broughtTools]
  return rules.flatMap(({ tool = [] }, index) =>
    [tool]
      .flat()
      .filter(pattern => !known.some(name => matchesTool(pattern, name)))
      .map(pattern => ({ rule: `${key}[${index}]`, tool: pattern })),
  )
}

function matchesTool(pattern: string, name: string): boolean {
  const pieces = pattern.split('*').map(piece => piece.replaceAll(/[^\w]/g, '\\$&'))
  return new RegExp(`^${pieces.join('.*')}$`, 's').test(name)
}
