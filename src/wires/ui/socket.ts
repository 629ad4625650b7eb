// The chats of one page over a WebSocket, as the SDK's `WebSocketChatTransport` speaks it: several requests at the same time, each
// with its id. A message is resumed from its start, as this transport wants it, or after a chunk that the client names. A socket that
// closes ends no turn, as it may be lost: `abort` does.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject } from '../../lib/json/index.ts'
import { parseTextSoon } from '../../lib/json/parse-soon.ts'
import type { Socket } from '../../lib/net/socket.ts'
import type { Principal, WireHost } from '../host.ts'
import { FrameQueue } from '../http/frame-queue.ts'
import { toFailure } from '../http/index.ts'
import type { Asking, Chats, OpenMessage } from './chats.ts'
import { decodeChatRequest } from './decode.ts'
import { MessageEncoder } from './encode.ts'
import type { Chunk } from './schema.ts'
import { AfterPlace, type Place, type SentMessage, type SentMessages } from './sent-messages.ts'

export type UiSocketHost = { host: WireHost; chats: Chats; sent: SentMessages }

export function uiSocket(shared: UiSocketHost, socket: Socket, principal: Principal, agent: string): void {
  const client = new UiSocket(shared, socket, principal, agent)
  socket.on('message', (data, binary) => client.take(binary ? undefined : data.toString()))
  socket.on('close', () => client.leave())
}

/** Requests of one socket that may be answered at the same time. */
const mostOpen = 32

/**
 * `isStopped`: by its client. Otherwise it ends with its socket, and its turn goes on. `fromStart`: the SDK aborts such a request
 * also when it resumes the message once more, so that is no stop.
 */
type OpenRequest = { gone: AbortController; isStopped: boolean; fromStart: boolean }

/** `after`: only what comes after this place, as chunks that are numbered from `first` on. */
type ShownMessage = { opened: OpenMessage; sent: SentMessage | undefined; after?: Place; first?: number }

class UiSocket {
  readonly #host: WireHost
  readonly #chats: Chats
  readonly #sent: SentMessages
  readonly #socket: Socket
  readonly #asking: Asking
  readonly #frames: FrameQueue
  /** By request. */
  readonly #open = new Map<string, OpenRequest>()

  constructor({ host, chats, sent }: UiSocketHost, socket: Socket, principal: Principal, agent: string) {
    this.#host = host
    this.#chats = chats
    this.#sent = sent
    this.#socket = socket
    this.#asking = { engine: host.engineFor(principal), principal, agent }
    this.#frames = new FrameQueue(socket, host.limits.bodyBytes)
  }

  take(text: string | undefined): void {
    this.#frames.add(text?.length ?? 0, () => this.#handle(text))
  }

  leave(): void {
    for (const { gone } of this.#open.values()) gone.abort()
    this.#open.clear()
  }

  /** Never rejects. A request is answered beside the frames that follow. */
  async #handle(text: string | undefined): Promise<void> {
    let requestId = ''
    try {
      const frame = await this.#read(text)
      requestId = typeof frame['requestId'] === 'string' ? frame['requestId'] : ''
      if (requestId === '') throw bad('requestId must be a text.')
      if (frame['type'] === 'abort') this.#stop(requestId)
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

  /** Ends the turn that the request shows, unless that was resumed from its start. */
  #stop(requestId: string): void {
    const request = this.#open.get(requestId)
    if (!request) return
    request.isStopped = !request.fromStart
    request.gone.abort()
  }

  async #answer(requestId: string, frame: JsonObject): Promise<void> {
    const fromStart = frame['type'] === 'resume' && frame['lastSequence'] == null
    const request: OpenRequest = { gone: new AbortController(), isStopped: false, fromStart }
    const { signal } = request.gone
    try {
      if (this.#open.has(requestId)) throw bad('This requestId is in use.')
      if (this.#open.size >= mostOpen) throw bad(`A socket has at most ${mostOpen} open requests.`)
      this.#open.set(requestId, request)
      const shown = frame['type'] === 'resume' ? await this.#resume(frame) : await this.#begin(frame, signal)
      if (!shown) this.#send({ type: 'no-active', requestId })
      else await this.#show(requestId, shown, request)
    } catch (error) {
      if (!signal.aborted) this.#fail(requestId, error)
    } finally {
      if (this.#open.get(requestId) === request) this.#open.delete(requestId)
    }
  }

  async #begin(frame: JsonObject, signal: AbortSignal): Promise<ShownMessage> {
    const { id, messages, trigger, messageId, body } = frame
    const more = isJsonObject(body) ? body : {}
    const fields = { id, messages, trigger, messageId } as JsonObject // Members that are absent are left out below.
    for (const [name, value] of Object.entries(fields)) if (value === undefined) delete fields[name]
    const opened = await this.#chats.open(this.#asking, decodeChatRequest({ ...more, ...fields }), signal)
    return { opened, sent: this.#sent.begin(opened) }
  }

  async #resume({ id, lastSequence }: JsonObject): Promise<ShownMessage | undefined> {
    if (typeof id !== 'string') throw bad('id must be a text.')
    if (lastSequence != null) return this.#resumeAfter(id, lastSequence)
    const opened = await this.#chats.resume(this.#asking, id)
    return opened && { opened, sent: this.#sent.beginAgain(opened) }
  }

  async #resumeAfter(id: string, sequence: Json): Promise<ShownMessage> {
    if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 0)
      throw bad('lastSequence must be a whole number from 0 up.')
    const { session } = await this.#chats.find(this.#asking, id)
    const found = this.#sent.resume(session, sequence)
    if (!found) throw fromStart()
    const opened = this.#chats.again(this.#asking, found.sent.opened)
    return { opened, ...found, first: sequence + 1 }
  }

  async #show(
    requestId: string,
    { opened, sent, after, first = 0 }: ShownMessage,
    request: OpenRequest,
  ): Promise<void> {
    const encoder = new MessageEncoder(opened.message)
    const skipping = after && new AfterPlace(after)
    let sequence = first
    const send = (chunks: readonly Chunk[]): void => {
      const rest = skipping ? skipping.take(chunks) : chunks
      if (!rest) throw fromStart()
      for (const chunk of rest) {
        sent?.add(chunk)
        this.#send({ type: 'chunk', requestId, sequence: sequence++, chunk })
      }
    }
    const { signal } = request.gone
    this.#send({ type: 'start', requestId })
    send(encoder.begin())
    for await (const batch of opened.items(signal, () => !request.isStopped)) {
      for (const item of batch) send(encoder.take(item))
      await this.#ready(signal)
    }
    if (signal.aborted) return
    send(encoder.end())
    if (skipping && !skipping.isReached) throw fromStart()
    if (sent) sent.isOver = true
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

function fromStart(): TurnwireError {
  return bad(
    'The message cannot be resumed after this chunk. Leave out lastSequence: then it is sent from its start.',
  )
}

function bad(message: string): TurnwireError {
  return new TurnwireError('bad_request', message)
}
