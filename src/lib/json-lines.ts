// Newline-delimited text from a byte stream, one line at a time, with a bound on what one line may hold.
// Parsing the lines is the caller's. CR LF is one line end; a last line without an end is still given out.

export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`A line is longer than ${maxBytes} bytes.`)
    this.maxBytes = maxBytes
  }
}

export type LineLimits = { maxBytes?: number }

const DEFAULT_MAX_BYTES = 4 * 1024 * 1024
const LF = 0x0a

/** Blank lines are skipped, and invalid UTF-8 is replaced. Throws LineTooLongError, after which it is over. */
export async function* decodeLines(
  stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  limits: LineLimits = {},
): AsyncGenerator<string, void, undefined> {
  const maxBytes = limits.maxBytes ?? DEFAULT_MAX_BYTES
  let parts: Uint8Array[] = []
  let held = 0

  const take = (bytes: Uint8Array): void => {
    held += bytes.length
    if (held > maxBytes) throw new LineTooLongError(maxBytes)
    if (bytes.length > 0) parts.push(bytes)
  }
  const line = (): string => {
    const text = decode(parts, held)
    parts = []
    held = 0
    return text
  }

  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      take(chunk.subarray(start, end))
      start = end + 1
      const text = line()
      if (text !== '') yield text
    }
    // A copy: some streams use their buffer again once the next chunk is asked for. (Buffer.slice makes none.)
    take(new Uint8Array(chunk.subarray(start)))
  }
  const last = line()
  if (last !== '') yield last
}

const decoder = new TextDecoder()

/** Whole lines are decoded at once, so a character that two chunks share is never torn. */
function decode(parts: readonly Uint8Array[], length: number): string {
  const first = parts[0]
  if (first === undefined) return ''
  const bytes = parts.length === 1 ? first : join(parts, length)
  const text = decoder.decode(bytes)
  return text.trim() === '' ? '' : text.endsWith('\r') ? text.slice(0, -1) : text
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
