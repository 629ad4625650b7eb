// The content of messages and of tool outputs, into ours. Images and files come in two manners: the fields of the
// Responses API (`image_url`, `file_data`, `file_url`) and a `source` object; what an agent does not take is refused.
import type { Agent } from '../../engine/index.ts'
import type { FilePart, ImagePart, InputPart } from '../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { absent, list, names, object, oneOf, onlyKnown, optional, text } from './fields.ts'
import { refuse, unsupportedValue, wrongType } from './refuse.ts'

const inputText = names('type text')
/** `parsed` is added by the official SDK, and comes back with the rest. */
const outputText = names('type text annotations logprobs parsed')
const refusalPart = names('type refusal')
const imageFields = names('type image_url file_id detail source')
const fileFields = names('type file_data file_url file_id filename detail source')
const sourceFields = names('type url media_type data filename')

/** What a user says, or what a tool gave. */
export function decodeInputParts(
  value: Json | undefined,
  path: string,
  images: Agent['images'],
): InputPart[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  if (!Array.isArray(value))
    return wrongType(path, 'one of a string or array of content parts', value ?? null)
  const parts: InputPart[] = []
  for (const [index, item] of value.entries()) {
    const at = `${path}[${index}]`
    const part = object(item, at)
    switch (part['type']) {
      case 'input_text':
      case 'output_text':
      case 'text': {
        onlyKnown(part, part['type'] === 'output_text' ? outputText : inputText, at)
        const words = text(part['text'], `${at}.text`)
        if (words !== '') parts.push({ type: 'text', text: words })
        break
      }
      case 'input_image':
        parts.push(decodeImage(part, at, images))
        break
      case 'input_file':
        parts.push(decodeFile(part, at))
        break
      default:
        unsupportedValue(`${at}.type`, part['type'], ['input_text', 'input_image', 'input_file'])
    }
  }
  return parts
}

/** The words of a system, developer or assistant message. */
export function decodeWords(value: Json | undefined, path: string): string {
  if (typeof value === 'string') return value
  let words = ''
  for (const [index, item] of list(value, path).entries()) {
    const at = `${path}[${index}]`
    const part = object(item, at)
    if (part['type'] === 'refusal') {
      onlyKnown(part, refusalPart, at)
      words += text(part['refusal'], `${at}.refusal`)
    } else if (part['type'] === 'output_text' || part['type'] === 'input_text' || part['type'] === 'text') {
      onlyKnown(part, outputText, at)
      words += text(part['text'], `${at}.text`)
    } else unsupportedValue(`${at}.type`, part['type'], ['input_text', 'output_text', 'refusal'])
  }
  return words
}

// ---- images ---------------------------------------------------------------------------------------------------

const longestAddress = 8192
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const

function decodeImage(part: JsonObject, path: string, images: Agent['images']): ImagePart {
  onlyKnown(part, imageFields, path)
  refuseStored(part, path)
  const { url, at } = imageAddress(part, path)
  if (/^data:/i.test(url)) {
    if (!images.data) refuse(`Invalid '${at}': this agent takes no images as data: URIs.`, at)
    if (!/^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/i.test(url))
      refuse(`Invalid '${at}': expected a data: URI of an image in base64.`, at)
    return { type: 'image', url }
  }
  checkAddress(url, at)
  if (!images.http) refuse(`Invalid '${at}': this agent takes no images by address.`, at)
  return { type: 'image', url }
}

function imageAddress(part: JsonObject, path: string): { url: string; at: string } {
  if (part['source'] === undefined)
    return { url: text(part['image_url'], `${path}.image_url`), at: `${path}.image_url` }
  const source = sourceOf(part, path)
  const at = `${path}.source`
  if (source['type'] === 'url') return { url: text(source['url'], `${at}.url`), at: `${at}.url` }
  const type = oneOf(source['media_type'] ?? null, `${at}.media_type`, imageTypes)
  return { url: `data:${type};base64,${text(source['data'], `${at}.data`)}`, at: `${at}.data` }
}

// ---- files ----------------------------------------------------------------------------------------------------

const unknownType = 'application/octet-stream'

function decodeFile(part: JsonObject, path: string): FilePart {
  onlyKnown(part, fileFields, path)
  refuseStored(part, path)
  if (part['source'] !== undefined) return sourceFile(sourceOf(part, path), `${path}.source`)
  const name = optional(part['filename'], `${path}.filename`, text)
  const named = name === undefined ? {} : { name }
  if (!absent(part['file_url'])) {
    const url = text(part['file_url'], `${path}.file_url`)
    checkAddress(url, `${path}.file_url`)
    return { type: 'file', url, mediaType: typeByName(new URL(url).pathname), ...named }
  }
  const data = text(part['file_data'], `${path}.file_data`)
  const url = /^data:/i.test(data) ? data : `data:${typeByName(name ?? '')};base64,${data}`
  return { type: 'file', url, mediaType: dataType(url, `${path}.file_data`), ...named }
}

function sourceFile(source: JsonObject, path: string): FilePart {
  const name = optional(source['filename'], `${path}.filename`, text)
  const named = name === undefined ? {} : { name }
  if (source['type'] === 'url') {
    const url = text(source['url'], `${path}.url`)
    checkAddress(url, `${path}.url`)
    return { type: 'file', url, mediaType: typeByName(new URL(url).pathname), ...named }
  }
  const mediaType = text(source['media_type'], `${path}.media_type`)
  const url = `data:${mediaType};base64,${text(source['data'], `${path}.data`)}`
  return { type: 'file', url, mediaType: dataType(url, `${path}.data`), ...named }
}

function dataType(url: string, path: string): string {
  const found = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;[a-z0-9=.+-]+)*;base64,[A-Za-z0-9+/]+={0,2}$/i.exec(
    url,
  )
  return found?.[1] ?? refuse(`Invalid '${path}': expected base64 data, or a data: URI in base64.`, path)
}

const types: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
}

function typeByName(name: string): string {
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return types[ending] ?? unknownType
}

// ---- both -----------------------------------------------------------------------------------------------------

function sourceOf(part: JsonObject, path: string): JsonObject {
  const source = part['source']
  if (!isJsonObject(source)) return wrongType(`${path}.source`, 'an object', source ?? null)
  onlyKnown(source, sourceFields, `${path}.source`)
  oneOf(source['type'] ?? null, `${path}.source.type`, ['url', 'base64'] as const)
  return source
}

function refuseStored(part: JsonObject, path: string): void {
  if (!absent(part['file_id']))
    refuse(
      `Unsupported parameter: '${path}.file_id'. No files are kept here: send the data, or an https:// address.`,
      `${path}.file_id`,
      'unsupported_parameter',
    )
}

function checkAddress(url: string, path: string): void {
  if (/^https:\/\//i.test(url) && url.length <= longestAddress && URL.canParse(url)) return
  refuse(
    `Invalid '${path}': expected an https:// address of at most ${longestAddress} characters, or a data: URI.`,
    path,
  )
}
