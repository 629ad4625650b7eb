// Resources and prompts that a configuration declares for an agent, beside those of its MCP servers. Both are for people: a
// resource is attached to a message, a prompt is a message with a name. Neither is ever read by itself.
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import {
  ownServer,
  type PromptMessage,
  type ServerPrompt,
  type ServerResource,
} from '../../language/servers.ts'
import { quote } from '../../lib/text/index.ts'

type ServedContent = string | Uint8Array | readonly InputPart[]
type Values = Readonly<Record<string, string>>

export type ResourceDefinition = {
  /** `notes://today`, or a pattern with names in braces, each within one part of a path: `notes://{year}-{month}/text`. */
  uri: string
  name: string
  title?: string
  description?: string
  /** Default: text/plain for a text, application/octet-stream for bytes. */
  mediaType?: string
  /** Undefined: there is nothing at this address. */
  read: (values: Values, uri: string) => ServedContent | undefined | Promise<ServedContent | undefined>
}

export type PromptDefinition = {
  /** 1 to 64 letters, digits, "_", "-" or ".", without "__". */
  name: string
  title?: string
  description?: string
  /** `values`: what is suggested to a person who fills it in. */
  arguments?: readonly {
    name: string
    description?: string
    required?: boolean
    values?: readonly string[]
  }[]
  /** A text is one message of the user. */
  get: (values: Values) => string | readonly PromptMessage[] | Promise<string | readonly PromptMessage[]>
}

export type OwnResource = Readonly<ResourceDefinition> & { match: (uri: string) => Values | undefined }
export type OwnPrompt = Readonly<PromptDefinition>

export function resource(definition: ResourceDefinition): OwnResource {
  const { uri, name, read } = definition
  if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:./i.test(uri) || uri.length > 2_000)
    throw invalid(`The uri of a resource must begin with a scheme, such as notes://today, not ${quote(uri)}.`)
  if (typeof name !== 'string' || name === '') throw invalid(`The resource ${quote(uri)} needs a name.`)
  if (typeof read !== 'function') throw invalid(`The resource ${quote(uri)} needs a function read.`)
  const pattern = parsePattern(uri)
  const match = (given: string): Values | undefined => {
    if (!pattern) return given === uri ? {} : undefined
    return fit(pattern, given)
  }
  return Object.freeze({ ...definition, match })
}

export function prompt(definition: PromptDefinition): OwnPrompt {
  const { name, get, arguments: given = [] } = definition
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name) || name.includes('__'))
    throw invalid(
      `The name of a prompt has 1 to 64 letters, digits, "_", "-" or ".", and no "__", not ${quote(name)}.`,
    )
  if (typeof get !== 'function') throw invalid(`The prompt "${name}" needs a function get.`)
  const names = given.map(each => each.name)
  if (names.some(each => typeof each !== 'string' || !/^[\w.-]{1,64}$/.test(each)))
    throw invalid(`An argument of the prompt "${name}" needs a name of letters, digits, "_", "-" or ".".`)
  if (new Set(names).size < names.length)
    throw invalid(`Two arguments of the prompt "${name}" have the same name.`)
  return Object.freeze({ ...definition })
}

// ---- as the engine's port knows them -----------------------------------------------------------------------

export function describeResource({ uri, name, title, description, mediaType }: OwnResource): ServerResource {
  return {
    server: ownServer,
    uri,
    name,
    ...(uri.includes('{') && { template: true as const }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mediaType !== undefined && { mediaType }),
  }
}

export function describePrompt({ name, title, description, arguments: given = [] }: OwnPrompt): ServerPrompt {
  return {
    server: ownServer,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    arguments: given.map(({ values, ...each }) => ({ ...each, ...(values && { values: [...values] }) })),
  }
}

/** A resource with this very address comes before one whose pattern fits. */
export async function readOwn(resources: readonly OwnResource[], uri: string): Promise<InputPart[]> {
  const plain = resources.find(each => each.uri === uri)
  const found = plain ?? resources.find(each => each.match(uri) !== undefined)
  const content = await found?.read(found.match(uri) ?? {}, uri)
  if (!found || content === undefined)
    throw new TurnwireError('not_found', `There is no resource ${quote(uri.slice(0, 200))}.`)
  if (typeof content === 'string' && isTextContent(found.mediaType))
    return [{ type: 'text', text: content, attached: true }]
  if (typeof content === 'string' || content instanceof Uint8Array) return [dataPart(content, found, uri)]
  return content.map(part => (part.type === 'text' ? { ...part, attached: true } : part))
}

export async function getOwn(
  prompts: readonly OwnPrompt[],
  name: string,
  values: Values,
): Promise<PromptMessage[]> {
  const found = prompts.find(each => each.name === name)
  if (!found) throw new TurnwireError('not_found', `There is no prompt ${quote(name.slice(0, 100))}.`)
  const missing = (found.arguments ?? []).filter(
    ({ name: each, required }) => required && !Object.hasOwn(values, each),
  )
  if (missing.length > 0)
    throw new TurnwireError(
      'bad_request',
      `The prompt "${name}" needs ${missing.map(each => each.name).join(', ')}.`,
    )
  const messages = await found.get(values)
  return typeof messages === 'string'
    ? [{ role: 'user', parts: [{ type: 'text', text: messages }] }]
    : [...messages]
}

function isTextContent(mediaType = 'text/plain'): boolean {
  return mediaType.startsWith('text/') || mediaType === 'application/json'
}

function dataPart(content: string | Uint8Array, { mediaType }: OwnResource, uri: string): InputPart {
  const type = mediaType ?? 'application/octet-stream'
  const url = `data:${type};base64,${Buffer.from(content).toString('base64')}`
  const name = uri.split('/').at(-1)
  return type.startsWith('image/')
    ? { type: 'image', url }
    : { type: 'file', url, mediaType: type, ...(name !== undefined && name !== '' && { name }) }
}

// ---- patterns ----------------------------------------------------------------------------------------------

/** Of an address that is looked for. A longer one fits no pattern. */
const longestUri = 8_000

/** One part of a path, between two of / ? #: the texts around its names. */
type Place = { texts: readonly string[]; names: readonly string[] }
const delimiters = /([/?#])/

/** Undefined: it is no pattern. */
function parsePattern(uri: string): readonly Place[] | undefined {
  if (!/[{}]/.test(uri)) return undefined
  const places = uri.split(delimiters).map((part): Place => {
    const pieces = part.split(/\{([A-Za-z_]\w*)\}/)
    const [texts, names] = [0, 1].map(odd => pieces.filter((_, index) => index % 2 === odd))
    return { texts: texts ?? [], names: names ?? [] }
  })
  const isKnown = ({ texts }: Place): boolean =>
    !texts.some(text => /[{}]/.test(text)) && !texts.slice(1, -1).includes('')
  if (!places.every(isKnown))
    throw invalid(
      `The uri ${quote(uri)} is no pattern that is known: write names in braces, with other characters between them.`,
    )
  return places
}

/**
 * A name stands for one or more characters of one part of a path; an earlier one takes as many as it can. No expression is
 * used, because several names in one part would make one that takes time without bound for some addresses.
 */
function fit(pattern: readonly Place[], given: string): Values | undefined {
  if (given.length > longestUri) return undefined
  const parts = given.split(delimiters)
  if (parts.length !== pattern.length) return undefined
  const found: [name: string, value: string][] = []
  for (const [index, place] of pattern.entries()) {
    const values = fitPlace(place, parts[index]!)
    if (!values) return undefined
    for (const [at, value] of values.entries()) found.push([place.names[at]!, value])
  }
  return decoded(found)
}

/** The last text that fits leaves the most to those before it, so the first try decides. */
function fitPlace({ texts, names }: Place, part: string): string[] | undefined {
  const [first = '', last = ''] = [texts[0], texts.at(-1)]
  if (names.length === 0) return part === first ? [] : undefined
  if (!part.startsWith(first) || !part.endsWith(last)) return undefined
  const values: string[] = []
  let end = part.length - last.length
  for (let at = names.length - 1; at > 0; at--) {
    const text = texts[at]!
    const from = end - 1 - text.length
    const begin = from < 0 ? -1 : part.lastIndexOf(text, from)
    if (begin < 0) return undefined
    values.unshift(part.slice(begin + text.length, end))
    end = begin
  }
  return end > first.length ? [part.slice(first.length, end), ...values] : undefined
}

/** Undefined: a value is not well-formed. */
function decoded(found: readonly (readonly [string, string])[]): Values | undefined {
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]))
  } catch {
    return undefined
  }
}

function invalid(message: string): TurnwireError {
  return new TurnwireError('config_invalid', message)
}
