// Prompts of the agent's tool servers as slash commands: `/server:prompt`. Their messages are said in place of the line.
import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk'
import type { InputPart } from '../../language/content.ts'
import { promptCommand, promptParts, readPromptLine } from '../../language/prompt-line.ts'
import type { AcpHost } from './host.ts'

type PromptHost = Pick<AcpHost, 'engine' | 'info'>

/** A server that cannot be asked has none. */
export async function promptCommands({ engine, info }: PromptHost): Promise<AvailableCommand[]> {
  const prompts = await engine.fromServers(info.name, { get: 'prompts' }).catch(() => [])
  return prompts.map(prompt => {
    const hint = prompt.arguments.map(({ name }) => `${name}=…`).join(' ')
    return {
      name: promptCommand(prompt),
      description: prompt.description ?? prompt.title ?? `A prompt of the MCP server "${prompt.server}".`,
      ...(hint !== '' && { input: { hint } }),
    }
  })
}

/** The content of the prompt that the blocks name. Undefined: they name none. */
export async function expandPrompt(
  { engine, info }: PromptHost,
  blocks: readonly ContentBlock[],
): Promise<InputPart[] | undefined> {
  const [block] = blocks
  if (blocks.length !== 1 || block?.type !== 'text' || !/^\/\S+:\S/.test(block.text.trim())) return undefined
  const call = readPromptLine(
    block.text,
    await engine.fromServers(info.name, { get: 'prompts' }).catch(() => []),
  )
  return call && promptParts(await engine.fromServers(info.name, { get: 'prompt', ...call }))
}
