// Cuts a result to its limits: text is cut in the middle across all parts, and a data URI that is too large is replaced by
// a notice. The notice tells the model how much is missing and where the whole result is. Storing the whole result is
// output.ts's work.

import { readOutputName } from '../language/calls.ts'
import type { ResultPart } from '../language/content.ts'
import { cutUtf8, lastUtf8, utf8Length } from '../lib/text/index.ts'

/** `leftOut` counts the bytes of the whole result that are not in `parts`. */
export type Bounded = { parts: ResultPart[]; leftOut: number }

/** A smaller limit is raised to this one, because it has no room for the notice. */
const smallestLimit = 256

/** Each part counts at least this much towards the media limit, so that many small parts are limited too. */
const mediaFloor = 64 * 1024

/** `isReadable`: the model has a tool that reads the rest of the text. */
export function bound(
  parts: ResultPart[],
  limits: { text: number; media: number },
  callId: string,
  isReadable: boolean,
): Bounded {
  const media = boundMedia(parts, limits.media, callId)
  const where = isReadable ? readerWords(callId) : keptWords(callId)
  const text = boundText(media.parts, Math.max(limits.text, smallestLimit), where)
  return { parts: text.parts, leftOut: media.leftOut + text.leftOut }
}

function boundMedia(parts: ResultPart[], limit: number, callId: string): Bounded {
  if (parts.every(part => part.type === 'text')) return { parts, leftOut: 0 }
  let used = 0
  let leftOut = 0
  const shown = parts.map((part): ResultPart => {
    if (part.type === 'text') return part
    const cost = Math.max(part.url.length, mediaFloor)
    if (used + cost <= limit) {
      used += cost
      return part
    }
    leftOut += part.url.length
    return {
      type: 'text',
      text: `[${part.type} of ${part.url.length} bytes left out: too large to show. It is kept under the call id ${shortId(callId)}.]`,
    }
  })
  return { parts: shown, leftOut }
}

/**
 * Treats the texts of all parts as one: keeps its first and last bytes, with the notice at the first cut. Other parts
 * keep their position.
 */
function boundText(parts: ResultPart[], limit: number, where: string): Bounded {
  const sizes = sizesAbove(parts, limit)
  if (sizes === null) return { parts, leftOut: 0 }
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // At most `total` bytes are left out, so this is the longest form of the notice.
  const room = limit - utf8Length(notice(total, total, where))
  const headEnd = Math.ceil(room / 2)
  const tailStart = total - (room - headEnd)

  const pieces: { head: string; tail: string }[] = []
  let kept = 0
  let start = 0
  for (const [index, part] of parts.entries()) {
    const end = start + sizes[index]!
    if (part.type === 'text') {
      const piece = keepEnds(part.text, headEnd - start, end - tailStart, sizes[index]!)
      kept += utf8Length(piece.head) + utf8Length(piece.tail)
      pieces[index] = piece
    }
    start = end
  }

  let marker = notice(total - kept, total, where)
  const shown: ResultPart[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'text') {
      shown.push(part)
      continue
    }
    const { head, tail } = pieces[index]!
    const whole = head.length === part.text.length
    const text = whole ? head : head + marker + tail
    if (!whole) marker = ''
    if (text !== '') shown.push({ type: 'text', text })
  }
  return { parts: shown, leftOut: total - kept }
}

/** Null when the text is within the limit, else the size of each part. */
function sizesAbove(parts: readonly ResultPart[], limit: number): number[] | null {
  let units = 0
  for (const part of parts) if (part.type === 'text') units += part.text.length
  // A code unit takes at most three bytes, so most results need no counting.
  if (units * 3 <= limit) return null
  const sizes = parts.map(part => (part.type === 'text' ? utf8Length(part.text) : 0))
  return sizes.reduce((sum, size) => sum + size, 0) <= limit ? null : sizes
}

/** `head` and `tail` are the bytes to keep at each end. 0 or less: none. */
function keepEnds(text: string, head: number, tail: number, size: number): { head: string; tail: string } {
  if (size <= head || size <= tail) return { head: text, tail: '' }
  return { head: head > 0 ? cutUtf8(text, head).text : '', tail: tail > 0 ? lastUtf8(text, tail) : '' }
}

function notice(leftOut: number, total: number, where: string): string {
  return `\n[… ${leftOut} of ${total} bytes left out here. ${where} …]\n`
}

function keptWords(callId: string): string {
  return `The whole result is kept under the call id ${shortId(callId)}.`
}

function readerWords(callId: string): string {
  return `The whole result is kept. Read more of it, or search it, with the tool ${readOutputName} and the call id ${shortId(callId)}.`
}

function shortId(callId: string): string {
  return cutUtf8(callId, 64).text
}
