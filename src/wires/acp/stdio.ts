// Newline-delimited JSON over a pipe. A line that is too long or is not JSON is answered with an error and skipped.
import type { Readable, Writable } from 'node:stream'
import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk'
import { decodeMessage, refusedMessage } from './decode-message.ts'

export type StdioOptions = {
  /** The longest line that is taken. Default 32 MiB. */
  maxLineBytes?: number
}

const defaultLineBytes = 32 * 1024 * 1024

export function stdioStream(input: Readable, output: Writable, options: StdioOptions = {}): Stream {
  const { maxLineBytes: maxBytes = defaultLineBytes } = options
  let sending = Promise.resolve()
  const send = (message: unknown): Promise<void> => {
    const sent = sending.then(() => writeLine(output, JSON.stringify(message)))
    sending = sent.catch(() => {})
    return sent
  }
  const refuse = (error: RequestError): Promise<void> => send(refusedMessage(error)).catch(() => {})
  // The bytes of a line were counted; replaced ones may have become three each.
  const limits = { maxBytes: maxBytes * 3, maxDepth: 256 }
  return {
    writable: new WritableStream<AnyMessage>({ write: send }),
    readable: new ReadableStream<AnyMessage>({
      async start(controller) {
        try {
          for await (const line of readLines(input, maxBytes)) {
            if (line?.trim() === '') continue
            const message = line === undefined ? tooLong(maxBytes) : await decodeMessage(line, limits)
            if (message instanceof RequestError) await refuse(message)
            else controller.enqueue(message)
          }
          controller.close()
        } catch (error) {
          controller.error(error)
        }
      },
      cancel() {
        input.destroy()
      },
    }),
  }
}

/** The lines of a byte stream. Undefined stands for a line that is too long; its bytes are not kept. */
async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<string | undefined> {
  let held: Buffer[] = []
  let size = 0
  const take = (bytes: Buffer): void => {
    size += bytes.length
    if (size > maxBytes) held = []
    else held.push(bytes)
  }
  // No encoding is set, so the stream gives bytes.
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      take(chunk.subarray(start, end))
      yield size > maxBytes ? undefined : Buffer.concat(held).toString('utf8')
      held = []
      size = 0
      start = end + 1
    }
    take(chunk.subarray(start))
  }
}

function tooLong(maxBytes: number): RequestError {
  return RequestError.invalidRequest(undefined, `A message of more than ${maxBytes} bytes is not taken.`)
}

/** Resolves when the line was written. Rejects if the client is gone. */
function writeLine(output: Writable, line: string): Promise<void> {
  if (output.destroyed) return Promise.reject(new Error('The client is gone.'))
  return new Promise((resolve, reject) => {
    output.write(`${line}\n`, error => (error ? reject(error) : resolve()))
  })
}
