// Runs over a WebSocket: a frame starts a run, takes one up again, or answers its calls; the run's events come back as
// frames. A socket shows one run at a time. Whose socket it is, and how it came to be, is decided before it gets here.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, JsonError, type JsonObject, parseJson } from '../../lib/json.ts'
import type { Principal, WireHost } from '../host.ts'
import { follow } from '../http/follow.ts'
import { failureOf } from '../http/index.ts'
import { answer, say, sessionFor } from './commands.ts'
import { decodeAnswered, decodeChat, decodeResume } from './decode.ts'
import { RunView } from './run-view.ts'
import { findRun, type Run, runIdOf } from './runs.ts'
import type { DeltaKitEvent } from './schema.ts'

/** What is used of a WebSocket, as the `ws` package has it. */
export type Socket = {
  send(text: string): void
  close(code: number, reason?: string): void
  terminate(): void
  readonly bufferedAmount: number
  on(event: 'message', listener: (data: { toString(): string }, binary: boolean) => void): unknown
  on(event: 'close', listener: () => void): unknown
}

const unsupported = 1003
const tooMuch = 1008
/** Frames that wait for the one that is handled. */
const mostWaiting = 64
const crashed = 1011

export function deltakitSocket(host: WireHost, socket: Socket, principal: Principal, agent?: string): void {
  const peer = new Peer(host, socket, principal, agent)
  socket.on('message', (data, binary) => peer.take(binary ? undefined : data.toString()))
  socket.on('close', () => peer.leave())
}

class Peer {
  readonly #host: WireHost
  readonly #socket: Socket
  readonly #principal: Principal
  readonly #agent: string | undefined
  /** Frames are handled one after another, in the order in which they came. */
  #turn: Promise<void> = Promise.resolve()
  #waiting = { frames: 0, characters: 0 }
  #shown = new AbortController()

  constructor(host: WireHost, socket: Socket, principal: Principal, agent: string | undefined) {
    this.#host = host
    this.#socket = socket
    this.#principal = principal
    this.#agent = agent
  }

  /** `undefined`: a binary frame. */
  take(text: string | undefined): void {
    const waiting = this.#waiting
    const size = text?.length ?? 0
    // One frame of any allowed size always fits; a flood of them would be memory without end.
    const full = waiting.frames > 0 && waiting.characters + size > this.#host.limits.bodyBytes
    if (full || waiting.frames >= mostWaiting) {
      this.#socket.close(tooMuch, 'Too many frames at once. Wait for what was sent.')
      return
    }
    waiting.frames += 1
    waiting.characters += size
    this.#turn = this.#turn
      .then(() => this.#handle(text))
      .catch(error => this.#fail(error))
      .finally(() => {
        waiting.frames -= 1
        waiting.characters -= size
      })
  }

  /** The run itself goes on. */
  leave(): void {
    this.#shown.abort()
  }

  #fail(error: unknown): void {
    const { code, message } = failureOf(error, this.#host.log)
    this.#send({ type: 'error', message, code })
    if (error instanceof Malformed) this.#socket.close(unsupported, 'The frame cannot be read.')
    else if (!(error instanceof TurnwireError)) this.#socket.close(crashed, 'The server failed.')
  }

  #send(event: DeltaKitEvent, number?: number): void {
    // A client that does not read is dropped; it can take its run up again.
    if (this.#socket.bufferedAmount > this.#host.limits.unsentBytes) this.#socket.terminate()
    else this.#socket.send(JSON.stringify(number === undefined ? event : { ...event, id: number }))
  }

  // ---- frames -----------------------------------------------------------------------------------------------

  async #handle(text: string | undefined): Promise<void> {
    const frame = this.#read(text)
    if (frame['results'] !== undefined || frame['approvals'] !== undefined) return this.#answer(frame)
    const known =
      frame['runId'] === undefined || frame['runId'] === null ? undefined : await this.#resume(frame)
    if (known === 'shown') return
    if (frame['message'] === undefined)
      throw new TurnwireError('bad_request', 'Expected either `message` or `runId` in payload')
    await this.#start(frame, known)
  }

  #read(text: string | undefined): JsonObject {
    if (text === undefined) throw new Malformed('Send text frames with JSON: binary frames are not taken.')
    const { bodyBytes, jsonDepth } = this.#host.limits
    try {
      const frame = parseJson(text, { maxBytes: bodyBytes, maxDepth: jsonDepth })
      if (isJsonObject(frame)) return frame
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      throw new Malformed(error.message)
    }
    throw new Malformed('A frame must be a JSON object.')
  }

  async #start(frame: JsonObject, before: Run | undefined): Promise<void> {
    const session = before ? { sessionId: before.session } : {}
    const agent = this.#agent === undefined ? {} : { agent: this.#agent }
    const chat = wellFormed(() => decodeChat({ ...session, ...frame, ...agent }))
    const found = await sessionFor(this.#host, this.#principal, chat)
    const { first } = await say(found, chat)
    this.#show({ session: found.session.id, first }, -1)
  }

  /**
   * Shows the run. A client that kept the id of a run sends it with its next message too: if that run is over, the
   * message starts the next one in its session.
   */
  async #resume(frame: JsonObject): Promise<'shown' | Run> {
    const { runId, lastEventId } = wellFormed(() => decodeResume(frame))
    const run = await findRun(this.#host.old, this.#principal.owner, runId)
    if (!run) throw new TurnwireError('not_found', 'Run not found')
    if (run.ended && frame['message'] !== undefined) return run
    this.#show(run, lastEventId ?? -1)
    return 'shown'
  }

  async #answer(frame: JsonObject): Promise<void> {
    const { owner, name } = this.#principal
    const { sessionId, runId } = frame
    const run = typeof runId === 'string' ? await findRun(this.#host.old, owner, runId) : undefined
    const answered = wellFormed(() =>
      decodeAnswered({ ...frame, sessionId: sessionId ?? run?.session ?? null }),
    )
    if (answered.sessionId === undefined) throw new TurnwireError('not_found', 'Run not found')
    await answer(await this.#host.old.open(owner, answered.sessionId), answered, name)
  }

  // ---- the run ----------------------------------------------------------------------------------------------

  /** The first event of a run is `run_started`, number 0; so all others are one ahead of those of its job. */
  #show({ session, first }: Pick<Run, 'session' | 'first'>, last: number): void {
    this.#shown.abort()
    const shown = new AbortController()
    this.#shown = shown
    const runId = runIdOf(session, first)
    if (last < 0) this.#send({ type: 'run_started', runId, sessionId: session }, 0)
    let after = last
    const view = new RunView((event, number, again) => {
      if (again) after = -1
      if (number + 1 > after && !shown.signal.aborted) this.#send(event, number + 1)
    }, 'with a turn')
    const place = { owner: this.#principal.owner, id: session, first, until: 'turn' } as const
    follow(this.#host.old, place, view, () => this.#ready(), shown.signal)
      .then(() => {
        if (!shown.signal.aborted) view.finish('done')
      })
      .catch(error => this.#fail(error))
  }

  /** A long run is told at the client's pace. */
  async #ready(): Promise<void> {
    const limit = this.#host.limits.unsentBytes / 2
    while (this.#socket.bufferedAmount > limit && !this.#shown.signal.aborted)
      await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** A frame that is not of this protocol: the socket is closed. */
class Malformed extends TurnwireError {
  constructor(message: string) {
    super('bad_request', message)
  }
}

function wellFormed<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw error instanceof TurnwireError ? new Malformed(error.message) : error
  }
}
