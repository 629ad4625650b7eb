// Messages over a WebSocket, one in each text frame. A frame that is not JSON is answered with an error and skipped; a
// client that sends faster than its frames are read, or does not read what it is sent, is dropped.
import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk'
import type { Socket } from '../../lib/net/socket.ts'
import type { WireHost } from '../host.ts'
import { FrameQueue } from '../http/frame-queue.ts'
import { decodeMessage, refusedMessage } from './decode-message.ts'

const pollMs = 20

export function socketStream(socket: Socket, limits: WireHost['limits']): Stream {
  const output = new SocketOutput(socket, limits)
  const frames = new FrameQueue(socket, limits.bodyBytes)
  /** The reader has left: the stream is closed already. */
  let cancelled = false
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      const take = async (text: string | undefined): Promise<void> => {
        const message =
          text === undefined
            ? RequestError.invalidRequest(undefined, 'Send text frames: binary frames are not taken.')
            : await decodeMessage(text, { maxBytes: limits.bodyBytes, maxDepth: limits.jsonDepth })
        if (output.closed) return
        if (message instanceof RequestError) await output.send(refusedMessage(message))
        else controller.enqueue(message)
      }
      socket.on('message', (data, binary) => {
        const text = binary ? undefined : data.toString()
        frames.add(text?.length ?? 0, () => take(text).catch(() => socket.terminate()))
      })
      socket.on('close', () => {
        output.closed = true
        // Frames that have arrived are read first.
        frames.afterAll(() => {
          if (!cancelled) controller.close()
        })
      })
    },
    cancel: () => {
      cancelled = true
      socket.close(1000)
    },
  })
  return { readable, writable: new WritableStream<AnyMessage>({ write: message => output.send(message) }) }
}

class SocketOutput {
  readonly #socket: Socket
  readonly #limits: WireHost['limits']
  closed = false

  constructor(socket: Socket, limits: WireHost['limits']) {
    this.#socket = socket
    this.#limits = limits
  }

  /** Resolves when the client has little left to read. Rejects if it is gone. */
  async send(message: unknown): Promise<void> {
    if (this.closed) throw new Error('The client is gone.')
    this.#socket.send(JSON.stringify(message))
    const { unsentBytes, stallMs = 30_000 } = this.#limits
    let least = this.#socket.bufferedAmount
    for (let waited = 0; this.#socket.bufferedAmount > unsentBytes && !this.closed; waited += pollMs) {
      if (this.#socket.bufferedAmount < least) waited = 0
      least = Math.min(least, this.#socket.bufferedAmount)
      if (waited >= stallMs) this.#socket.terminate()
      await new Promise(resolve => setTimeout(resolve, pollMs))
    }
  }
}
