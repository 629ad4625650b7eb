// From a tool's result on the wire to our output. Links are told as text and never followed; a block that we cannot
// carry is named, not dropped in silence.
import type { ToolOutput } from '../../engine/ports.ts'
import type { ResultPart } from '../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

export function outputOf(result: JsonObject): ToolOutput {
  const { content, structuredContent, isError } = result
  const parts = Array.isArray(content) ? content.map(partOf) : []
  if (parts.length === 0 && structuredContent !== undefined)
    parts.push({ type: 'text', text: JSON.stringify(structuredContent) })
  return {
    parts,
    ...(structuredContent !== undefined && { structured: structuredContent }),
    ...(isError === true && { failed: true }),
  }
}

function partOf(block: Json): ResultPart {
  if (!isJsonObject(block)) return said('[a block that is not an object]')
  switch (block['type']) {
    case 'text':
      return said(textOf(block['text']))
    case 'image':
      return media(block, 'image')
    case 'audio':
      return media(block, 'audio')
    case 'resource_link':
      return said(linkWords(block))
    case 'resource':
      return isJsonObject(block['resource']) ? embedded(block['resource']) : said('[an empty resource]')
    default:
      return said(
        `[a block of the type ${JSON.stringify(textOf(block['type']).slice(0, 80))}, which is not supported]`,
      )
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

function media(block: JsonObject, family: 'image' | 'audio'): ResultPart {
  const data = textOf(block['data'])
  const mimeType = textOf(block['mimeType'])
  if (!mimeType.startsWith(`${family}/`) || !/^[\w.+/-]+$/.test(mimeType) || !base64.test(data))
    return said(`[${family === 'image' ? 'an image' : 'a sound'} that is not well-formed]`)
  const url = `data:${mimeType};base64,${data}`
  return family === 'image' ? { type: 'image', url } : { type: 'file', url, mediaType: mimeType }
}

function linkWords(block: JsonObject): string {
  const { uri, name, title, description, mimeType } = block
  const label = textOf(title) || textOf(name) || 'resource'
  const more = [textOf(mimeType), textOf(description)].filter(text => text !== '').join('; ')
  return `[${label}](${textOf(uri)})${more === '' ? '' : ` (${more})`}`
}

function embedded(resource: JsonObject): ResultPart {
  const uri = textOf(resource['uri'])
  if (typeof resource['text'] === 'string') return said(`${uri}:\n${resource['text']}`)
  const mediaType = textOf(resource['mimeType']) || 'application/octet-stream'
  const blob = textOf(resource['blob'])
  if (!base64.test(blob) || !/^[\w.+/-]+$/.test(mediaType)) return said(`[${uri}: not well-formed]`)
  const name = uri.split('/').at(-1)
  return {
    type: 'file',
    url: `data:${mediaType};base64,${blob}`,
    mediaType,
    ...(name !== undefined && name !== '' && { name }),
  }
}

function said(text: string): ResultPart {
  return { type: 'text', text }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
