// The resources and prompts of a server. Both are read only when a person asks for them, and their sizes are limited.
// The texts are data of the server; each says where it came from.
import { type Client, ProtocolError } from '@modelcontextprotocol/client'
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { PromptMessage, ServerPrompt, ServerResource } from '../../language/servers.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { type KeptAnswers, readTtl } from './kept-answers.ts'
import { listPages } from './list-pages.ts'
import { toResultPart } from './result.ts'

const pageMs = 30_000
const limits = { pages: 20, items: 1_000, timeoutMs: pageMs }

/** A server whose answers are asked for, and those of its answers that still hold. */
export type ResourceSource = { client: Client; server: string; kept: KeptAnswers }

function listAll(
  { client, kept }: ResourceSource,
  method: 'resources/list' | 'resources/templates/list' | 'prompts/list',
  key: string,
): Promise<JsonObject[]> {
  return kept.get(method, async () => {
    const { found, ttlMs } = await listPages(client, method, key, limits)
    return { value: found.filter(item => isJsonObject(item)), ttlMs }
  })
}

export async function listResources(source: ResourceSource): Promise<ServerResource[]> {
  const { client, server } = source
  if (!client.getServerCapabilities()?.resources) return []
  const [plain, templates] = await Promise.all([
    listAll(source, 'resources/list', 'resources'),
    listAll(source, 'resources/templates/list', 'resourceTemplates').catch(orNone),
  ])
  return [
    ...plain.flatMap(item => toResources(server, item, item['uri'])),
    ...templates.flatMap(item =>
      toResources(server, item, item['uriTemplate']).map(one => ({ ...one, template: true as const })),
    ),
  ]
}

/** Servers without templates answer with an error. */
function orNone(error: unknown): JsonObject[] {
  if (error instanceof ProtocolError) return []
  throw error
}

function toResources(server: string, item: JsonObject, uri: Json | undefined): ServerResource[] {
  if (typeof uri !== 'string' || uri === '' || uri.length > 4_000) return []
  const { name, title, description, mimeType, size } = item
  return [
    {
      server,
      uri,
      name: typeof name === 'string' && name !== '' ? printable(name, 200) : uri,
      ...(typeof title === 'string' && { title: printable(title, 200) }),
      ...(typeof description === 'string' && { description: printable(description, 1_000) }),
      ...(typeof mimeType === 'string' && { mediaType: printable(mimeType, 100) }),
      ...(typeof size === 'number' && { size }),
    },
  ]
}

export async function readResource(
  { client, server, kept }: ResourceSource,
  uri: string,
): Promise<InputPart[]> {
  const contents = await kept.get(`resources/read ${uri}`, async () => {
    const answer = await client
      .readResource({ uri }, { timeout: pageMs, cacheMode: 'bypass' })
      .catch(error => {
        throw asNotFound(error, `The MCP server "${server}" has no resource ${printable(uri, 200)}`)
      })
    return { value: answer.contents, ttlMs: readTtl(answer) }
  })
  return contents.map(content => {
    const part = toResultPart({ type: 'resource', resource: content as JsonObject }) // It was parsed from JSON.
    if (part.type === 'text')
      return { type: 'text', text: `[Resource of the MCP server "${server}"] ${part.text}`, attached: true }
    // Images are shown as images by vendors that take them.
    if (part.type === 'file' && part.mediaType.startsWith('image/')) return { type: 'image', url: part.url }
    return part
  })
}

export async function listPrompts(source: ResourceSource): Promise<ServerPrompt[]> {
  const { client, server } = source
  if (!client.getServerCapabilities()?.prompts) return []
  const found = await listAll(source, 'prompts/list', 'prompts')
  return found.flatMap(item => {
    const { name, title, description } = item
    if (typeof name !== 'string' || name === '' || name.length > 200) return []
    const given = Array.isArray(item['arguments']) ? item['arguments'].filter(isJsonObject) : []
    return [
      {
        server,
        name,
        ...(typeof title === 'string' && { title: printable(title, 200) }),
        ...(typeof description === 'string' && { description: printable(description, 1_000) }),
        arguments: given.slice(0, 50).flatMap(promptArgument),
      },
    ]
  })
}

function promptArgument({ name, description, required }: JsonObject): ServerPrompt['arguments'] {
  if (typeof name !== 'string' || name === '') return []
  return [
    {
      name,
      ...(typeof description === 'string' && { description: printable(description, 500) }),
      ...(required === true && { required: true }),
    },
  ]
}

export async function getPrompt(
  { client, server }: Pick<ResourceSource, 'client' | 'server'>,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<PromptMessage[]> {
  const { messages } = await client
    .getPrompt({ name, arguments: { ...values } }, { timeout: pageMs })
    .catch(error => {
      throw asNotFound(error, `The MCP server "${server}" did not give the prompt "${printable(name, 100)}"`)
    })
  return messages.map(({ role, content }) => {
    const part = toResultPart(content as JsonObject) // It was parsed from JSON.
    // The server's words, although the person has asked for them.
    return {
      role,
      parts: [part.type === 'text' ? { ...part, text: part.text.toWellFormed(), attached: true } : part],
    }
  })
}

/** A refusal by the server becomes `not_found`: the caller asked for something that is not there. */
function asNotFound(error: unknown, words: string): unknown {
  if (!(error instanceof ProtocolError)) return error
  return new TurnwireError('not_found', `${words}: ${printable(error.message, 300)}`, { cause: error })
}
