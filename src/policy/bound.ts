// Makes a result fit: text is cut in the middle across all parts, and data URIs that are too large give way to
// words. The model is told how much is missing and where the whole is. What is kept elsewhere is output.ts's
// matter; here is only what the model reads.

import type { ResultPart } from '../language/content.ts'
import { cutUtf8, utf8Length } from '../lib/text.ts'

/** `leftOut` counts bytes of the whole that do not stand in `parts`. */
export type Bounded = { parts: ResultPart[]; leftOut: number }

/** Below this there is no room to say what was cut; a smaller limit counts as this one. */
export const smallestLimit = 256

/** Each part costs at least this much of the media limit, so that many small ones are bounded too. */
const mediaFloor = 64 * 1024

export function bound(parts: ResultPart[], limits: { text: number; media: number }, callId: string): Bounded {
  const media = boundMedia(parts, limits.media, callId)
  const text = boundText(media.parts, Math.max(limits.text, smallestLimit), callId)
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
 * The texts of all parts count as one: its first and last bytes stay, and the notice stands where the first cut
 * is. Parts without text stay where they are.
 */
function boundText(parts: ResultPart[], limit: number, callId: string): Bounded {
  const sizes = fits(parts, limit)
  if (sizes === null) return { parts, leftOut: 0 }
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // The number in the notice only shrinks from here, so its longest form is the one to make room for.
  const room = limit - utf8Length(notice(total, total, callId))
  const headEnd = Math.ceil(room / 2)
  const tailStart = total - (room - headEnd)

  const pieces: { head: string; tail: string }[] = []
  let kept = 0
  let start = 0
  for (const [index, part] of parts.entries()) {
    const end = start + sizes[index]!
    if (part.type === 'text') {
      const piece = keep(part.text, headEnd - start, end - tailStart, sizes[index]!)
      kept += utf8Length(piece.head) + utf8Length(piece.tail)
      pieces[index] = piece
    }
    start = end
  }

  let marker = notice(total - kept, total, callId)
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

/** Null when the text is within the limit; else the size of each part. */
function fits(parts: readonly ResultPart[], limit: number): number[] | null {
  let units = 0
  for (const part of parts) if (part.type === 'text') units += part.text.length
  // No unit of UTF-16 takes more than three bytes, so most results need no counting.
  if (units * 3 <= limit) return null
  const sizes = parts.map(part => (part.type === 'text' ? utf8Length(part.text) : 0))
  return sizes.reduce((sum, size) => sum + size, 0) <= limit ? null : sizes
}

/** `head` and `tail` are the bytes that may stay at each end; at or below 0, none. */
function keep(text: string, head: number, tail: number, size: number): { head: string; tail: string } {
  if (size <= head || size <= tail) return { head: text, tail: '' }
  return { head: head > 0 ? cutUtf8(text, head).text : '', tail: tail > 0 ? lastBytes(text, tail) : '' }
}

function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(-maxBytes))
  let at = Math.max(0, bytes.length - maxBytes)
  while (at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at++
  // A mark whose base character was cut off would hang on the notice.
  return bytes.toString('utf8', at).replace(/^[\p{M}\p{Emoji_Modifier}\u200d]{1,32}/u, '')
}

function notice(leftOut: number, total: number, callId: string): string {
  return `\n[… ${leftOut} of ${total} bytes left out here. The whole result is kept under the call id ${shortId(callId)}. …]\n`
}

function shortId(callId: string): string {
  return cutUtf8(callId, 64).text
}
