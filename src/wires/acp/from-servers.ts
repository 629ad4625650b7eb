// Prompts and resources of the agent and its tool servers. A prompt is a slash command, `/server:prompt`, whose messages are said in
// place of the line. A link to a resource that they list is replaced by what it holds. Any other link stays a link and is not
// fetched, and so does one that several servers list.
import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk'
import type { InputPart } from '../../language/content.ts'
import { promptCommand, promptParts, readPromptLine } from '../../language/prompt-line.ts'
import type { AcpHost } from './host.ts'

type ServersHost = Pick<AcpHost, 'engine' | 'info'>

/** A server that cannot be asked has none. */
export async function promptCommands({ engine, info }: ServersHost): Promise<AvailableCommand[]> {
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
  { engine, info }: ServersHost,
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

/** `parts`: one for each block. */
export async function attachResources(
  { engine, info }: ServersHost,
  blocks: readonly ContentBlock[],
  parts: readonly InputPart[],
): Promise<InputPart[]> {
  if (!blocks.some(({ type }) => type === 'resource_link')) return [...parts]
  const known = await engine.fromServers(info.name, { get: 'resources' }).catch(() => [])
  const read = parts.map(async (part, index): Promise<InputPart[]> => {
    const block = blocks[index]
    const uri = block?.type === 'resource_link' ? block.uri : undefined
    const [found, other] = known.filter(each => !each.template && each.uri === uri)
    if (!found || other) return [part]
    const { server } = found
    return engine.fromServers(info.name, { get: 'resource', server, uri: found.uri })
  })
  return (await Promise.all(read)).flat()
}
