// Parts of a request that both of Google's APIs have in common: which models want thought signatures, the documented
// stand-in for a missing one, and media.

import type { Origin } from '../../../language/content.ts'
import { mediaNote } from '../../common/history.ts'
import {
  acceptedPicture,
  type Inline,
  isInline,
  isPicture,
  isTextual,
  type Media,
  readInline,
} from '../../common/media.ts'
import type { Warn } from '../../common/prepare.ts'
import type { WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'

/** Documented as the signature of history that another model wrote. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

/** Before version 3 signatures are optional, calls have no ids, and results hold no media. */
export function isOlderGemini(target: ModelTarget): boolean {
  return target.quirks.has('no-thought-signatures') || /(?:^|\/)gemini-[12][.-]/.test(target.model)
}

/** Everything that the encoding of an entry depends on besides the entries. */
export function googleKey({ protocol, family }: Origin, names: WireNames, isOlder = false): string {
  let key = `${protocol} ${family} ${isOlder ? 'older' : ''}`
  for (const [wire, name] of names.fromWire) if (wire !== name) key += ` ${wire}`
  return key
}

// ---- media -------------------------------------------------------------------------------------------------

export type GoogleMedia = Inline | { mediaType: string; url: string }

const TYPE_BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
}
const GOOGLE_PICTURES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
])

/** Undefined, with a warning, when Google does not take it. */
export function googleMedia(part: Media, warn: Warn): GoogleMedia | undefined {
  const media = isInline(part) ? inlineMedia(part) : linkedMedia(part)
  if (media === undefined) warn(`${mediaNote(part)} could not be sent to Gemini and was only mentioned.`)
  return media
}

function inlineMedia(part: Media): GoogleMedia | undefined {
  const inline = readInline(part)
  if (isPicture(part)) return acceptedPicture(inline, GOOGLE_PICTURES)
  if (inline === undefined || /^(?:audio|video)\/|^application\/pdf$/.test(inline.mediaType)) return inline
  return isTextual(inline.mediaType) ? { ...inline, mediaType: 'text/plain' } : undefined
}

/** Each address needs a media type. Most pictures on the web are JPEG. */
function linkedMedia(part: Media): GoogleMedia {
  if (part.type === 'file') return { mediaType: part.mediaType, url: part.url }
  const extension = /\.([a-z]+)(?:[?#]|$)/i.exec(part.url)?.[1]?.toLowerCase() ?? ''
  return { mediaType: TYPE_BY_EXTENSION[extension] ?? 'image/jpeg', url: part.url }
}
