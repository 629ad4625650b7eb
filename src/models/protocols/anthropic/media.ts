// Text, images and files as Anthropic's content blocks, in a user's message and in a tool's result. Media that the API
// would refuse, now and in every later request of the session, is mentioned in words. Each block is JSON text.

import type { Outcome } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import {
  EMPTY_MESSAGE,
  emptyWords,
  isFailed,
  mediaNote,
  nativeFor,
  resultText,
} from '../../common/history.ts'
import {
  acceptedPicture,
  commonPictures,
  type Inline,
  isInline,
  isPicture,
  type Media,
  mention,
  readInline,
  textOfFile,
} from '../../common/media.ts'
import { type Warn, wireJson } from '../../common/prepare.ts'
import { withMark } from './cache.ts'

/** The API refuses empty and blank text, so it gives no block. */
export function textBlock(text: string): string | undefined {
  return text.trim() === '' ? undefined : `{"type":"text","text":${wireJson(text)}}`
}

/** The blocks of a user's message: at least one. */
export function encodeContent(parts: readonly InputPart[], origin: Origin, warn: Warn): string[] {
  const blocks = encodeParts(parts, origin, warn)
  return blocks.length > 0 ? blocks : [textBlock(EMPTY_MESSAGE)!]
}

/** The content of a result. A failed call may give text only. */
export function encodeResultContent(outcome: Outcome, origin: Origin, warn: Warn): string {
  if (!hasMedia(outcome.parts)) return wireJson(resultText(outcome))
  if (isFailed(outcome)) {
    warn('Images and files of a failed call were left out: Anthropic takes only text there.')
    return wireJson(resultText(outcome))
  }
  const blocks = encodeParts(outcome.parts, origin, warn)
  return blocks.length > 0 ? `[${blocks.join(',')}]` : wireJson(emptyWords(outcome))
}

function hasMedia(parts: readonly ResultPart[]): boolean {
  for (const { type } of parts) if (type !== 'text') return true
  return false
}

function encodeParts(parts: readonly (InputPart | ResultPart)[], origin: Origin, warn: Warn): string[] {
  const blocks: string[] = []
  for (const part of parts) {
    const block = part.native ? encodeOwn(part, origin, warn) : encodePart(part, warn)
    if (block !== undefined) blocks.push(block)
  }
  return blocks
}

/** A part with vendor data of the caller: for this vendor, the whole block or some of its members. */
function encodeOwn(part: InputPart | ResultPart, origin: Origin, warn: Warn): string | undefined {
  const data = nativeFor(part, origin)
  const { block: whole, cache_control: mark, ...members } = isJsonObject(data) ? data : {}
  if (isJsonObject(whole)) return wireJson(whole)
  const block = encodePart(part, warn)
  if (block === undefined) return undefined
  const filled = Object.keys(members).length > 0 ? withMembers(block, members) : block
  return mark === undefined ? filled : withMark(filled, mark)
}

/** `block` is the JSON text of an object. Media that was only mentioned has become text, which has no such members. */
function withMembers(block: string, members: JsonObject): string {
  return block.startsWith('{"type":"text"') ? block : `${block.slice(0, -1)},${wireJson(members).slice(1)}`
}

function encodePart(part: InputPart | ResultPart, warn: Warn): string | undefined {
  if (part.type === 'text') return textBlock(part.text)
  const media = encodeMedia(part)
  if (media !== undefined) return wireJson(media)
  warn(`${mediaNote(part)} could not be sent to Anthropic and was only mentioned.`)
  return textBlock(mention(part))
}

function encodeMedia(part: Media): JsonObject | undefined {
  if (!isInline(part)) return addressBlock(part)
  const inline = readInline(part)
  if (inline === undefined) return undefined
  return isPicture(part) ? pictureBlock(inline) : documentBlock(part, inline)
}

function addressBlock(part: Media): JsonObject | undefined {
  if (!/^https:\/\//i.test(part.url)) return undefined
  const source = { type: 'url', url: part.url }
  if (isPicture(part)) return { type: 'image', source }
  const isPdf = part.type === 'file' && part.mediaType.toLowerCase() === 'application/pdf'
  return isPdf ? { type: 'document', source, ...documentTitle(part) } : undefined
}

function pictureBlock(inline: Inline): JsonObject | undefined {
  const picture = acceptedPicture(inline, commonPictures)
  if (picture === undefined) return undefined
  return { type: 'image', source: { type: 'base64', media_type: picture.mediaType, data: picture.base64 } }
}

function documentBlock(part: Media, inline: Inline): JsonObject | undefined {
  if (inline.mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: inline.mediaType, data: inline.base64 }
    return { type: 'document', source, ...documentTitle(part) }
  }
  const data = textOfFile(inline)
  if (data === undefined) return undefined
  return {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data },
    ...documentTitle(part),
  }
}

function documentTitle(part: Media): { title?: string } {
  return part.type === 'file' && part.name !== undefined && part.name.trim() !== ''
    ? { title: part.name }
    : {}
}
