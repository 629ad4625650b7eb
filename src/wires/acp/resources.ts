// Resources of the agent and its tool servers in a prompt: a link to one that they list is replaced by what it holds. Any other
// link stays a link and is not fetched, and so does one that several servers list.
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { InputPart } from '../../language/content.ts'
import type { AcpHost } from './host.ts'

/** `parts`: one for each block. */
export async function attachResources(
  { engine, info }: Pick<AcpHost, 'engine' | 'info'>,
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
    return engine.fromServers(info.name, { get: 'resource', server: found.server, uri: found.uri })
  })
  return (await Promise.all(read)).flat()
}
