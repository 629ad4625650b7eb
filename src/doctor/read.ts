// Reads values that may be in any vendor's form, right or wrong: parts of content, results, tools, choices. Nothing is
// refused: an unknown part becomes text, and a tool that the vendor runs is left out.

import type { InputPart, ResultPart } from '../language/content.ts'
import type { ToolChoice, ToolDeclaration, ToolInput } from '../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { asObject, asString, listObjects } from '../models/common/json-read.ts'

/** A member under its camelCase or snake_case name. */
export function member(holder: JsonObject, camel: string): Json | undefined {
  return holder[camel] ?? holder[camel.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)]
}

export function toJsonText(value: Json | undefined): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value)
}

// ---- content -----------------------------------------------------------------------------------------------

/** Content that is text, or a list of parts. */
export function readContent(content: Json | undefined): InputPart[] {
  if (Array.isArray(content)) return listObjects(content).map(readPart)
  return content === undefined || content === null ? [] : [{ type: 'text', text: toJsonText(content) }]
}

export function readPart(part: JsonObject): InputPart {
  const { text, refusal } = part
  const said = text ?? refusal
  if (typeof said === 'string' && said !== '') return { type: 'text', text: said }
  return (
    readMedia(part) ?? { type: 'text', text: said === undefined ? JSON.stringify(part) : toJsonText(said) }
  )
}

/** The parts of a result that is text, parts, or any JSON. */
export function readResult(content: Json | undefined): ResultPart[] {
  const isParts = Array.isArray(content) && content.every(isPart)
  return readContent(isParts || typeof content === 'string' ? content : toJsonText(content))
}

const isPart = (value: Json): boolean =>
  isJsonObject(value) && (typeof value['type'] === 'string' || readMedia(value) !== undefined)

function readMedia(part: JsonObject): InputPart | undefined {
  const { type, image_url, file_data, file_url, filename } = part
  if (type === 'image_url' || type === 'input_image')
    return { type: 'image', url: asString(isJsonObject(image_url) ? image_url['url'] : image_url) }
  if (isJsonObject(part['file'])) return readMedia({ type: 'input_file', ...part['file'] })
  if (type === 'input_file')
    return mediaPart(
      toJsonText(file_data ?? file_url),
      /^data:([^;,]+)/.exec(asString(file_data))?.[1],
      filename,
    )
  const source = asObject(part['source'] ?? member(part, 'inlineData') ?? member(part, 'fileData') ?? part)
  const data = asString(source['data'])
  const declared = asString(source['media_type'] ?? member(source, 'mimeType'))
  const media = declared || (type === 'image' ? 'image/*' : undefined)
  if (data !== '' && media !== undefined)
    return mediaPart(`data:${media};base64,${data}`, media, part['title'])
  const url = asString(source['url'] ?? member(source, 'fileUri') ?? source['uri'])
  return url === '' ? undefined : mediaPart(url, media, part['title'])
}

function mediaPart(url: string, mediaType = 'application/pdf', name?: Json): InputPart {
  if (mediaType.startsWith('image/')) return { type: 'image', url }
  return { type: 'file', url, mediaType, ...(typeof name === 'string' && { name }) }
}

// ---- tools -------------------------------------------------------------------------------------------------

export type ReadTools = {
  /** One of each name. */
  tools: ToolDeclaration[]
  /** As the vendor declares them: tools that it runs. */
  hosted: JsonObject[]
}

export function readTools(value: Json | undefined): ReadTools {
  const tools = new Map<string, ToolDeclaration>()
  const hosted: JsonObject[] = []
  for (const tool of listObjects(value)) {
    const declared = declarationsIn(tool)
    if (declared === undefined) hosted.push(tool)
    for (const each of declared ?? []) if (!tools.has(each.name)) tools.set(each.name, each)
  }
  return { tools: [...tools.values()], hosted }
}

/** Undefined for a tool that the vendor runs. */
export function declarationsIn(tool: JsonObject): ToolDeclaration[] | undefined {
  const declared = member(tool, 'functionDeclarations')
  if (Array.isArray(declared)) return listObjects(declared).map(readDeclaration)
  const { type = 'function', name, function: nested, custom } = tool
  if (isJsonObject(nested)) return [readDeclaration(nested)]
  if (isJsonObject(custom)) return [readDeclaration({ type: 'custom', ...custom })]
  const isOwn = type === 'function' || type === 'custom'
  return isOwn && asString(name) !== '' ? [readDeclaration(tool)] : undefined
}

function readDeclaration(tool: JsonObject): ToolDeclaration {
  return {
    name: asString(tool['name']),
    description: asString(tool['description']),
    input: readInput(tool),
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: false,
    side: 'client',
  }
}

function readInput(tool: JsonObject): ToolInput {
  const keys = ['parameters', 'input_schema', 'parametersJsonSchema', 'parameters_json_schema']
  const schema = keys.map(key => tool[key]).find(isJsonObject)
  if (tool['type'] === 'custom' && schema === undefined) {
    const format = asObject(tool['format'])
    const { syntax, definition } = { ...format, ...asObject(format['grammar']) }
    const isGrammar = (syntax === 'lark' || syntax === 'regex') && typeof definition === 'string'
    return { form: 'text', ...(isGrammar && { grammar: { syntax, definition } }) }
  }
  return {
    form: 'json',
    schema: schema ?? { type: 'object', properties: {} },
    ...(tool['strict'] === true && { strict: true }),
  }
}

const CHOICES: Readonly<Record<string, ToolChoice>> = {
  none: 'none',
  any: 'required',
  required: 'required',
}

/** A choice that names no offered tool is the default. */
export function readChoice(choice: Json | undefined, tools: readonly ToolDeclaration[]): ToolChoice {
  if (!isJsonObject(choice)) return CHOICES[asString(choice)] ?? 'auto'
  const named = [choice, asObject(choice['function']), asObject(choice['custom'])]
  const wanted = named.map(each => asString(each['name'])).find(name => name !== '')
  if (wanted === undefined) return CHOICES[asString(choice['type'])] ?? 'auto'
  return tools.some(({ name }) => name === wanted) ? { tool: wanted } : 'auto'
}
