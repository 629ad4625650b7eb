// The body of a callback as the result of a call. `{ text, parts, structured, failed, details }`, or any other JSON value,
// which is taken as a function's return value would be.
import type { ToolOutput } from '../../engine/index.ts'
import type { ResultPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

const members = new Set(['text', 'parts', 'structured', 'failed', 'details'])

export function decodeResult(body: Json): ToolOutput {
  if (isJsonObject(body) && Object.keys(body).length > 0 && Object.keys(body).every(key => members.has(key)))
    return decodeMembers(body)
  if (typeof body === 'string') return { parts: [{ type: 'text', text: body }] }
  const isData = typeof body === 'object' && body !== null
  return { parts: [{ type: 'text', text: JSON.stringify(body) }], ...(isData && { structured: body }) }
}

function decodeMembers({ text, parts, structured, failed, details }: JsonObject): ToolOutput {
  if (text !== undefined && typeof text !== 'string') refuseCallback('text must be a text.')
  if (failed !== undefined && typeof failed !== 'boolean') refuseCallback('failed must be true or false.')
  const given = parts === undefined ? [] : decodeParts(parts)
  const shown: ResultPart[] = text === undefined ? given : [{ type: 'text', text }, ...given]
  // A program that gives data only: the model reads it as text.
  const isDataOnly = shown.length === 0 && structured !== undefined
  return {
    parts: isDataOnly ? [{ type: 'text', text: JSON.stringify(structured) }] : shown,
    ...(structured !== undefined && { structured }),
    ...(failed === true && { failed }),
    ...(details !== undefined && { details }),
  }
}

function decodeParts(parts: Json): ResultPart[] {
  if (!Array.isArray(parts)) return refuseCallback('parts must be a list.')
  return parts.map((part, index) => {
    if (!isJsonObject(part)) return refuseCallback(`parts[${index}] must be an object.`)
    const { type, text, url, mediaType, name } = part
    if (type === 'text' && typeof text === 'string') return { type, text }
    if (type === 'image' && typeof url === 'string') return { type, url }
    if (type === 'file' && typeof url === 'string' && typeof mediaType === 'string')
      return { type, url, mediaType, ...(typeof name === 'string' && { name }) }
    return refuseCallback(
      `parts[${index}] must be {"type": "text", "text"}, {"type": "image", "url"} or {"type": "file", "url", "mediaType"}.`,
    )
  })
}

function refuseCallback(words: string): never {
  throw new TurnwireError('bad_request', words)
}
