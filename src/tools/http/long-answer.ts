// An answer of an API that is too long to be read at once: its beginning, and the rest as a stream from which secrets are
// taken out as it passes.

import { Unanswered } from '../../lib/net/unanswered.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { listSpellings } from './secrets.ts'

/** An answer up to this size is read whole. */
const mostWhole = 1024 * 1024

/** `rest`: the rest of an answer that is longer than `body`. */
export type Begun = { body: Buffer; rest?: AsyncIterator<Uint8Array> }

export async function begin(response: Response): Promise<Begun> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const source = response.body?.[Symbol.asyncIterator]()
  while (source) {
    const next = await source.next()
    if (next.done === true) break
    chunks.push(next.value)
    bytes += next.value.length
    if (bytes > mostWhole) return { body: Buffer.concat(chunks), rest: source }
  }
  return { body: Buffer.concat(chunks) }
}

/** The whole of an answer that is not text, or is a failure. */
export async function readRest(
  body: Buffer,
  rest: AsyncIterator<Uint8Array>,
  hidden: (text: string) => string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [body]
  for await (const chunk of following(rest, hidden)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Bytes without the secrets, also where one is cut between two chunks. Bytes that are no text pass as they are. */
export async function* hiddenStream(
  body: Buffer,
  rest: AsyncIterator<Uint8Array>,
  secrets: readonly string[],
  hidden: (text: string) => string,
): AsyncGenerator<Uint8Array> {
  // One character is one byte here, so that any bytes can be looked through and come out unchanged.
  const spellings = listSpellings(secrets).map(each => Buffer.from(each).toString('latin1'))
  const longest = Math.max(0, ...spellings.map(each => each.length))
  let held = body.toString('latin1')
  const pass = (isLast: boolean): Buffer => {
    let end = isLast ? held.length : Math.max(held.length - longest + 1, 0)
    // A secret that begins before the cut is passed with it as a whole, so that it is found.
    for (const spelling of spellings) {
      const at = held.indexOf(spelling, Math.max(end - spelling.length + 1, 0))
      if (at >= 0 && at < end) end = Math.max(end, at + spelling.length)
    }
    let shown = held.slice(0, end)
    held = held.slice(end)
    for (const spelling of spellings) shown = shown.replaceAll(spelling, '[secret]')
    return Buffer.from(shown, 'latin1')
  }
  yield pass(false)
  for await (const chunk of following(rest, hidden)) {
    held += Buffer.from(chunk).toString('latin1')
    yield pass(false)
  }
  yield pass(true)
}

async function* following(
  rest: AsyncIterator<Uint8Array>,
  hidden: (text: string) => string,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const next = await rest.next()
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    throw hiddenError(error, hidden)
  } finally {
    await rest.return?.()
  }
}

/** The message may hold the address, and the address a key. */
export function hiddenError(error: unknown, hidden: (text: string) => string): Error {
  const words = hidden(errorMessage(error))
  return error instanceof Unanswered ? new Unanswered(words) : new Error(words)
}
