// The resources and prompts of an agent for MCP clients: its own, by the names that its configuration gives them, and those of
// the MCP servers that it uses. The names of the latter hold the server's name and lead back to it, so that two servers with
// the same address or the same prompt are kept apart.

import {
  type ContentBlock,
  type GetPromptResult,
  INVALID_PARAMS,
  type Prompt,
  ProtocolError,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type Server,
} from '@modelcontextprotocol/server'
import type { Engine } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { ownServer, type ServerPrompt, type ServerResource } from '../../language/servers.ts'
import { present } from '../../lib/json/present.ts'
import { isNotFound } from '../not-found.ts'
import { encodePart } from './encode.ts'
import type { TaskServer } from './task-server.ts'

const scheme = 'turnwire+mcp:'
/** Of the values that a completion gives. */
const mostValues = 100

export function serveResources(server: TaskServer, engine: Engine, agent: string): void {
  const list = async (isTemplate: boolean): Promise<ServerResource[]> =>
    // An address within the name of its server would not fit a pattern any more, so patterns of servers are left out.
    (await engine.fromServers(agent, { get: 'resources' })).filter(
      ({ template, server: from }) => (template === true) === isTemplate && !(template && from !== ownServer),
    )
  server.setRequestHandler('resources/list', async () => ({
    resources: (await list(false)).map((each): Resource => ({ uri: offeredUri(each), ...described(each) })),
  }))
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: (await list(true)).map(
      (each): ResourceTemplateType => ({ uriTemplate: each.uri, ...described(each) }),
    ),
  }))
  server.setRequestHandler('resources/read', async (request, context): Promise<ReadResourceResult> => {
    const { uri } = request.params
    const wanted = readUri(uri)
    if (!wanted) throw server.resourceNotFound(uri, context)
    const parts = await engine.fromServers(agent, { get: 'resource', ...wanted }).catch((error: unknown) => {
      throw isNotFound(error) ? server.resourceNotFound(uri, context) : error
    })
    if (parts.length === 0) throw server.resourceNotFound(uri, context)
    const { mediaType } = (await list(false)).find(each => offeredUri(each) === uri) ?? {}
    return { contents: parts.map(part => encodeContent(part, uri, mediaType)) }
  })
}

export function servePrompts(server: Server, engine: Engine, agent: string): void {
  const named = async (name: string): Promise<ServerPrompt> => {
    const found = (await engine.fromServers(agent, { get: 'prompts' })).find(
      each => offeredName(each) === name,
    )
    if (!found) throw new ProtocolError(INVALID_PARAMS, `There is no prompt ${JSON.stringify(name)}.`)
    return found
  }
  server.setRequestHandler('prompts/list', async () => ({
    prompts: (await engine.fromServers(agent, { get: 'prompts' })).map(encodePrompt),
  }))
  server.setRequestHandler(
    'prompts/get',
    async ({ params: { name, arguments: values = {} } }): Promise<GetPromptResult> => {
      const prompt = await named(name)
      const wanted = { get: 'prompt', server: prompt.server, name: prompt.name, values } as const
      const messages = await engine.fromServers(agent, wanted).catch((error: unknown) => {
        throw error instanceof TurnwireError ? new ProtocolError(INVALID_PARAMS, error.message) : error
      })
      return {
        ...(prompt.description !== undefined && { description: prompt.description }),
        messages: messages.flatMap(({ role, parts }) =>
          parts.map(part => ({ role, content: encodePart(part) satisfies ContentBlock })),
        ),
      }
    },
  )
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
    const prompt = ref.type === 'ref/prompt' ? await named(ref.name) : undefined
    const { values = [] } = prompt?.arguments.find(({ name }) => name === argument.name) ?? {}
    const begun = argument.value.toLowerCase()
    const found = values.filter(value => value.toLowerCase().startsWith(begun))
    return {
      completion: {
        values: found.slice(0, mostValues),
        total: found.length,
        hasMore: found.length > mostValues,
      },
    }
  })
}

function described({ name, title, description, mediaType, size }: ServerResource) {
  return {
    name,
    ...present({ title, description, mimeType: mediaType, size }),
  }
}

function encodePrompt(prompt: ServerPrompt): Prompt {
  const { title, description = title ?? prompt.name } = prompt
  return {
    name: offeredName(prompt),
    ...(title !== undefined && { title }),
    description,
    arguments: prompt.arguments.map(({ name, description: words, required }) => ({
      name,
      ...(words !== undefined && { description: words }),
      ...(required !== undefined && { required }),
    })),
  }
}

/** A server's name has no `__` in it, and neither has the name of an own prompt. */
function offeredName({ server, name }: ServerPrompt): string {
  return server === ownServer ? name : `${server}__${name}`
}

function offeredUri({ server, uri }: ServerResource): string {
  return server === ownServer ? uri : `${scheme}//${server}/${encodeURIComponent(uri)}`
}

/** Undefined: nothing can have this address. */
function readUri(uri: string): { server: string; uri: string } | undefined {
  const [, server, encoded] = /^turnwire\+mcp:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? []
  if (server === undefined || encoded === undefined) return { server: ownServer, uri }
  try {
    return { server, uri: decodeURIComponent(encoded) }
  } catch {
    return undefined
  }
}

function encodeContent(
  part: InputPart,
  uri: string,
  mediaType = 'text/plain',
): ReadResourceResult['contents'][number] {
  if (part.type === 'text') return { uri, mimeType: mediaType, text: part.text }
  const block = encodePart(part)
  if (block.type === 'image' || block.type === 'audio')
    return { uri, mimeType: block.mimeType, blob: block.data }
  if (block.type === 'resource') return { ...block.resource, uri }
  return { uri, mimeType: 'text/uri-list', text: part.url }
}
