// Conversions between our content and any vendor's: who may have a native block back, the text of a result, and the content of
// a data URI. No vendor's field names are here.

import type { Outcome } from '../../language/calls.ts'
import type { Native, Origin, ResultPart } from '../../language/content.ts'
import type { Json } from '../../lib/json/index.ts'
import { wellFormed } from '../../lib/text/index.ts'

export function sameOrigin(a: Origin | undefined, b: Origin): boolean {
  return a !== undefined && a.protocol === b.protocol && a.family === b.family
}

/** The maker's own block, if `target` is its maker. Otherwise undefined: the whole block is left out. */
export function nativeFor(part: { native?: Native }, target: Origin): Json | undefined {
  return part.native && sameOrigin(part.native.origin, target) ? part.native.data : undefined
}

export function isFailed(outcome: Outcome): boolean {
  return outcome.kind !== 'ok'
}

/** The text of a result: never empty, well-formed. `mention` gives the words for what is not text. */
export function resultText(
  outcome: Outcome,
  mention: (part: Exclude<ResultPart, { type: 'text' }>) => string = mediaNote,
): string {
  const texts: string[] = []
  for (const part of outcome.parts) {
    const text = part.type === 'text' ? part.text : mention(part)
    if (text !== '') texts.push(text)
  }
  const text = wellFormed(texts.join('\n'))
  return text.trim() === '' ? emptyWords(outcome) : text
}

/** The same for a vendor without a flag for failed calls. */
export function flaggedText(
  outcome: Outcome,
  mention?: (part: Exclude<ResultPart, { type: 'text' }>) => string,
): string {
  const text = resultText(outcome, mention)
  return isFailed(outcome) ? `[${outcome.kind}] ${text}` : text
}

export function emptyWords(outcome: Outcome): string {
  return isFailed(outcome) ? `The call ended: ${outcome.kind}.` : 'The tool gave no output.'
}

export function mediaNote(part: Exclude<ResultPart, { type: 'text' }>): string {
  if (part.type === 'image') return '[image]'
  return `[file: ${part.name ?? part.mediaType}]`
}

/** Undefined for any other address. */
export function splitDataUri(url: string): { mediaType: string; base64: string } | undefined {
  const found = /^data:([^;,]*)((?:;[^;,]*)*);base64,/i.exec(url.slice(0, 512))
  if (found === null) return undefined
  return { mediaType: found[1] || 'application/octet-stream', base64: url.slice(found[0].length) }
}
