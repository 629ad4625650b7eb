// Carries an answer to the caller, whole or as a stream, in the words of a door's encoder. A stream is opened with the
// first piece, so that a model that fails at once is an HTTP error; or once the caller has waited for a heartbeat's time.
import type { Context } from 'hono'
import { publicError, TurnwireError } from '../../language/errors.ts'
import type { SseWriter } from '../../lib/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { type Failure, failureOf, openSse, RESPONSE_ALREADY_SENT } from '../http/index.ts'
import { type Answer, type Asked, ask, Gone } from './ask.ts'
import { type Piece, Shown } from './shown.ts'

/** Contract: pure but for its own state. Each function gives whole SSE frames. */
export type StreamEncoder = {
  begin(): string
  take(piece: Piece): string
  /** `rest`: what the pieces so far have left unsaid. */
  end(answer: Answer, rest: readonly Piece[]): string
  fail(failure: Failure): string
  /** Sent while nothing else is. Absent: a comment. */
  beat?: string
}

/** The whole answer; undefined when nobody waits for it any more. */
export async function answerWhole(
  c: Context<WireEnv>,
  host: WireHost,
  asked: Asked,
): Promise<Answer | undefined> {
  const gone = callerOf(c)
  try {
    return await ask(host, c.get('principal').owner, asked, gone)
  } catch (error) {
    if (error instanceof Gone) return undefined
    throw error
  }
}

export async function answerStream(
  c: Context<WireEnv>,
  host: WireHost,
  asked: Asked,
  encoder: StreamEncoder,
): Promise<Response> {
  const stream = new Stream(c, host, encoder)
  const outcome = ask(host, c.get('principal').owner, asked, stream.signal, delta => {
    try {
      for (const piece of stream.shown.take(delta)) stream.piece(piece)
    } catch (error) {
      stream.fail(error)
    }
  })
  const settled = outcome.then(
    answer => ({ answer }),
    (error: unknown) => ({ error }),
  )
  const first = await Promise.race([settled, stream.opened])
  if (first && 'error' in first && !stream.isOpen) {
    stream.close()
    if (first.error instanceof Gone) return c.body(null)
    throw first.error
  }
  void settled.then(result => ('answer' in result ? stream.end(result.answer) : stream.fail(result.error)))
  return RESPONSE_ALREADY_SENT
}

/** Aborts when the connection closes, whoever closed it. */
function callerOf(c: Context<WireEnv>): AbortSignal {
  const { outgoing } = c.env
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort()
  else outgoing.once('close', () => gone.abort())
  return gone.signal
}

class Stream {
  readonly shown = new Shown()
  readonly signal: AbortSignal
  readonly opened: Promise<void>
  readonly #c: Context<WireEnv>
  readonly #host: WireHost
  readonly #encoder: StreamEncoder
  readonly #over = new AbortController()
  readonly #markOpen: () => void
  #writer: SseWriter | undefined
  #beat: NodeJS.Timeout
  #closed = false

  constructor(c: Context<WireEnv>, host: WireHost, encoder: StreamEncoder) {
    this.#c = c
    this.#host = host
    this.#encoder = encoder
    const { promise, resolve } = Promise.withResolvers<void>()
    this.opened = promise
    this.#markOpen = resolve
    this.signal = AbortSignal.any([callerOf(c), this.#over.signal])
    this.#beat = setInterval(() => this.#onBeat(), Math.max(host.limits.heartbeatMs, 1))
  }

  get isOpen(): boolean {
    return this.#writer !== undefined
  }

  piece(piece: Piece): void {
    this.#send(this.#encoder.take(piece))
  }

  end(answer: Answer): void {
    if (this.#closed) return
    try {
      const rest = this.shown.rest(answer.parts)
      this.#send(this.#encoder.end(answer, rest))
    } catch (error) {
      this.fail(error)
    }
    this.close()
  }

  fail(error: unknown): void {
    if (this.#closed) return
    if (!(error instanceof Gone)) this.#send(this.#encoder.fail(toldOf(error, this.#host.log)))
    this.close()
    this.#over.abort()
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#beat)
    this.#writer?.end()
  }

  #send(frames: string): void {
    if (this.#closed) return
    this.#open()
    if (frames !== '') this.#writer?.send(frames)
  }

  #open(): void {
    if (this.#writer) return
    const { limits } = this.#host
    const heartbeatMs = this.#encoder.beat === undefined ? limits.heartbeatMs : 0
    this.#writer = openSse(this.#c, { ...this.#host, limits: { ...limits, heartbeatMs } }, () => {
      clearInterval(this.#beat)
    })
    this.#writer.send(this.#encoder.begin())
    this.#markOpen()
  }

  #onBeat(): void {
    this.#send(this.#encoder.beat ?? '')
  }
}

/** A failed answer was logged where it failed; what is thrown elsewhere is logged here. */
export function toldOf(error: unknown, log: WireHost['log']): Failure {
  return error instanceof TurnwireError ? publicError(error) : failureOf(error, log)
}
