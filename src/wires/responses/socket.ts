// Responses over a WebSocket: each `response.create` is answered with the events of its stream, one after another. The
// connection remembers the conversation of its last responses, so that they can be continued although they are not stored.
// Authentication happens before a socket gets here.

import { OpenAiRefusal, refuseParameter } from '../../apis/openai/refusal.ts'
import type { FollowItem, OnceAnswer, OnceItem } from '../../engine/index.ts'
import { type Entry, listCalls } from '../../language/history.ts'
import { isJsonObject, JsonError, type JsonObject } from '../../lib/json/index.ts'
import { parseTextSoon } from '../../lib/json/parse-soon.ts'
import type { Socket } from '../../lib/net/socket.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { Principal, WireHost } from '../host.ts'
import { FrameQueue } from '../http/frame-queue.ts'
import { toFailure } from '../http/index.ts'
import type { ResponsesCaller } from './caller.ts'
import { decodeRequest, type ResponsesRequest } from './decode.ts'
import { decodeHistory } from './decode-items.ts'
import { ResponseEncoder } from './encode.ts'
import { responseId } from './ids.ts'
import { prepareOnce, type ReadInput, readHistory, readItems } from './once.ts'
import { type ActiveResponse, Steering } from './steering.ts'
import { acceptRequest, type Conversation } from './stored.ts'
import { findSuccessor, type StoredResponse, storedEncoder } from './stored-log.ts'
import { failureBody, field, unsupportedParameter } from './wordings.ts'

/** Responses of a connection that can be continued although they are not stored. */
const mostRemembered = 4
const longestConnectionMs = 60 * 60 * 1000

export function responsesSocket(
  host: WireHost,
  socket: Socket,
  principal: Principal,
  connectionMs = longestConnectionMs,
): void {
  const client = new ResponsesSocket(host, socket, principal)
  const timer = setTimeout(() => client.expire(), connectionMs)
  timer.unref()
  socket.on('message', (data, binary) => client.take(binary ? undefined : data.toString()))
  socket.on('close', () => {
    clearTimeout(timer)
    client.leave()
  })
}

type Items = AsyncIterable<readonly (FollowItem | OnceItem)[]>

/** One `response.create`. `before`: the conversation that it continues, if it is remembered here. `mark`: its stream id. */
type FrameRequest = {
  request: ResponsesRequest
  read: ReadInput
  before: Conversation | undefined
  mark: string | undefined
}

class ResponsesSocket {
  readonly #caller: ResponsesCaller
  readonly #socket: Socket
  readonly #newId = randomIds()
  readonly #gone = new AbortController()
  readonly #frames: FrameQueue
  readonly #steers: FrameQueue
  readonly #steering: Steering
  /** By response id, oldest first. */
  readonly #remembered = new Map<string, Conversation>()

  constructor(host: WireHost, socket: Socket, principal: Principal) {
    const { owner, name } = principal
    this.#caller = { host, engine: host.engineFor(principal), owner, name }
    this.#socket = socket
    this.#steering = new Steering(this.#caller, frame => this.#send(JSON.stringify(frame)))
    this.#frames = new FrameQueue(socket, host.limits.bodyBytes)
    this.#steers = new FrameQueue(socket, host.limits.bodyBytes)
  }

  /** `undefined`: a binary frame. */
  take(text: string | undefined): void {
    // It concerns the response under way, so it does not wait for its end.
    if (text?.includes('response.steer')) {
      this.#steers.add(text.length, () => this.#steerNow(text))
      return
    }
    this.#frames.add(text?.length ?? 0, async () => {
      if (!this.#gone.signal.aborted) await this.#handle(text)
    })
  }

  leave(): void {
    this.#gone.abort()
    this.#remembered.clear()
  }

  /** Closes the connection at its time limit. Earlier requests are still answered. */
  expire(): void {
    this.#frames.afterAll(() => {
      const message = 'This connection has reached its time limit. Open a new one.'
      this.#fail(new OpenAiRefusal(message, null, 'websocket_connection_limit_reached'), {})
      this.#socket.close(1000, 'The time limit of a connection is reached.')
    })
  }

  // ---- frames -----------------------------------------------------------------------------------------------

  /** Never rejects. */
  async #handle(text: string | undefined): Promise<void> {
    let frame: JsonObject = {}
    try {
      frame = await this.#read(text)
      const type = field.text(frame['type'], 'type')
      if (type === 'response.create') await this.#create(frame)
      // A client's note that it has read a response.
      else if (type !== 'response.processed')
        refuseParameter(`Unknown event type. Send 'response.create'.`, 'type', 'unknown_event')
    } catch (error) {
      this.#fail(error, frame)
    }
  }

  async #read(text: string | undefined): Promise<JsonObject> {
    if (text === undefined) refuseParameter('Send text frames with JSON.', null, 'invalid_frame')
    const { bodyBytes, jsonDepth } = this.#caller.host.limits
    try {
      const frame = await parseTextSoon(text, { maxBytes: bodyBytes, maxDepth: jsonDepth })
      if (isJsonObject(frame)) return frame
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      refuseParameter(error.message, null, 'invalid_json')
    }
    return refuseParameter('A frame must be a JSON object.', null, 'invalid_json')
  }

  #fail(error: unknown, { previous_response_id: previous, stream_id }: JsonObject): void {
    // A continuation that failed is not tried again from memory: its client sends the whole conversation.
    if (typeof previous === 'string') this.#remembered.delete(previous)
    const failure = toFailure(error, this.#caller.host.log)
    const { retryAfterMs } = failure
    const headers = retryAfterMs !== undefined && {
      headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
    }
    const { error: shown } = failureBody(failure, error)
    this.#send(
      JSON.stringify({
        type: 'error',
        status: failure.status,
        error: shown,
        ...headers,
        ...(typeof stream_id === 'string' && { stream_id }),
      }),
    )
  }

  /** Never rejects. A frame that only mentions the word takes its turn among the others. */
  async #steerNow(text: string): Promise<void> {
    try {
      const frame = await this.#read(text)
      if (frame['type'] === 'response.steer') await this.#steering.steer(frame)
      else this.#frames.add(text.length, () => this.#handle(text))
    } catch (error) {
      this.#fail(error, {})
    }
  }

  #send(text: string): void {
    // A client that does not read is dropped.
    if (this.#socket.bufferedAmount > this.#caller.host.limits.unsentBytes) this.#socket.terminate()
    else if (!this.#gone.signal.aborted) this.#socket.send(text)
  }

  // ---- responses ----------------------------------------------------------------------------------------------

  async #create(frame: JsonObject): Promise<void> {
    const { type: _, generate, stream_id, ...body } = frame
    for (const name of ['stream_options', 'background'])
      if (body[name] !== undefined) unsupportedParameter(name)
    const request = decodeRequest(this.#caller.host, { ...body, stream: true }, undefined)
    const read = await readItems(this.#caller, request)
    const mark = typeof stream_id === 'string' ? stream_id : undefined
    const before = request.previous === undefined ? undefined : this.#remembered.get(request.previous)
    const frameRequest = { request, read, before, mark }
    if (generate === false) await this.#prepareOnly(frameRequest)
    else if (request.stored && !request.compacts) await this.#answerStored(frameRequest)
    else await this.#answerOnce(frameRequest)
  }

  /** Nothing is asked of the model. The response can be continued like any other. */
  async #prepareOnly(given: FrameRequest): Promise<void> {
    const { id, history, encoder } = await this.#prepare(given)
    this.#sendLines(encoder.begin(), given.mark)
    encoder.take({ type: 'ended' })
    this.#sendLines(encoder.end(), given.mark)
    this.#remember(id, { entries: history, calls: [] })
  }

  async #answerOnce(given: FrameRequest): Promise<void> {
    const { id, history, encoder, once } = await this.#prepare(given)
    const answers: OnceAnswer[] = []
    const items = this.#caller.engine.answerOnce({ ...once, deltas: 'fail' }, this.#gone.signal)
    const active = this.#steering.begin(id, given.request.agent.name, given.mark)
    await this.#show(items, encoder, given.mark, item => {
      if (item.type === 'answer') answers.push(item.answer)
    }).finally(() => this.#steering.end(active))
    const [answer] = answers
    if (!answer || given.request.compacts) return
    const { parts, origin, continuity } = answer
    const kept = parts.filter(part => part.type !== 'call' || !part.cut)
    const said: Entry = {
      role: 'assistant',
      parts: kept,
      ...(origin && { origin }),
      ...(continuity && { continuity }),
    }
    const calls = listCalls(said).map(part => ({ part }))
    this.#remember(id, { entries: kept.length > 0 ? [...history, said] : history, calls })
  }

  async #prepare({ request, read: { items }, before }: FrameRequest) {
    const history = before
      ? [...before.entries, ...decodeHistory(items, before.calls)]
      : await readHistory(this.#caller, request.previous, items)
    const session = this.#newId('sess')
    const { once, options } = prepareOnce(this.#caller, request, history, session)
    const encoder = new ResponseEncoder({ ...options, after: -1, form: 'lines' })
    return { id: responseId({ session, first: 1 }), history, encoder, once }
  }

  async #answerStored({ request, read, before, mark }: FrameRequest): Promise<void> {
    const caller = this.#caller
    const { host, engine } = caller
    const key = { key: this.#newId('req'), hash: '' }
    const response = await acceptRequest({ caller, request, ...read, before, key, isRepeatable: false })
    const encoder = storedEncoder(host.about.agents, response, -1, 'lines')
    const { ref, first } = response
    const withdraw = this.#caller.name
    let isOver = false
    const cancel = (): void => {
      if (!request.goesOn && !isOver) void engine.command(ref, { do: 'cancel', withdraw }).catch(() => {})
    }
    const { signal } = this.#gone
    signal.addEventListener('abort', cancel)
    try {
      const id = responseId({ session: ref.session, first })
      const active = this.#steering.begin(id, request.agent.name, mark, ref)
      await this.#showActive(active, response, encoder, mark)
      isOver = true
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** The response, and those that messages begin which steer it or come too late for that. */
  async #showActive(
    active: ActiveResponse,
    response: StoredResponse,
    encoder: ResponseEncoder,
    mark: string | undefined,
  ): Promise<void> {
    const { ref, first } = response
    const { signal } = this.#gone
    let last = first
    try {
      const items = this.#caller.engine.follow(ref, { from: first, until: 'stop', deltas: 'fail' }, signal)
      await this.#show(items, encoder, mark, item => {
        if (item.type !== 'event') return
        last = item.seq
        this.#steering.take(active, item.event)
      })
    } finally {
      this.#steering.end(active)
    }
    const isSteered = await this.#steering.settle(active)
    const next = isSteered && (await findSuccessor(this.#caller.engine, response, last))
    if (!next || signal.aborted) return
    const id = responseId({ session: ref.session, first: next.first })
    const following = this.#steering.goOn(active, id)
    const successor = storedEncoder(this.#caller.host.about.agents, next, -1, 'lines')
    await this.#showActive(following, next, successor, mark)
  }

  /** Rejects if the items fail before the first of them is shown. */
  async #show(
    items: Items,
    encoder: ResponseEncoder,
    mark: string | undefined,
    heard?: (item: FollowItem | OnceItem) => void,
  ): Promise<void> {
    const begin = encoder.begin()
    let shown = false
    try {
      for await (const batch of items) {
        let lines = ''
        for (const item of batch) {
          lines += encoder.take(item)
          if (!encoder.steered) heard?.(item)
        }
        if (lines === '') continue
        this.#sendLines(shown ? lines : begin + lines, mark)
        shown = true
        if (encoder.steered) break
        await this.#ready()
      }
      this.#sendLines(shown ? encoder.end() : begin + encoder.end(), mark)
    } catch (error) {
      if (!shown) throw error
      this.#sendLines(encoder.fail(toFailure(error, this.#caller.host.log)), mark)
    }
  }

  #sendLines(lines: string, mark: string | undefined): void {
    for (const line of lines.split('\n'))
      if (line !== '')
        this.#send(mark === undefined ? line : `{"stream_id":${JSON.stringify(mark)},${line.slice(1)}`)
  }

  /** Waits while the client has much to read. One that reads nothing is dropped by the stall time. */
  async #ready(): Promise<void> {
    const { unsentBytes, stallMs = 30_000 } = this.#caller.host.limits
    const { signal } = this.#gone
    for (let waited = 0; this.#socket.bufferedAmount > unsentBytes / 2 && !signal.aborted; waited += 20) {
      if (waited >= stallMs) this.#socket.terminate()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  #remember(id: string, conversation: Conversation): void {
    this.#remembered.set(id, conversation)
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size > mostRemembered && oldest !== undefined) this.#remembered.delete(oldest)
  }
}
