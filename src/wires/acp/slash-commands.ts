// Slash commands: requests to the runtime, written as a prompt. They are answered here and leave nothing in the log. A slash
// with any other word goes to the model.
import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk'
import type { AgentInfo, Command, SessionSummary } from '../../engine/index.ts'
import type { ServerResource } from '../../language/servers.ts'
import { printable } from '../../lib/text/index.ts'
import type { AgentGrants } from './agent-grants.ts'
import type { KnownTool } from './encode.ts'
import { currentValue } from './encode-options.ts'

export type SlashContext = {
  info: AgentInfo
  summary: SessionSummary
  model: string
  tools: readonly KnownTool[]
  /** Failures of servers that the client named. */
  warnings: readonly string[]
  resources: () => Promise<ServerResource[]>
  by: string
  command: (command: Command) => Promise<unknown>
  agentGrants: AgentGrants
  setOption: (name: string, value: string) => Promise<void>
}

export type SlashCommand = (context: SlashContext) => Promise<string> | string

type SlashEntry = {
  description: string
  hint?: string
  run(context: SlashContext, words: string): Promise<string> | string
}

const slashCommands: Readonly<Record<string, SlashEntry>> = {
  help: { description: 'What can be asked with a slash.', run: help },
  tools: { description: 'The tools that the model is offered, and which of them ask first.', run: listTools },
  resources: { description: 'What can be attached to a message, as a link.', run: listResources },
  options: { description: 'The options of this session and their values.', run: listOptions },
  option: { description: 'Set an option of this session.', hint: 'name value', run: setOption },
  grants: { description: 'What was allowed or rejected for the rest of this session.', run: listGrants },
  forget: {
    description: 'Forget a remembered decision: the tool asks again.',
    hint: 'tool, or "all"',
    run: forget,
  },
  status: { description: 'What this session is and how far it has come.', run: describeSession },
}

export const availableCommands: AvailableCommand[] = Object.entries(slashCommands).map(
  ([name, { description, hint }]) => ({
    name,
    description,
    ...(hint !== undefined && { input: { hint } }),
  }),
)

/** Undefined if the prompt is no command. */
export function decodeSlashCommand(blocks: readonly ContentBlock[]): SlashCommand | undefined {
  const [block] = blocks
  if (blocks.length !== 1 || block?.type !== 'text') return undefined
  const [, name = '', words = ''] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(block.text.trim()) ?? []
  const command = Object.hasOwn(slashCommands, name) ? slashCommands[name] : undefined
  return command && (context => command.run(context, words.trim()))
}

function help(): string {
  return bullets(availableCommands.map(({ name, description }) => `\`/${name}\` ${description}`))
}

function listTools({ tools, warnings }: SlashContext): string {
  const lines = tools.map(({ name, title, kind, side, trust }) => {
    const asks = side === 'client' ? 'run by an application' : trust === 'trusted' ? 'runs' : 'asks first'
    return `\`${printable(name, 128)}\`${title === undefined ? '' : ` ${printable(title, 80)}`} (${kind}, ${asks})`
  })
  return bullets([...lines, ...warnings.map(words => printable(words, 500))], 'No tools are offered.')
}

async function listResources({ resources }: SlashContext): Promise<string> {
  const lines = (await resources()).map(
    ({ server, uri, title, name }) =>
      `\`${printable(uri, 500)}\` ${printable(title ?? name, 80)} (${printable(server, 40)})`,
  )
  return bullets(lines, 'Nothing can be attached.')
}

function listOptions({ info, summary }: SlashContext): string {
  const lines = info.options.map(option =>
    option.type === 'secret'
      ? `\`${option.name}\` (secret)`
      : `\`${option.name}\` = ${printable(currentValue(option, summary.settings), 200)}`,
  )
  return bullets(lines, 'This agent has no options.')
}

async function setOption({ setOption: set }: SlashContext, words: string): Promise<string> {
  const [, name, value = ''] = /^(\S+)(?:\s+([\s\S]*))?$/.exec(words) ?? []
  if (name === undefined) return 'Say which: `/option name value`.'
  await set(name, value)
  return `\`${printable(name, 80)}\` is now ${printable(value, 200)}.`
}

function listGrants({ summary }: SlashContext): string {
  const lines = summary.grants.map(
    ({ tool, deny, by, copyOf }) =>
      `\`${printable(tool, 128)}\` ${deny ? 'rejected' : 'allowed'} by ${printable(by, 80)}${copyOf === undefined ? '' : ', in all sessions of this agent'}`,
  )
  return bullets(lines, 'Nothing is remembered: tools that ask first ask each time.')
}

async function forget({ summary, by, command, agentGrants }: SlashContext, words: string): Promise<string> {
  const found = summary.grants.filter(grant => words === 'all' || grant.tool === words)
  if (found.length === 0) return words === '' ? 'Say which tool, or `all`.' : 'Nothing is remembered of that.'
  await agentGrants.forget(words, by)
  for (const { id } of found) await command({ do: 'revoke', grantId: id, by })
  return found.length === 1 ? 'One decision is forgotten.' : `${found.length} decisions are forgotten.`
}

function describeSession({ info, model, summary }: SlashContext): string {
  return bullets([
    `session \`${summary.id}\``,
    `agent ${printable(info.title ?? info.name, 80)}`,
    `model ${printable(model, 80)}`,
    `${summary.seq} events, ${summary.entries} entries`,
  ])
}

function bullets(lines: readonly string[], otherwise = ''): string {
  return lines.length === 0 ? otherwise : lines.map(line => `- ${line}`).join('\n')
}
