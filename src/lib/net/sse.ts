// Server-sent events in both directions: an encoder whose frames no data can break, a writer that sends the frames of one
// event-loop turn in one write and drops a reader that does not read, and a decoder with a maximum event size. It does
// not know what the events mean, and it does not reconnect.

import { createParser, type EventSourceMessage } from 'eventsource-parser'

type SseEvent = { event?: string; id?: string | number; data: string }

/** One frame. Each line of data gets its own prefix. U+2028 and U+2029 do not end a line in this format. */
export function encodeSse({ event, id, data }: SseEvent): string {
  let frame = ''
  if (event !== undefined) frame += `event: ${event}\n`
  if (id !== undefined) frame += `id: ${id}\n`
  if ((event !== undefined && UNSAFE.test(event)) || (typeof id === 'string' && UNSAFE.test(id)))
    throw new TypeError('An event or id of SSE must not contain CR, LF or NUL.')
  const lines = data.includes('\n') || data.includes('\r') ? data.replace(/\r\n|\r|\n/g, '\ndata: ') : data
  return `${frame}data: ${lines}\n\n`
}

const UNSAFE = /[\r\n\0]/

// ---------------------------------------------------------------------------------------------------------
// Writing

/** The part of Node's ServerResponse that the writer uses. */
export type SseSink = {
  write(chunk: string): boolean
  end(): unknown
  destroy(): unknown
  on(event: 'close' | 'drain', listener: () => void): unknown
  off?(event: 'close' | 'drain', listener: () => void): unknown
}

type SseWriterOptions = {
  /** Milliseconds between heartbeats; 0 sends none. */
  heartbeatMs?: number
  /** The frame that is a heartbeat. Default: a comment, which readers ignore. */
  heartbeat?: string
  /** A reader that takes no byte for this long is dropped. */
  stallMs?: number
  /** Bytes that a producer may add while the reader is blocked before the reader is dropped. */
  maxUnsentBytes?: number
  /** Called when the reader did not read. Its connection is destroyed by then. */
  onDrop?: () => void
  /** Called once when the connection is over, whichever side ended it. */
  onClose?: () => void
  /** Closes the connection without the end of the body, after all that was written. Default: as `end`. */
  breakOff?: () => void
}

const DEFAULT_HEARTBEAT_MS = 15_000
const DEFAULT_STALL_MS = 30_000
const DEFAULT_MAX_UNSENT_BYTES = 16 * 1024 * 1024
/** A reader that took bytes within this time counts as reading: it is dropped only far above the cap. */
const STANDS_STILL_MS = 1_000
const FAR_OVER = 4
/** Characters per write. A large frame goes out in pieces, so that every drained piece shows that the reader reads. */
const WRITE_CHARS = 32 * 1024

export class SseWriter {
  readonly #sink: SseSink
  readonly #options: SseWriterOptions
  #pending = ''
  #scheduled = false
  #blocked = false
  #blockedAt = 0
  #ending: 'whole' | 'broken' | undefined
  #closed = false
  #heartbeat: NodeJS.Timeout | undefined
  #stall: NodeJS.Timeout | undefined
  #waiting: (() => void)[] = []

  constructor(sink: SseSink, options: SseWriterOptions = {}) {
    this.#sink = sink
    this.#options = options
    sink.on('close', this.#onClose)
    sink.on('drain', this.#onDrain)
    const ms = options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS
    if (ms > 0) this.#heartbeat = setInterval(() => this.#beat(), ms)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** The producer should await `ready` before it sends more. */
  get full(): boolean {
    return this.#blocked || this.#pending.length >= WRITE_CHARS
  }

  /** Characters that the connection has not taken. */
  get unsent(): number {
    return this.#pending.length
  }

  /** For how long the reader has taken nothing. */
  get blockedMs(): number {
    return this.#blocked ? performance.now() - this.#blockedAt : 0
  }

  /** Queues whole frames. All frames of one turn of the event loop leave in one write. */
  send(frames: string): void {
    if (this.#closed || this.#ending || frames === '') return
    this.#pending += frames
    if (this.#blocked) {
      const { maxUnsentBytes = DEFAULT_MAX_UNSENT_BYTES } = this.#options
      // One frame of any size may follow what the reader has not taken yet.
      const isMuch = this.#pending.length > frames.length && this.#pending.length > maxUnsentBytes
      if (isMuch && (this.blockedMs >= STANDS_STILL_MS || this.#pending.length > FAR_OVER * maxUnsentBytes))
        this.drop()
      return
    }
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** Sends a line that readers ignore. */
  comment(text = ''): void {
    this.send(`:${text.replace(/[\r\n\0]/g, ' ')}\n\n`)
  }

  /** Keeps proxies from closing an idle connection. Heartbeats must not pile up for a reader that does not read. */
  #beat(): void {
    if (this.#blocked) return
    if (this.#options.heartbeat === undefined) this.comment()
    else this.send(this.#options.heartbeat)
  }

  /** Writes what is pending until the connection takes no more. */
  flush(): void {
    this.#scheduled = false
    while (!this.#closed && !this.#blocked && this.#pending !== '') {
      const chunk = firstChars(this.#pending)
      this.#pending = this.#pending.slice(chunk.length)
      this.#blocked = !this.#sink.write(chunk)
    }
    if (this.#blocked && !this.#closed) this.#watchForStall()
  }

  /** Resolves when the reader can take more, or is gone. */
  async ready(): Promise<void> {
    this.flush()
    if (this.#closed || !this.#blocked) return
    await new Promise<void>(resolve => this.#waiting.push(resolve))
  }

  /** Ends the stream after all queued frames. Later frames are ignored. `broken`: the reader is to see it fail. */
  end(how: 'whole' | 'broken' = 'whole'): void {
    if (this.#closed || this.#ending) return
    this.#ending = how
    clearInterval(this.#heartbeat)
    this.flush()
    if (this.#pending === '') this.#finish()
  }

  #finish(): void {
    if (this.#ending === 'broken' && this.#options.breakOff) this.#options.breakOff()
    else this.#sink.end()
  }

  readonly #onDrain = (): void => {
    this.#blocked = false
    clearTimeout(this.#stall)
    this.flush()
    if (!this.#blocked) this.#wake()
    if (this.#ending && this.#pending === '') this.#finish()
  }

  readonly #onClose = (): void => {
    if (this.#closed) return
    this.#closed = true
    this.#pending = ''
    clearInterval(this.#heartbeat)
    clearTimeout(this.#stall)
    this.#sink.off?.('close', this.#onClose)
    this.#sink.off?.('drain', this.#onDrain)
    this.#wake()
    this.#options.onClose?.()
  }

  #watchForStall(): void {
    this.#blockedAt = performance.now()
    clearTimeout(this.#stall)
    this.#stall = setTimeout(() => this.drop(), this.#options.stallMs ?? DEFAULT_STALL_MS)
    this.#stall.unref()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Closes the connection: its reader does not read. */
  drop(): void {
    if (this.#closed) return
    this.#sink.destroy()
    this.#onClose()
    this.#options.onDrop?.()
  }
}

/** The first piece of a text, never half of a surrogate pair. */
function firstChars(text: string): string {
  if (text.length <= WRITE_CHARS) return text
  const isHigh = (text.charCodeAt(WRITE_CHARS - 1) & 0xfc00) === 0xd800
  return text.slice(0, isHigh ? WRITE_CHARS - 1 : WRITE_CHARS)
}

// ---------------------------------------------------------------------------------------------------------
// Reading

export type SseMessage = { event?: string; id?: string; data: string }
type SseLimits = { maxEventChars?: number }

export class SseTooLargeError extends Error {
  override readonly name = 'SseTooLargeError'
}

const DEFAULT_MAX_EVENT_CHARS = 8 * 1024 * 1024

/** An event that the end of the stream cuts off is not yielded, as the format demands. */
export async function* decodeSse(
  stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  limits: SseLimits = {},
): AsyncGenerator<SseMessage, void, undefined> {
  const maxChars = limits.maxEventChars ?? DEFAULT_MAX_EVENT_CHARS
  const decoder = new TextDecoder()
  let ready: SseMessage[] = []
  let tooLarge = false
  let endsInCr = false
  const parser = createParser({
    maxBufferSize: maxChars,
    onEvent: message => {
      if (message.data.length > maxChars) tooLarge = true
      else ready.push(toMessage(message))
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
    },
  })
  for await (const chunk of Symbol.asyncIterator in stream ? stream : readChunks(stream)) {
    const text = decoder.decode(chunk, { stream: true })
    parser.feed(text)
    if (tooLarge) throw new SseTooLargeError(`A server-sent event is larger than ${maxChars} characters.`)
    if (text !== '') endsInCr = text.endsWith('\r')
    if (ready.length === 0) continue
    const messages = ready
    ready = []
    yield* messages
  }
  // The parser holds back a final CR, because an LF could follow. The stream is over, so none does.
  if (endsInCr) parser.feed('\n')
  yield* ready
}

/** For browsers in which a stream is not iterable. */
async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    await reader.cancel()
  }
}

function toMessage({ event, id, data }: EventSourceMessage): SseMessage {
  const message: SseMessage = { data }
  if (event !== undefined) message.event = event
  if (id !== undefined) message.id = id
  return message
}
