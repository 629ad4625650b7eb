// From what a client sends to the engine's words: prompts, folders, the MCP servers that it names. Nothing is fetched:
// a link stays a link.
import { isAbsolute, normalize } from 'node:path'
import type { ContentBlock, EmbeddedResource, McpServer } from '@agentclientprotocol/sdk'
import type { Agent } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { refuseParams } from './failure.ts'
import type { AcpHost, NamedServer } from './host.ts'

export function decodePrompt(blocks: readonly ContentBlock[], agent: Agent): InputPart[] {
  const parts = blocks.map(block => decodeBlock(block, agent))
  if (!parts.some(part => part.type !== 'text' || part.text.trim() !== ''))
    throw refuseParams('The prompt is empty: send at least one block with something in it.')
  return parts
}

function decodeBlock(block: ContentBlock, agent: Agent): InputPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      if (!agent.images.data) throw refuseParams('This agent takes no images.')
      return { type: 'image', url: dataUrl(block.mimeType, block.data, /^image\//) }
    case 'resource_link': {
      const label = block.title ?? block.name
      return {
        type: 'text',
        text: `[${label.replace(/[[\]\r\n]/g, ' ')}](${block.uri.replace(/[\s)]/g, encodeURIComponent)})`,
      }
    }
    case 'resource':
      return decodeResource(block.resource)
    case 'audio':
      throw refuseParams('This agent takes no audio.')
  }
}

function decodeResource(resource: EmbeddedResource['resource']): InputPart {
  if ('text' in resource) return { type: 'text', text: `${resource.uri}:\n\n${resource.text}` }
  const mediaType = resource.mimeType ?? 'application/octet-stream'
  const name = resource.uri.split('/').at(-1)
  return {
    type: 'file',
    url: dataUrl(mediaType, resource.blob, /^[\w.+-]+\//),
    mediaType,
    ...(name !== undefined && name !== '' && { name }),
  }
}

function dataUrl(mimeType: string, data: string, family: RegExp): string {
  if (!family.test(mimeType) || !/^[\w.+/-]+$/.test(mimeType))
    throw refuseParams(`The mimeType ${JSON.stringify(mimeType.slice(0, 80))} does not fit its block.`)
  if (data === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data))
    throw refuseParams('The data of a block must be base64.')
  return `data:${mimeType};base64,${data}`
}

export function decodeFolder(path: string, name: string): string {
  if (!isAbsolute(path) || path.includes('\0')) throw refuseParams(`${name} must be an absolute path.`)
  const clean = normalize(path)
  return clean.length > 1 ? clean.replace(/[/\\]$/, '') : clean
}

/** Each gets a name that tools can carry, and that no other has: `-2` is added to the second of a name. */
export function decodeServers(servers: readonly McpServer[], cwd: string, host: AcpHost): NamedServer[] {
  const taken = new Set<string>()
  return servers.map(server => {
    const name = freeName(server.name, taken)
    taken.add(name)
    if (!('type' in server)) {
      if (!host.mcp.stdio)
        throw refuseParams('MCP servers that are commands cannot be named over this connection.')
      if (!isAbsolute(server.command))
        throw refuseParams(`The command of the MCP server "${server.name}" must be an absolute path.`)
      const { command, args } = server
      return { name, command, args, env: pairs(server.env), cwd }
    }
    if (server.type !== 'http' || !host.mcp.http)
      throw refuseParams(`MCP servers of the type "${server.type}" cannot be named over this connection.`)
    return { name, url: server.url, headers: pairs(server.headers) }
  })
}

function freeName(given: string, taken: ReadonlySet<string>): string {
  const plain =
    given
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[-_]+/, '')
      .slice(0, 28) || 'server'
  let name = plain
  for (let count = 2; taken.has(name); count += 1) name = `${plain}-${count}`
  return name
}

function pairs(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}
