// Runs over a WebSocket: a frame starts a run, resumes one, or answers its calls; the run's events come back as frames. A
// socket shows one run at a time. Authentication happens before a socket gets here.
import type { Engine, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, JsonError, type JsonObject } from '../../lib/json/index.ts'
import { parseTextSoon } from '../../lib/json/parse-soon.ts'
import type { Socket } from '../../lib/net/socket.ts'
import type { Principal, WireHost } from '../host.ts'
import { FrameQueue } from '../http/frame-queue.ts'
import { toFailure } from '../http/index.ts'
import { namedSession, sendAnswers, sendMessage, sessionFor } from './commands.ts'
import { decodeAnswered, decodeChat, decodeResume } from './decode.ts'
import { type NumberedEvent, newEvents, RunEncoder } from './encode-run.ts'
import { type BackgroundRun, encodeQueued, findNextRun, findRun, makeRunId } from './runs.ts'
import type { DeltaKitEvent } from './schema.ts'
import { wholeRun } from './serve.ts'

const closeCodes = { unsupported: 1003, crashed: 1011 }

export function deltakitSocket(host: WireHost, socket: Socket, principal: Principal, agent?: string): void {
  const peer = new SocketClient(host, socket, principal, agent)
  socket.on('message', (data, binary) => peer.take(binary ? undefined : data.toString()))
  socket.on('close', () => peer.leave())
}

class SocketClient {
  readonly #host: WireHost
  readonly #engine: Engine
  readonly #socket: Socket
  readonly #principal: Principal
  readonly #agent: string | undefined
  readonly #frames: FrameQueue
  #shown = new AbortController()
  #hasQueued = false

  constructor(host: WireHost, socket: Socket, principal: Principal, agent: string | undefined) {
    this.#host = host
    this.#engine = host.engineFor(principal)
    this.#socket = socket
    this.#principal = principal
    this.#agent = agent
    this.#frames = new FrameQueue(socket, host.limits.bodyBytes)
  }

  /** `undefined`: a binary frame. */
  take(text: string | undefined): void {
    this.#frames.add(text?.length ?? 0, () => this.#handle(text).catch(error => this.#fail(error)))
  }

  /** The run itself goes on. */
  leave(): void {
    this.#shown.abort()
  }

  #fail(error: unknown): void {
    const { code, message } = toFailure(error, this.#host.log)
    this.#send({ type: 'error', message, code })
    if (error instanceof MalformedFrame)
      this.#socket.close(closeCodes.unsupported, 'The frame cannot be read.')
    else if (!(error instanceof TurnwireError)) this.#socket.close(closeCodes.crashed, 'The server failed.')
  }

  #send(event: DeltaKitEvent, number?: number): void {
    // A client that does not read is dropped; it can resume its run.
    if (this.#socket.bufferedAmount > this.#host.limits.unsentBytes) this.#socket.terminate()
    else this.#socket.send(JSON.stringify(number === undefined ? event : { ...event, id: number }))
  }

  // ---- frames -----------------------------------------------------------------------------------------------

  async #handle(text: string | undefined): Promise<void> {
    const frame = await this.#read(text)
    if (frame['results'] !== undefined || frame['approvals'] !== undefined) return this.#answer(frame)
    const known =
      frame['runId'] === undefined || frame['runId'] === null ? undefined : await this.#resume(frame)
    if (known === 'shown') return
    if (frame['message'] === undefined)
      throw new TurnwireError('bad_request', 'Expected either `message` or `runId` in payload')
    await this.#start(frame, known)
  }

  async #read(text: string | undefined): Promise<JsonObject> {
    if (text === undefined)
      throw new MalformedFrame('Send text frames with JSON: binary frames are not taken.')
    const { bodyBytes, jsonDepth } = this.#host.limits
    try {
      const frame = await parseTextSoon(text, { maxBytes: bodyBytes, maxDepth: jsonDepth })
      if (isJsonObject(frame)) return frame
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      throw new MalformedFrame(error.message)
    }
    throw new MalformedFrame('A frame must be a JSON object.')
  }

  async #start(frame: JsonObject, before: BackgroundRun | undefined): Promise<void> {
    const session = before ? { sessionId: before.ref.session } : {}
    const agent = this.#agent === undefined ? {} : { agent: this.#agent }
    const chat = wellFormed(() => decodeChat({ ...session, ...frame, ...agent }))
    const found = await sessionFor(this.#engine, this.#host, this.#principal, chat)
    const { first, message } = await sendMessage(this.#engine, found, chat)
    if (message) {
      this.#hasQueued = true
      this.#send({ type: 'message_queued', ...encodeQueued(found.ref, message) })
      return
    }
    this.#show(found.ref, first, -1)
  }

  /**
   * Shows the run. A client that kept the id of a run sends it with its next message too: if that run is over, the
   * message starts the next one in its session.
   */
  async #resume(frame: JsonObject): Promise<'shown' | BackgroundRun> {
    const { runId, lastEventId } = wellFormed(() => decodeResume(frame))
    const run = await findRun(this.#engine, this.#principal.owner, runId)
    if (!run) throw new TurnwireError('not_found', 'Run not found')
    if (run.ended && frame['message'] !== undefined) return run
    this.#show(run.ref, run.first, lastEventId ?? -1)
    return 'shown'
  }

  async #answer(frame: JsonObject): Promise<void> {
    const { owner, name } = this.#principal
    const { sessionId, runId } = frame
    const run = typeof runId === 'string' ? await findRun(this.#engine, owner, runId) : undefined
    const answered = wellFormed(() =>
      decodeAnswered({ ...frame, sessionId: sessionId ?? run?.ref.session ?? null }),
    )
    if (answered.sessionId === undefined) throw new TurnwireError('not_found', 'Run not found')
    const ref = await namedSession(this.#engine, owner, answered.sessionId)
    await sendAnswers(this.#engine, ref, answered, name)
  }

  // ---- the run ----------------------------------------------------------------------------------------------

  /** The first event of a run is `run_started`, number 0, so all others are one ahead of those of its job. */
  #show(ref: SessionRef, first: number, last: number): void {
    this.#shown.abort()
    const shown = new AbortController()
    this.#shown = shown
    if (last < 0)
      this.#send({ type: 'run_started', runId: makeRunId(this.#host, ref, first), sessionId: ref.session }, 0)
    this.#follow(ref, first, last, shown.signal).catch(error => this.#fail(error))
  }

  async #follow(ref: SessionRef, first: number, last: number, signal: AbortSignal): Promise<void> {
    const encoder = new RunEncoder('with a turn')
    const isNew = newEvents(last - 1)
    const send = (events: readonly NumberedEvent[]): void => {
      for (const each of events)
        if (isNew(each) && !signal.aborted)
          this.#send(each.event, each.number === undefined ? undefined : each.number + 1)
    }
    let read = first
    for await (const batch of this.#engine.follow(ref, wholeRun(first), signal)) {
      for (const item of batch) {
        if (item.type === 'event') read = item.seq
        send(encoder.take(item))
      }
      await this.#ready(signal)
    }
    if (signal.aborted) return
    send(encoder.end('done'))
    // A message of this client waited for the end of the run.
    const next = this.#hasQueued ? await findNextRun(this.#engine, ref, read) : undefined
    if (next !== undefined && !signal.aborted) this.#show(ref, next, -1)
  }

  /** Waits while the client has much to read. One that reads nothing is dropped by `#send` or by the stall time. */
  async #ready(signal: AbortSignal): Promise<void> {
    const { unsentBytes, stallMs = 30_000 } = this.#host.limits
    let least = this.#socket.bufferedAmount
    for (let waited = 0; this.#socket.bufferedAmount > unsentBytes / 2 && !signal.aborted; waited += 20) {
      if (this.#socket.bufferedAmount < least) waited = 0
      least = Math.min(least, this.#socket.bufferedAmount)
      if (waited >= stallMs) this.#socket.terminate()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

/** A frame that is not of this protocol: the socket is closed. */
class MalformedFrame extends TurnwireError {
  constructor(message: string) {
    super('bad_request', message)
  }
}

function wellFormed<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw error instanceof TurnwireError ? new MalformedFrame(error.message) : error
  }
}
