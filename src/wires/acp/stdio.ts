// Newline-delimited JSON over a pipe. A line that is too long, or is not JSON, gets the protocol's error and costs only
// itself: the lines after it are read as if it had not been there.
import type { Readable, Writable } from 'node:stream'
import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk'
import { isJsonObject, JsonError, parseJson } from '../../lib/json.ts'

export type StdioOptions = {
  /** The longest line that is taken. Default 32 MiB. */
  maxLineBytes?: number
}

const MiB = 1024 * 1024
const LF = 0x0a

export function stdioStream(input: Readable, output: Writable, options: StdioOptions = {}): Stream {
  const { maxLineBytes = 32 * MiB } = options
  let sending = Promise.resolve()
  const send = (message: unknown): Promise<void> => {
    const sent = sending.then(() => write(output, `${JSON.stringify(message)}\n`))
    sending = sent.catch(() => {})
    return sent
  }
  const refuse = (error: RequestError): Promise<void> =>
    send({ jsonrpc: '2.0', id: null, error: error.toErrorResponse() }).catch(() => {})
  return {
    readable: readable(input, maxLineBytes, refuse),
    writable: new WritableStream<AnyMessage>({ write: send }),
  }
}

function readable(
  input: Readable,
  maxLineBytes: number,
  refuse: (error: RequestError) => Promise<void>,
): ReadableStream<AnyMessage> {
  return new ReadableStream<AnyMessage>({
    async start(controller) {
      const lines = new Lines(maxLineBytes)
      try {
        for await (const chunk of input) {
          for (const line of lines.push(chunk as Buffer)) {
            // A pipe gives bytes, as no encoding is set.
            const message = line === 'too long' ? tooLong(maxLineBytes) : decode(line, maxLineBytes)
            if (message instanceof RequestError) await refuse(message)
            else if (message) controller.enqueue(message)
          }
        }
        controller.close()
      } catch (error) {
        controller.error(error)
      }
    },
    cancel() {
      input.destroy()
    },
  })
}

/** Cuts bytes into lines and forgets what a line holds beyond the limit. */
class Lines {
  readonly #max: number
  #held: Buffer[] = []
  #size = 0

  constructor(max: number) {
    this.#max = max
  }

  *push(chunk: Buffer): Generator<Buffer | 'too long'> {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#take(chunk.subarray(start, end))
      yield this.#size > this.#max ? 'too long' : Buffer.concat(this.#held)
      this.#held = []
      this.#size = 0
      start = end + 1
    }
    this.#take(chunk.subarray(start))
  }

  #take(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > this.#max) this.#held = []
    else if (bytes.length > 0) this.#held.push(bytes)
  }
}

function decode(line: Buffer, maxBytes: number): AnyMessage | RequestError | undefined {
  const text = line.toString('utf8').trim()
  if (text === '') return undefined
  try {
    const message = parseJson(text, { maxBytes: maxBytes * 3, maxDepth: 256 })
    if (Array.isArray(message))
      return RequestError.invalidRequest(undefined, 'Batches are not part of the protocol.')
    // That it is a message is for the SDK to check, which answers if it is none.
    if (isJsonObject(message)) return message as AnyMessage
    return RequestError.invalidRequest(undefined, 'A message is a JSON object.')
  } catch (error) {
    return RequestError.parseError(
      undefined,
      error instanceof JsonError ? error.message : 'This is not JSON.',
    )
  }
}

function tooLong(maxBytes: number): RequestError {
  return RequestError.invalidRequest(undefined, `A message of more than ${maxBytes} bytes is not taken.`)
}

/** Waits while the other side does not read, and ends when it never will again. */
function write(output: Writable, line: string): Promise<void> {
  if (output.destroyed) return Promise.reject(new Error('The client is gone.'))
  return new Promise((resolve, reject) => {
    output.write(line, error => (error ? reject(error) : resolve()))
  })
}
