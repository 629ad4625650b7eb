// The chats of one page over a WebSocket, as the SDK's `WebSocketChatTransport` speaks it: several requests at the same time, each
// with its id. A message that is resumed is sent again from its start, as this transport wants it.
import type { Engine } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, JsonError, type JsonObject } from '../../lib/json/index.ts'
import { parseTextSoon } from '../../lib/json/parse-soon.ts'
import type { Socket } from '../../lib/net/socket.ts'
import type { Principal, WireHost } from '../host.ts'
import { FrameQueue } from '../http/frame-queue.ts'
import { toFailure } from '../http/index.ts'
import type { Chats, OpenMessage } from './chats.ts'
import { decodeChatRequest } from './decode.ts'
import { MessageEncoder } from './encode.ts'
import type { Chunk } from './schema.ts'

export function uiSocket(
  host: WireHost,
  chats: Chats,
  socket: Socket,
  principal: Principal,
  agent: string,
): void {
  const client = new UiSocket(host, chats, socket, principal, agent)
  socket.on('message', (data, binary) => client.take(binary ? undefined : data.toString()))
  socket.on('close', () => client.leave())
}

/** Requests of one socket that may be answered at the same time. */
const mostOpen = 32

class UiSocket {
  readonly #host: WireHost
  readonly #chats: Chats
  readonly #socket: Socket
  readonly #principal: Principal
  readonly #agent: string
  readonly #engine: Engine
  readonly #frames: FrameQueue
  /** By request. */
  readonly #open = new Map<string, AbortController>()

  constructor(host: WireHost, chats: Chats, socket: Socket, principal: Principal, agent: string) {
    this.#host = host
    this.#chats = chats
    this.#socket = socket
    this.#principal = principal
    this.#agent = agent
    this.#engine = host.engineFor(principal)
    this.#frames = new FrameQueue(socket, host.limits.bodyBytes)
  }

  take(text: string | undefined): void {
    this.#frames.add(text?.length ?? 0, () => this.#handle(text))
  }

  leave(): void {
    for (const open of this.#open.values()) open.abort()
    this.#open.clear()
  }

  /** Never rejects. A request is answered beside the frames that follow. */
  async #handle(text: string | undefined): Promise<void> {
    let requestId = ''
    try {
      const frame = await this.#read(text)
      requestId = typeof frame['requestId'] === 'string' ? frame['requestId'] : ''
      if (requestId === '') throw bad('requestId must be a text.')
      if (frame['type'] === 'abort') this.#open.get(requestId)?.abort()
      else if (frame['type'] === 'send' || frame['type'] === 'resume') void this.#answer(requestId, frame)
      else throw bad('type must be "send", "resume" or "abort".')
    } catch (error) {
      this.#fail(requestId, error)
    }
  }

  async #read(text: string | undefined): Promise<JsonObject> {
    const { bodyBytes, jsonDepth } = this.#host.limits
    try {
      const frame = await parseTextSoon(text ?? '', { maxBytes: bodyBytes, maxDepth: jsonDepth })
      if (isJsonObject(frame)) return frame
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      throw bad(error.message)
    }
    throw bad('A frame must be a JSON object.')
  }

  async #answer(requestId: string, frame: JsonObject): Promise<void> {
    const stop = new AbortController()
    try {
      if (this.#open.has(requestId)) throw bad('This requestId is in use.')
      if (this.#open.size >= mostOpen) throw bad(`A socket has at most ${mostOpen} open requests.`)
      this.#open.set(requestId, stop)
      const opened = await this.#opened(frame, stop.signal)
      if (!opened) this.#send({ type: 'no-active', requestId })
      else await this.#show(requestId, opened, stop.signal)
    } catch (error) {
      if (!stop.signal.aborted) this.#fail(requestId, error)
    } finally {
      if (this.#open.get(requestId) === stop) this.#open.delete(requestId)
    }
  }

  #opened(frame: JsonObject, signal: AbortSignal): Promise<OpenMessage | undefined> {
    const asking = { engine: this.#engine, principal: this.#principal, agent: this.#agent }
    const { id, messages, trigger, messageId, body } = frame
    if (frame['type'] === 'resume') {
      if (typeof id !== 'string') throw bad('id must be a text.')
      if (frame['lastSequence'] != null)
        throw bad('A message is resumed from its start: leave out lastSequence.')
      return this.#chats.resume(asking, id)
    }
    const more = isJsonObject(body) ? body : {}
    const fields = { id, messages, trigger, messageId } as JsonObject // Members that are absent are left out below.
    for (const [name, value] of Object.entries(fields)) if (value === undefined) delete fields[name]
    return this.#chats.open(asking, decodeChatRequest({ ...more, ...fields }), signal)
  }

  async #show(requestId: string, { message, items }: OpenMessage, signal: AbortSignal): Promise<void> {
    const encoder = new MessageEncoder(message)
    let sequence = 0
    const send = (chunks: readonly Chunk[]): void => {
      for (const chunk of chunks) this.#send({ type: 'chunk', requestId, sequence: sequence++, chunk })
    }
    this.#send({ type: 'start', requestId })
    send(encoder.begin())
    for await (const batch of items(signal)) {
      for (const item of batch) send(encoder.take(item))
      await this.#ready(signal)
    }
    if (signal.aborted) return
    send(encoder.end())
    this.#send({ type: 'end', requestId })
  }

  #fail(requestId: string, error: unknown): void {
    const { message } = toFailure(error, this.#host.log)
    this.#send({ type: 'error', requestId, errorText: message })
  }

  #send(frame: object): void {
    // A client that does not read is dropped.
    if (this.#socket.bufferedAmount > this.#host.limits.unsentBytes) this.#socket.terminate()
    else this.#socket.send(JSON.stringify(frame))
  }

  /** Waits while the client has much to read. One that reads nothing is dropped by the stall time. */
  async #ready(signal: AbortSignal): Promise<void> {
    const { unsentBytes, stallMs = 30_000 } = this.#host.limits
    for (let waited = 0; this.#socket.bufferedAmount > unsentBytes / 2 && !signal.aborted; waited += 20) {
      if (waited >= stallMs) this.#socket.terminate()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

function bad(message: string): TurnwireError {
  return new TurnwireError('bad_request', message)
}
