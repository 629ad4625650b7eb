// Decodes what a client sends: prompts, folders, MCP servers, options, permissions. Pure; a link in a prompt stays a link
// and is not fetched.
import { isAbsolute, normalize } from 'node:path'
import type {
  ContentBlock,
  EmbeddedResource,
  McpServer,
  RequestPermissionOutcome,
} from '@agentclientprotocol/sdk'
import type { AgentInfo, GivenDecision, GivenSettings } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import type { Settings } from '../../language/events.ts'
import { modelChoice, modelOption, type OptionSource } from './encode-options.ts'
import type { AcpHost, NamedServer } from './host.ts'
import { refusal } from './refusals.ts'

// ---- prompts -----------------------------------------------------------------------------------------------

export function decodePrompt(blocks: readonly ContentBlock[], info: AgentInfo): InputPart[] {
  const parts = blocks.map(block => decodeBlock(block, info))
  if (!parts.some(part => part.type !== 'text' || part.text.trim() !== '')) throw refusal.emptyPrompt()
  return parts
}

function decodeBlock(block: ContentBlock, info: AgentInfo): InputPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      if (!info.images.data) throw refusal.images()
      return { type: 'image', url: dataUrl(block.mimeType, block.data, /^image\//) }
    case 'resource_link': {
      const label = (block.title ?? block.name).replace(/[[\]\r\n]/g, ' ')
      const text = `[${label}](${block.uri.replace(/[\s)]/g, encodeURIComponent)})`
      return isNameIn(block.uri, label) ? { type: 'text', text } : { type: 'text', text, attached: true }
    }
    case 'resource':
      return decodeResource(block.resource)
    case 'audio':
      throw refusal.audio()
  }
}

/** The plain name of the file that the user chose. Any other label may be the words of whoever made the resource. */
function isNameIn(uri: string, label: string): boolean {
  const [, last] = /([^/?#]+)\/?(?:[?#].*)?$/.exec(uri) ?? []
  return /^[\p{L}\p{N}_.-]+$/u.test(label) && (last === label || last === encodeURIComponent(label))
}

function decodeResource(resource: EmbeddedResource['resource']): InputPart {
  if ('text' in resource)
    return { type: 'text', text: `${resource.uri}:\n\n${resource.text}`, attached: true }
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
  if (!family.test(mimeType) || !/^[\w.+/-]+$/.test(mimeType)) throw refusal.mimeType(mimeType)
  if (data === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) throw refusal.base64()
  return `data:${mimeType};base64,${data}`
}

// ---- folders and servers -------------------------------------------------------------------------------------

export type GivenFolders = {
  cwd: string
  additionalDirectories?: string[]
  mcpServers?: readonly McpServer[]
}

/** `roots`: the working folder first, then the others. */
export type Workspace = { roots: readonly [string, ...string[]]; servers: NamedServer[] }

export function decodeWorkspace(given: GivenFolders, allowed: AcpHost['mcp']): Workspace {
  const { additionalDirectories = [], mcpServers = [] } = given
  const cwd = decodeFolder(given.cwd, 'cwd')
  const others = additionalDirectories.map(path => decodeFolder(path, 'additionalDirectories'))
  const taken = new Set<string>()
  const servers = mcpServers.map(server => decodeServer(server, freeName(server.name, taken), cwd, allowed))
  return { roots: [cwd, ...others], servers }
}

export function decodeFolder(path: string, name: string): string {
  if (!isAbsolute(path) || path.includes('\0')) throw refusal.relativePath(name)
  const clean = normalize(path)
  return clean.length > 1 ? clean.replace(/[/\\]$/, '') : clean
}

function decodeServer(server: McpServer, name: string, cwd: string, allowed: AcpHost['mcp']): NamedServer {
  if (!('type' in server)) {
    if (!allowed.stdio) throw refusal.commandServer()
    if (!isAbsolute(server.command)) throw refusal.relativeCommand(server.name)
    const { command, args } = server
    return { name, command, args, env: pairs(server.env), cwd }
  }
  if (server.type !== 'http' || !allowed.http) throw refusal.serverType(server.type)
  return { name, url: server.url, headers: pairs(server.headers) }
}

/** A name that tool names may contain. The second server of a name gets `-2`. */
function freeName(given: string, taken: Set<string>): string {
  const clean = given
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/_{2,}/g, '_')
    .replace(/^[-_]+/, '')
  const plain = clean.slice(0, 28).replace(/_$/, '') || 'server'
  let name = plain
  for (let count = 2; taken.has(name); count += 1) name = `${plain}-${count}`
  taken.add(name)
  return name
}

function pairs(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}

// ---- options -----------------------------------------------------------------------------------------------

/** The settings that choosing a value for an option makes. */
export function decodeOption(
  source: OptionSource,
  settings: Settings,
  id: string,
  value: unknown,
): Partial<GivenSettings> {
  if (typeof value !== 'string') throw refusal.optionType(id)
  const option = source.info.options.find(each => each.name === id && each.type !== 'secret')
  if (option) {
    if (option.type === 'select' && !option.options?.includes(value))
      throw refusal.optionValue(id, option.options)
    return { options: { ...givenOptions(settings), [id]: value } }
  }
  const choice = id === modelOption ? modelChoice(source) : undefined
  if (!choice) throw refusal.noOption(id)
  if (!choice.names.includes(value)) throw refusal.optionValue(id, choice.names)
  return { model: value }
}

/** The options as they are. Secrets are not known here: `null` leaves them as they are. */
function givenOptions({ options }: Settings): GivenSettings['options'] {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, typeof value === 'string' ? value : null]),
  )
}

// ---- permissions -------------------------------------------------------------------------------------------

/** `forAgent`: it is remembered for all sessions of the agent. */
export type PermissionAnswer = Pick<GivenDecision, 'granted' | 'remember' | 'reason'> & { forAgent?: true }

const permissions: Readonly<Record<string, PermissionAnswer>> = {
  allow: { granted: true },
  'allow-session': { granted: true, remember: true },
  'allow-agent': { granted: true, forAgent: true },
  reject: { granted: false },
  'reject-session': { granted: false, remember: true },
}

/** Only an option that was offered can be an approval. */
export function decodePermission(
  outcome: RequestPermissionOutcome,
  offered: readonly { optionId: string }[],
): PermissionAnswer | 'cancelled' {
  if (outcome.outcome === 'cancelled') return 'cancelled'
  const optionId = outcome.outcome === 'selected' ? outcome.optionId : ''
  const isOffered = offered.some(option => option.optionId === optionId)
  const chosen = isOffered && Object.hasOwn(permissions, optionId) ? permissions[optionId] : undefined
  return chosen ?? { granted: false, reason: 'The client answered with an option that was not offered.' }
}
