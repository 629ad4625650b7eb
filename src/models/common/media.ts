// Pictures and files: recognised by their bytes if they are here, else by their declared type. A vendor refuses a picture
// of a kind that it does not know, or whose bytes are of another kind than declared, and then refuses every later request
// of the session. So media that a vendor does not take is mentioned in words, not sent.

import type { FilePart, ImagePart } from '../../language/content.ts'
import { mediaNote, splitDataUri } from './history.ts'

export type Media = ImagePart | FilePart
export type Inline = { mediaType: string; base64: string }

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** The pictures that most vendors take. */
export const commonPictures: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
])
/** How the bytes of each kind of picture begin. */
const SIGNATURES: readonly (readonly [start: RegExp, mediaType: string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^.{4}ftyp(?:hei[cxms]|hev[cm])/s, 'image/heic'],
  [/^.{4}ftyp(?:mif1|msf1)/s, 'image/heif'],
]
/** As many characters of base64 as hold the longest signature. */
const SIGNATURE_CHARS = 16
const TEXTUAL =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|x-javascript|x-ndjson|x-sh|sql|toml)$)|\+(?:json|xml)$/

/** The content of a data URI, in base64 that every parser takes; undefined for other addresses and broken base64. */
export function readInline(part: Media): Inline | undefined {
  const data = splitDataUri(part.url)
  if (data === undefined) return undefined
  const bare = data.base64.replace(/\s+/g, '')
  if (!BASE64.test(bare) || bare.replace(/=+$/, '').length % 4 === 1) return undefined
  const declared = part.type === 'file' ? part.mediaType : data.mediaType
  return { mediaType: declared.toLowerCase(), base64: bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') }
}

export function isInline(part: Media): boolean {
  return /^data:/i.test(part.url)
}

/** Whether the part is a picture, by its declared type. */
export function isPicture(part: Media): boolean {
  return part.type === 'image' || /^image\//i.test(part.mediaType)
}

/** The picture with the type of its bytes, if that is one of `accepted`. */
export function acceptedPicture(
  inline: Inline | undefined,
  accepted: ReadonlySet<string>,
): Inline | undefined {
  if (inline === undefined) return undefined
  const head = Buffer.from(inline.base64.slice(0, SIGNATURE_CHARS), 'base64').toString('latin1')
  const mediaType = SIGNATURES.find(([start]) => start.test(head))?.[1]
  return mediaType !== undefined && accepted.has(mediaType) ? { ...inline, mediaType } : undefined
}

export function isTextual(mediaType: string): boolean {
  return TEXTUAL.test(mediaType)
}

/** The text of a textual file; undefined for any other, and for a blank one. */
export function textOfFile({ mediaType, base64 }: Inline): string | undefined {
  if (!isTextual(mediaType)) return undefined
  const text = Buffer.from(base64, 'base64').toString('utf8')
  return text.trim() === '' ? undefined : text
}

/** Words in place of media that is not sent, with its address if that can be opened. */
export function mention(part: Media): string {
  return /^https?:/i.test(part.url) ? `${mediaNote(part)} ${part.url}` : mediaNote(part)
}
