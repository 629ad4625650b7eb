// Images, files and tools as every door hands them over. What an agent does not take is told as a reason, which the
// door says in its own vendor's manner.
import type { Agent } from '../../engine/index.ts'
import type { FilePart, ImagePart } from '../../language/content.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'

export type Refusal = { refused: string }

const longestAddress = 8192

export function imagePart(url: string, images: Agent['images']): ImagePart | Refusal {
  if (/^data:/i.test(url)) {
    if (!images.data) return { refused: 'This agent takes no images as data: URIs.' }
    return /^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}$/i.test(url)
      ? { type: 'image', url }
      : { refused: 'Expected a base64-encoded data URI of an image.' }
  }
  if (!isAddress(url))
    return {
      refused: `Expected an https:// address of at most ${longestAddress} characters, or a data: URI.`,
    }
  return images.http ? { type: 'image', url } : { refused: 'This agent takes no images by address.' }
}

export function filePart(url: string, mediaType: string, name?: string): FilePart | Refusal {
  const named = name === undefined || name === '' ? {} : { name }
  if (/^data:[^,]*;base64,[A-Za-z0-9+/\s]+={0,2}$/i.test(url) || isAddress(url))
    return { type: 'file', url, mediaType, ...named }
  return { refused: 'Expected base64-encoded data, or an https:// address.' }
}

function isAddress(url: string): boolean {
  return /^https:\/\//i.test(url) && url.length <= longestAddress && URL.canParse(url)
}

/** Arguments as an object, for vendors that have no other form. Text that is none stands under a name of its own. */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {
    // Not JSON: said below.
  }
  return { invalid_arguments: text }
}
