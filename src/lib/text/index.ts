// Measures and cuts text by UTF-8 bytes without splitting characters, and makes hidden characters visible before text
// reaches a terminal or a log line. Runs in a browser too.

const encoder = new TextEncoder()

/** Bytes in UTF-8; a lone surrogate counts as the three bytes of U+FFFD. */
export function utf8Length(text: string): number {
  return globalThis.Buffer === undefined ? encoder.encode(text).length : Buffer.byteLength(text)
}

export type Cut = { text: string; cutBytes: number }

/** Keeps the longest prefix of whole characters within `maxBytes`. The result is well-formed. */
export function cutUtf8(text: string, maxBytes: number): Cut {
  const whole = text.toWellFormed()
  if (whole.length * 3 <= maxBytes) return { text: whole, cutBytes: 0 }
  const total = utf8Length(whole)
  if (total <= maxBytes) return { text: whole, cutBytes: 0 }
  const kept = whole.slice(0, clusterStart(whole, prefixUnits(whole, maxBytes)))
  return { text: kept, cutBytes: total - utf8Length(kept) }
}

/** Cuts a reason to the size of a WebSocket's close frame. `close` throws for a longer reason. */
export function closeReason(text: string): string {
  return cutUtf8(text, 123).text
}

/** Keeps head and tail with `marker(cutBytes)` between them. The marker counts towards the limit. */
export function cutMiddle(text: string, maxBytes: number, marker: (cutBytes: number) => string): Cut {
  const whole = text.toWellFormed()
  const total = utf8Length(whole)
  if (total <= maxBytes) return { text: whole, cutBytes: 0 }
  // `cutBytes` will be at most `total`, so this is the longest form of the marker.
  const room = maxBytes - utf8Length(marker(total))
  if (room <= 0) return cutUtf8(whole, maxBytes)
  const head = cutUtf8(whole, Math.ceil(room / 2)).text
  const tail = lastUtf8(whole.slice(head.length), room - utf8Length(head))
  const cutBytes = total - utf8Length(head) - utf8Length(tail)
  const joined = head + marker(cutBytes).toWellFormed() + tail
  return utf8Length(joined) <= maxBytes ? { text: joined, cutBytes } : cutUtf8(whole, maxBytes)
}

function prefixUnits(text: string, maxBytes: number): number {
  const room = Math.max(0, Math.floor(maxBytes))
  return encoder.encodeInto(text.slice(0, room), new Uint8Array(room)).read
}

/** The longest suffix of whole characters within `maxBytes`, of a text that is well-formed. */
export function lastUtf8(text: string, maxBytes: number): string {
  let at = text.length
  let bytes = 0
  while (at > 0) {
    const code = text.charCodeAt(at - 1)
    const units = isLow(code) ? 2 : 1
    bytes += units === 2 ? 4 : code < 0x80 ? 1 : code < 0x800 ? 2 : 3
    if (bytes > maxBytes) break
    at -= units
  }
  return text.slice(clusterEnd(text, at))
}

/** A longer cluster is an abuse of combining marks. It is cut like plain text. */
const CLUSTER_WINDOW = 64
let segmenter: Intl.Segmenter | undefined

/** The nearest index at or before `at` that does not separate a base character from its marks or joiners. */
function clusterStart(text: string, at: number): number {
  if (!maySplitCluster(text, at)) return at
  const from = alignedDown(text, Math.max(0, at - CLUSTER_WINDOW))
  const start = clusterAround(text, from, at)?.index
  return start === undefined || (start === 0 && from > 0) ? at : from + start
}

/** The nearest such index at or after `at`. */
function clusterEnd(text: string, at: number): number {
  if (!maySplitCluster(text, at)) return at
  const from = alignedDown(text, Math.max(0, at - CLUSTER_WINDOW))
  const around = clusterAround(text, from, at)
  if (around === undefined || from + around.index === at) return at
  return around.segment.length > CLUSTER_WINDOW ? at : from + around.index + around.segment.length
}

function clusterAround(text: string, from: number, at: number): Intl.SegmentData | undefined {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const window = text.slice(from, alignedDown(text, Math.min(text.length, at + CLUSTER_WINDOW)))
  return segmenter.segment(window).containing(at - from)
}

function maySplitCluster(text: string, at: number): boolean {
  return at > 0 && at < text.length && text.charCodeAt(at) >= 0x300
}

function alignedDown(text: string, at: number): number {
  return at > 0 && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

// ---------------------------------------------------------------------------------------------------------

type PrintableOptions = { maxChars?: number; multiline?: boolean }

// Controls, format characters (bidi, zero-width, tags), line separators, lone surrogates, and all other characters that
// are rendered as nothing. Emoji presentation (U+FE0F) is allowed, because it hides nothing.
const HIDDEN = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** Most texts: nothing in them is hidden, and this is found much faster. */
const PLAIN = /^[ -~]*$/
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Text that is safe to print: nothing in it moves a cursor, changes a colour, reorders or hides text.
 * It is one line, unless `multiline` keeps line feeds and tabs.
 */
export function printable(text: string, options: number | PrintableOptions = {}): string {
  const { maxChars = Infinity, multiline = false } =
    typeof options === 'number' ? { maxChars: options } : options
  const long = text.length > maxChars
  if (!long && PLAIN.test(text)) return text
  const shown = (long ? text.slice(0, maxChars) : text).replace(HIDDEN, char =>
    multiline && (char === '\n' || char === '\t') ? char : escapeHidden(char),
  )
  if (!long && shown.length <= maxChars) return shown
  return `${shown.slice(0, alignedDown(shown, Math.max(0, maxChars - 1)))}…`
}

/** JSON text with its hidden characters as JSON's own escapes: nothing in it acts on a terminal, and it reads as before. */
export function printableJson(json: string): string {
  return json.replace(HIDDEN, char => {
    if (char === '\n' || char === '\t') return char
    return Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('')
  })
}

/**
 * As `printable`, but what is too long shows its beginning, how many characters are left out, and its end: the end of a command
 * may be what matters. `maxChars` is that of beginning and end.
 */
export function printableEnds(text: string, options: { maxChars: number; multiline?: boolean }): string {
  const { maxChars, multiline = false } = options
  const whole = text.length > maxChars ? undefined : printable(text, { multiline })
  if (whole !== undefined && whole.length <= maxChars) return whole
  const room = Math.max(8, Math.floor(maxChars / 2))
  const head = fitting(room, multiline, units => text.slice(0, alignedDown(text, units)))
  const left = text.slice(head.taken)
  const tail = fitting(room, multiline, units =>
    left.slice(alignedDown(left, Math.max(0, left.length - units))),
  )
  const cut = left.length - tail.taken
  if (cut <= 0) return head.shown + tail.shown
  return `${head.shown} […${cut.toLocaleString('en')} characters…] ${tail.shown}`
}

/** Escapes are longer than what they stand for: takes less of the text until it fits. */
function fitting(
  room: number,
  multiline: boolean,
  take: (units: number) => string,
): { taken: number; shown: string } {
  for (let units = room; ; units = Math.floor(units / 2)) {
    const piece = take(units)
    const shown = printable(piece, { multiline })
    if (shown.length <= room || units <= 1) return { taken: piece.length, shown }
  }
}

/** A value as JSON on one line, cut to `maxChars`. For names and values that come from outside. */
export function quote(value: unknown, maxChars = 80): string {
  // JSON has no form for `undefined`, a function, or a number that is not finite.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text
}

function escapeHidden(char: string): string {
  const named = NAMED[char]
  if (named !== undefined) return named
  const hex = char.codePointAt(0)!.toString(16)
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
