// Turns an MCP result into our output. Links become text and are never followed. A block of an unsupported kind is named
// in the text, not dropped.
import type { ToolOutput } from '../../engine/ports/index.ts'
import type { ResultPart } from '../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

export function toToolOutput(result: JsonObject): ToolOutput {
  const { content, structuredContent, isError, _meta } = result
  const ifc = isJsonObject(_meta) ? _meta['ifc'] : undefined
  const parts = Array.isArray(content) ? content.map(toResultPart) : []
  if (parts.length === 0 && structuredContent !== undefined)
    parts.push({ type: 'text', text: JSON.stringify(structuredContent) })
  return {
    parts,
    ...(structuredContent !== undefined && { structured: structuredContent }),
    ...(isError === true && { failed: true }),
    // The server's own label of this result. The gate says what it is worth.
    ...(isJsonObject(ifc) && { details: { _meta: { ifc } } }),
  }
}

export function toResultPart(block: Json): ResultPart {
  if (!isJsonObject(block)) return asText('[a block that is not an object]')
  switch (block['type']) {
    case 'text':
      return asText(stringOrEmpty(block['text']))
    case 'image':
      return media(block, 'image')
    case 'audio':
      return media(block, 'audio')
    case 'resource_link':
      return asText(linkWords(block))
    case 'resource':
      return isJsonObject(block['resource']) ? embedded(block['resource']) : asText('[an empty resource]')
    default:
      return asText(
        `[a block of the type ${JSON.stringify(stringOrEmpty(block['type']).slice(0, 80))}, which is not supported]`,
      )
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

function media(block: JsonObject, family: 'image' | 'audio'): ResultPart {
  const data = stringOrEmpty(block['data'])
  const mimeType = stringOrEmpty(block['mimeType'])
  if (!mimeType.startsWith(`${family}/`) || !/^[\w.+/-]+$/.test(mimeType) || !base64.test(data))
    return asText(`[${family === 'image' ? 'an image' : 'a sound'} that is not well-formed]`)
  const url = `data:${mimeType};base64,${data}`
  return family === 'image' ? { type: 'image', url } : { type: 'file', url, mediaType: mimeType }
}

function linkWords(block: JsonObject): string {
  const { uri, name, title, description, mimeType } = block
  const label = stringOrEmpty(title) || stringOrEmpty(name) || 'resource'
  const more = [stringOrEmpty(mimeType), stringOrEmpty(description)].filter(text => text !== '').join('; ')
  return `[${label}](${stringOrEmpty(uri)})${more === '' ? '' : ` (${more})`}`
}

function embedded(resource: JsonObject): ResultPart {
  const uri = stringOrEmpty(resource['uri'])
  if (typeof resource['text'] === 'string') return asText(`${uri}:\n${resource['text']}`)
  const mediaType = stringOrEmpty(resource['mimeType']) || 'application/octet-stream'
  const blob = stringOrEmpty(resource['blob'])
  if (!base64.test(blob) || !/^[\w.+/-]+$/.test(mediaType)) return asText(`[${uri}: not well-formed]`)
  const name = uri.split('/').at(-1)
  return {
    type: 'file',
    url: `data:${mediaType};base64,${blob}`,
    mediaType,
    ...(name !== undefined && name !== '' && { name }),
  }
}

function asText(text: string): ResultPart {
  return { type: 'text', text }
}

function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
