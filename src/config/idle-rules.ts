// Finds rules that name a tool which no agent has. Most are typing mistakes, and then a tool runs that was meant to be
// denied. They are logged and not refused, since editors and MCP servers bring tools that are not known beforehand.
import { checkCallName, readOutputName, undoName } from '../language/calls.ts'
import type { PolicyRule } from '../policy/index.ts'
import { defaultCodeName } from '../tools/index.ts'
import { findToolsName } from '../tools/search/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'

/** Tools of editors and of sessions themselves, and the approval of a vendor's own tools. */
const broughtTools = [
  readOutputName,
  checkCallName,
  'update_plan',
  'read_text_file',
  'write_text_file',
  'run_command',
  'hosted_tool_approval',
]

export function idleRules({ agents, policy, mcp = {} }: TurnwireConfig): { rule: string; tool: string }[] {
  const found = [
    ...agents.flatMap((agent, index) =>
      idleIn(agent.rules ?? [], `agents[${index}].rules`, toolNames(agent)),
    ),
    ...idleIn(policy?.rules ?? [], 'policy.rules', agents.flatMap(toolNames)),
  ]
  // Which tools a server of the configuration has is known once it is connected.
  return found.filter(({ tool }) => !Object.keys(mcp).some(server => tool.startsWith(`${server}__`)))
}

/** With the tools that undo calls of others, those that run programs, and the search. */
function toolNames({ tools = [], code, search }: AgentConfig): string[] {
  return [
    ...tools.flatMap(({ name, undo }) => (undo ? [name, undoName(name)] : [name])),
    ...(code ? [(code === true ? undefined : code.name) ?? defaultCodeName] : []),
    ...(search ? [findToolsName] : []),
  ]
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
