// Images, files and arguments in the forms that the stateless wires share. A wire passes a `refuse` that says the reason
// in its own protocol's manner.
import type { AgentInfo } from '../../engine/index.ts'
import type { FilePart, ImagePart } from '../../language/content.ts'
import { type JsonObject, parseObject } from '../../lib/json/index.ts'

type Refuse = (reason: string) => never

const addressLimit = 8192
const imageData = /^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}$/i
const anyData = /^data:[^,]*;base64,[A-Za-z0-9+/\s]+={0,2}$/i

export function imagePart(url: string, images: AgentInfo['images'], refuse: Refuse): ImagePart {
  if (/^data:/i.test(url)) {
    if (!images.data) refuse('This agent takes no images as data: URIs.')
    if (!imageData.test(url)) refuse('Expected a base64-encoded data URI of an image.')
  } else {
    if (!isMediaAddress(url))
      refuse(`Expected an https:// address of at most ${addressLimit} characters, or a data: URI.`)
    if (!images.http) refuse('This agent takes no images by address.')
  }
  return { type: 'image', url }
}

export function filePart(url: string, mediaType: string, name: string | undefined, refuse: Refuse): FilePart {
  if (!anyData.test(url) && !isMediaAddress(url))
    refuse('Expected base64-encoded data, or an https:// address.')
  return { type: 'file', url, mediaType, ...(name && { name }) }
}

function isMediaAddress(url: string): boolean {
  return /^https:\/\//i.test(url) && url.length <= addressLimit && URL.canParse(url)
}

/** Arguments for protocols in which they are an object. Text that is not one stands under `invalid_arguments`. */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  return parseObject(text) ?? { invalid_arguments: text }
}
