// Slash commands: what a person can ask of the runtime itself, in the midst of a conversation. They are answered here
// and leave no trace in the log; a word after a slash that is none of them goes to the model like any other text.
import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk'
import type { Session } from '../../engine/index.ts'
import { printable } from '../../lib/text.ts'

export type CommandContext = {
  session: Session
  by: string
  /** What went wrong with servers that the client named. */
  warnings: readonly string[]
  setOption: (name: string, value: string) => Promise<void>
}

type Command = {
  description: string
  hint?: string
  run(context: CommandContext, words: string): Promise<string> | string
}

const commands: Readonly<Record<string, Command>> = {
  help: { description: 'What can be asked with a slash.', run: help },
  tools: { description: 'The tools that the model is offered, and which of them ask first.', run: listTools },
  options: { description: 'The options of this session and their values.', run: listOptions },
  option: { description: 'Set an option of this session.', hint: 'name value', run: setOption },
  grants: { description: 'What was allowed or rejected for the rest of this session.', run: listGrants },
  forget: {
    description: 'Forget a remembered decision: the tool asks again.',
    hint: 'tool, or "all"',
    run: forget,
  },
  status: { description: 'What this session is and how far it has come.', run: status },
}

export const availableCommands: AvailableCommand[] = Object.entries(commands).map(
  ([name, { description, hint }]) => ({
    name,
    description,
    ...(hint !== undefined && { input: { hint } }),
  }),
)

/** Undefined when it is no command of ours. */
export function findCommand(
  blocks: readonly ContentBlock[],
): ((context: CommandContext) => Promise<string> | string) | undefined {
  const [block] = blocks
  if (blocks.length !== 1 || block?.type !== 'text') return undefined
  const [, name = '', words = ''] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(block.text.trim()) ?? []
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  return command && (context => command.run(context, words.trim()))
}

function help(): string {
  return list(availableCommands.map(({ name, description }) => `\`/${name}\` ${description}`))
}

function listTools({ session, warnings }: CommandContext): string {
  const lines = [...session.offer.byName.values()].map(offered => {
    const { name, title, kind } = offered.tool
    const asks =
      offered.side === 'client'
        ? 'run by an application'
        : offered.tool.trust === 'trusted'
          ? 'runs'
          : 'asks first'
    return `\`${printable(name, 128)}\`${title === undefined ? '' : ` ${printable(title, 80)}`} (${kind}, ${asks})`
  })
  return list([...lines, ...warnings.map(words => printable(words, 500))], 'No tools are offered.')
}

function listOptions({ session }: CommandContext): string {
  const { settings } = session.state
  const lines = session.agent.options.map(option => {
    if (option.type === 'secret') return `\`${option.name}\` (secret)`
    const value = settings.options[option.name]
    return `\`${option.name}\` = ${printable(typeof value === 'string' ? value : option.default, 200)}`
  })
  return list(lines, 'This agent has no options.')
}

async function setOption({ setOption: set }: CommandContext, words: string): Promise<string> {
  const [, name, value = ''] = /^(\S+)(?:\s+([\s\S]*))?$/.exec(words) ?? []
  if (name === undefined) return 'Say which: `/option name value`.'
  await set(name, value)
  return `\`${printable(name, 80)}\` is now ${printable(value, 200)}.`
}

function listGrants({ session }: CommandContext): string {
  const lines = [...session.state.grants.values()].map(
    ({ tool, deny, by }) =>
      `\`${printable(tool, 128)}\` ${deny ? 'rejected' : 'allowed'} by ${printable(by, 80)}`,
  )
  return list(lines, 'Nothing is remembered: tools that ask first ask each time.')
}

async function forget({ session, by }: CommandContext, words: string): Promise<string> {
  const found = [...session.state.grants.values()].filter(grant => words === 'all' || grant.tool === words)
  if (found.length === 0) return words === '' ? 'Say which tool, or `all`.' : 'Nothing is remembered of that.'
  for (const grant of found) await session.revoke(grant.id, by)
  return found.length === 1 ? 'One decision is forgotten.' : `${found.length} decisions are forgotten.`
}

function status({ session }: CommandContext): string {
  const { state, agent } = session
  return list([
    `session \`${state.id}\``,
    `agent ${printable(agent.title ?? agent.name, 80)}`,
    `model ${printable(agent.model(state.settings).id, 80)}`,
    `${state.seq} events, ${state.entries.length} entries`,
  ])
}

function list(lines: readonly string[], otherwise = ''): string {
  return lines.length === 0 ? otherwise : lines.map(line => `- ${line}`).join('\n')
}
