// Parts of a request that both of Google's APIs have in common: the offer, the form of the answer, which models want
// thought signatures, the documented stand-in for a missing one, and media.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { Origin } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { formatSchema, type VendorFormat } from '../../common/format.ts'
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
import type { OfferRequest, Warn } from '../../common/prepare.ts'
import type { Dialect } from '../../common/schema-dialect.ts'
import { textToolNames } from '../../common/tool-declarations.ts'
import { type BoundTool, bindTools, type VendorTyped } from '../../common/vendor-typed.ts'
import { toolNames, type WireNames } from '../../common/wire-names.ts'
import type { ModelTarget } from '../../protocol.ts'
import { takesComputer } from './computer.ts'
import type { GoogleReading } from './decode.ts'
import { nameRule } from './tools.ts'

/** Documented as the signature of history that another model wrote. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

/** Before version 3 signatures are optional, calls have no ids, and results hold no media. */
function isOlderGemini(target: ModelTarget): boolean {
  return target.quirks.has('no-thought-signatures') || /(?:^|\/)gemini-[12][.-]/.test(target.model)
}

/** Everything that the encoding of an entry depends on besides the entries. */
export function googleKey({ protocol, family }: Origin, names: WireNames, isOlder = false): string {
  let key = `${protocol} ${family} ${isOlder ? 'older' : ''}`
  for (const [wire, name] of names.fromWire) if (wire !== name) key += ` ${wire}`
  return key
}

// ---- the offer -------------------------------------------------------------------------------------------

export type GoogleOffer<Declarations> = {
  origin: Origin
  names: WireNames
  isOlder: boolean
  declared: Declarations
  reading: GoogleReading
}

/** `declareTools` gives the tools in the field names of one API. */
export function googleOffer<Declarations>(
  protocol: string,
  typed: readonly VendorTyped[],
  declareTools: (
    request: OfferRequest,
    target: ModelTarget,
    names: WireNames,
    bound: readonly BoundTool[],
    warn: Warn,
  ) => Declarations,
): (request: OfferRequest, target: ModelTarget, warn: Warn) => GoogleOffer<Declarations> {
  return (request, target, warn) => {
    const { tools, parallel } = request
    const origin: Origin = { protocol, family: target.family }
    const names = toolNames(tools, nameRule)
    const bound = takesComputer(target) ? bindTools(tools, protocol, typed, warn) : []
    return {
      origin,
      names,
      isOlder: isOlderGemini(target),
      declared: declareTools(request, target, names, bound, warn),
      reading: {
        origin,
        names: names.fromWire,
        textTools: textToolNames(tools, names),
        ...(bound.length > 0 && { bound }),
        single: !parallel,
      },
    }
  }
}

// ---- fields ----------------------------------------------------------------------------------------------

/** Without a positive limit the model's own holds. */
export function answerLimit({ maxTokens }: ModelRequest, target: ModelTarget): number | undefined {
  return maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : undefined)
}

/** `json` asks for any JSON, and with a schema under `key` for JSON of that form. Before version 3 not beside tools. */
export function googleFormat(
  format: AnswerFormat,
  { tools }: ModelRequest,
  target: ModelTarget,
  { json, key, dialect }: { json: JsonObject; key: string; dialect: Dialect },
): VendorFormat | undefined {
  if (isOlderGemini(target) && (tools.length > 0 || target.hosted.length > 0)) return undefined
  if (format.type === 'json') return { field: json, holds: 'whole', needsWords: true }
  const own = formatSchema(format.schema, dialect)
  if (own === undefined) return { field: json, holds: 'hint' }
  return { field: { ...json, [key]: own.schema }, holds: own.isWhole ? 'whole' : 'part' }
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
