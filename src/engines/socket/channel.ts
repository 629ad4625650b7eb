// A channel carries plain data between two processes, in order. This one runs over any duplex stream of bytes: each
// message is a structured clone (V8's own format, so that `undefined` members, lone surrogates and large texts survive)
// behind its length. protocol.ts defines the messages.
import type { Duplex } from 'node:stream'
import { deserialize, serialize } from 'node:v8'

/** Contract: messages arrive whole and in order. `closed` resolves once, however the channel ends. */
export type Channel = {
  send(message: unknown): void
  /** Set once, before anything can arrive. */
  onMessage(take: (message: unknown) => void): void
  /** Sends what was given before, then closes. */
  close(): void
  /** Closes at once: the peer does not answer. */
  cut(): void
  readonly closed: Promise<void>
  /** False: waiting for messages must not keep this process alive. */
  keepAlive(on: boolean): void
}

const lengthBytes = 4
const mostBytes = 2 ** 30

/** `keepAlive` switches streams that can be (sockets); others ignore it. */
export function streamChannel(stream: Duplex & { ref?(): unknown; unref?(): unknown }): Channel {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let take: (message: unknown) => void = () => {}
  let isClosing = false
  let isCorked = false
  const flush = (): void => {
    if (!isCorked) return
    isCorked = false
    stream.uncork()
  }
  const frames = new FrameReader()
  stream.on('data', (bytes: Buffer) => {
    try {
      for (const frame of frames.read(bytes)) take(deserialize(frame))
    } catch {
      // The peer does not speak this format. Nothing that follows can be trusted.
      stream.destroy()
    }
  })
  stream.on('error', () => stream.destroy())
  stream.once('end', () => stream.end())
  stream.once('close', () => resolve())
  return {
    closed,
    onMessage: given => {
      take = given
    },
    send: message => {
      if (stream.destroyed || stream.writableEnded) return
      const body = serialize(message)
      const head = Buffer.allocUnsafe(lengthBytes)
      head.writeUInt32BE(body.length)
      if (!isCorked) {
        // Messages of one turn of the event loop are one write, because each write costs much to encrypt and send.
        isCorked = true
        stream.cork()
        setImmediate(flush)
      }
      stream.write(head)
      stream.write(body)
    },
    close: () => {
      flush()
      // Closing takes a moment, for which the process has to live.
      isClosing = true
      stream.ref?.()
      stream.end()
      // A peer that does not close its end must not hold this one open.
      setTimeout(() => stream.destroy(), 1000).unref()
    },
    cut: () => void stream.destroy(),
    keepAlive: on => void (on || isClosing ? stream.ref?.() : stream.unref?.()),
  }
}

/** Cuts a stream of bytes into frames. */
class FrameReader {
  #chunks: Buffer[] = []
  #held = 0
  /** Of the frame that is being read; undefined until its length is known. */
  #length: number | undefined;

  *read(bytes: Buffer): Generator<Buffer> {
    this.#chunks.push(bytes)
    this.#held += bytes.length
    for (;;) {
      if (this.#length === undefined) {
        if (this.#held < lengthBytes) return
        this.#length = this.#take(lengthBytes).readUInt32BE()
        if (this.#length > mostBytes) throw new Error('A frame is too long.')
      }
      if (this.#held < this.#length) return
      const frame = this.#take(this.#length)
      this.#length = undefined
      yield frame
    }
  }

  /** Chunks are joined only once they hold what is asked for. */
  #take(length: number): Buffer {
    const [first] = this.#chunks
    const bytes = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks, this.#held)
    const rest = bytes.subarray(length)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#held = rest.length
    return bytes.subarray(0, length)
  }
}
