// Text, images and files as Anthropic's content blocks, in a user's message and in a tool's result alike. What the
// API would refuse (and would then refuse in every later request too) is said in words. Each block is JSON text.

import type { Outcome } from '../../../language/calls.ts'
import type { InputPart, ResultPart } from '../../../language/content.ts'
import { emptyWords, isFailed, mediaNote, resultText, wireJson } from '../../common/artifacts.ts'
import {
  type Inline,
  inlineOf,
  isInline,
  isPicture,
  type Media,
  mention,
  pictureOf,
  textOfFile,
} from '../../common/media.ts'

export type Warn = (warning: string) => void

const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
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

function mediaBlock(part: Media): Record<string, unknown> | undefined {
  if (!isInline(part)) return addressBlock(part)
  const inline = inlineOf(part)
  if (inline === undefined) return undefined
  return isPicture(part) ? pictureBlock(inline) : documentBlock(part, inline)
}

function addressBlock(part: Media): Record<string, unknown> | undefined {
  if (!/^https:\/\//i.test(part.url)) return undefined
  const source = { type: 'url', url: part.url }
  if (isPicture(part)) return { type: 'image', source }
  const isPdf = part.type === 'file' && part.mediaType.toLowerCase() === 'application/pdf'
  return isPdf ? { type: 'document', source, ...titleOf(part) } : undefined
}

function pictureBlock(inline: Inline): Record<string, unknown> | undefined {
  const picture = pictureOf(inline, PICTURES)
  if (picture === undefined) return undefined
  return { type: 'image', source: { type: 'base64', media_type: picture.mediaType, data: picture.base64 } }
}

function documentBlock(part: Media, inline: Inline): Record<string, unknown> | undefined {
  if (inline.mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: inline.mediaType, data: inline.base64 }
    return { type: 'document', source, ...titleOf(part) }
  }
  const data = textOfFile(inline)
  if (data === undefined) return undefined
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...titleOf(part) }
}

function titleOf(part: Media): { title?: string } {
  return part.type === 'file' && part.name !== undefined && part.name.trim() !== ''
    ? { title: part.name }
    : {}
}
