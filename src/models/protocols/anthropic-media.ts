// Text, images and files as Anthropic's content blocks, in a user's message and in a tool's result alike. What the
// API would refuse (and would then refuse in every later request too) is said in words. Each block is JSON text.

import type { Outcome } from '../../language/calls.ts'
import type { FilePart, ImagePart, InputPart, ResultPart } from '../../language/content.ts'
import { emptyWords, isFailed, mediaNote, resultText, splitDataUri, wireJson } from '../common/artifacts.ts'

export type Warn = (warning: string) => void

type Media = ImagePart | FilePart

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
/** How each kind of image begins in base64. The API refuses one whose declared type is not what its bytes say. */
const BEGINNINGS: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const TEXTUAL = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson)$)|\+(json|xml)$/
const EMPTY_MESSAGE = '(The message was empty.)'

/** Empty and blank text is refused, so it gives no block. */
export function textBlock(text: string): string | undefined {
  return text.trim() === '' ? undefined : `{"type":"text","text":${wireJson(text)}}`
}

/** At least one block. */
export function userBlocks(parts: readonly InputPart[], warn: Warn): string[] {
  const blocks = contentBlocks(parts, warn)
  return blocks.length > 0 ? blocks : [textBlock(EMPTY_MESSAGE)!]
}

/** A result's content as JSON text. That of a failed call may be nothing but text. */
export function resultContent(outcome: Outcome, warn: Warn): string {
  const hasMedia = outcome.parts.some(part => part.type !== 'text')
  if (!hasMedia) return wireJson(resultText(outcome))
  if (isFailed(outcome)) {
    warn('Images and files of a failed call were left out: Anthropic takes only text there.')
    return wireJson(resultText(outcome))
  }
  const blocks = contentBlocks(outcome.parts, warn)
  return blocks.length > 0 ? `[${blocks.join(',')}]` : wireJson(emptyWords(outcome))
}

function contentBlocks(parts: readonly (InputPart | ResultPart)[], warn: Warn): string[] {
  return parts.flatMap(part => {
    if (part.type === 'text') return textBlock(part.text) ?? []
    const media = mediaBlock(part)
    if (media !== undefined) return wireJson(media)
    warn(`${mediaNote(part)} could not be sent to Anthropic and was only mentioned.`)
    return textBlock(mention(part)) ?? []
  })
}

function mention(part: Media): string {
  return /^https?:/i.test(part.url) ? `${mediaNote(part)} ${part.url}` : mediaNote(part)
}

function mediaBlock(part: Media): Record<string, unknown> | undefined {
  const data = splitDataUri(part.url)
  const mediaType = (part.type === 'file' ? part.mediaType : (data?.mediaType ?? '')).toLowerCase()
  const isImage = part.type === 'image' || mediaType.startsWith('image/')
  if (data === undefined) return addressBlock(part, isImage, mediaType)
  const base64 = data.base64.replace(/\s+/g, '')
  if (!BASE64.test(base64)) return undefined
  if (isImage) return imageBlock(base64, mediaType)
  return part.type === 'file' ? documentBlock(part, base64, mediaType) : undefined
}

function addressBlock(part: Media, isImage: boolean, mediaType: string): Record<string, unknown> | undefined {
  if (!/^https:\/\//i.test(part.url)) return undefined
  const source = { type: 'url', url: part.url }
  if (isImage) return { type: 'image', source }
  return mediaType === 'application/pdf' ? { type: 'document', source, ...titleOf(part) } : undefined
}

function imageBlock(data: string, declared: string): Record<string, unknown> | undefined {
  const found = BEGINNINGS.find(([start]) => data.startsWith(start))?.[1] ?? declared
  const media_type = found === 'image/jpg' ? 'image/jpeg' : found
  if (!IMAGES.includes(media_type)) return undefined
  return { type: 'image', source: { type: 'base64', media_type, data } }
}

function documentBlock(
  part: FilePart,
  base64: string,
  mediaType: string,
): Record<string, unknown> | undefined {
  if (mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: mediaType, data: base64 }
    return { type: 'document', source, ...titleOf(part) }
  }
  if (!TEXTUAL.test(mediaType)) return undefined
  const data = Buffer.from(base64, 'base64').toString('utf8')
  if (data.trim() === '') return undefined
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...titleOf(part) }
}

function titleOf(part: Media): { title?: string } {
  return part.type === 'file' && part.name !== undefined && part.name.trim() !== ''
    ? { title: part.name }
    : {}
}
