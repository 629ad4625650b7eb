// One exchange with a model API, from the first byte sent to the answer or the failure. An answer that was whole before
// the connection broke is an answer.

import type { IncomingHttpHeaders } from 'node:http'
import type { ModelAnswer, ModelDelta } from '../engine/ports/index.ts'
import type { TraceContext } from '../language/trace.ts'
import { printable } from '../lib/text/index.ts'
import { readJson } from './common/json-read.ts'
import type { Frame, ModelFailure, Prepared, Protocol } from './protocol.ts'
import { applyRetryHeaders, lostFailure, redirectFailure } from './run-failures.ts'
import { AnswerError, bodyReader, eventReader, type FrameLimits, type FrameReader } from './run-frames.ts'
import { type Address, type Agents, type PostEnd, post } from './run-http.ts'

export type ExchangeOptions<State, Reading> = {
  protocol: Protocol<State, Reading>
  prepared: Prepared<Reading>
  /** The provider's name, for error texts. */
  provider: string
  address: Address
  auth: Readonly<Record<string, string>>
  trace: TraceContext | undefined
  limits: FrameLimits & { firstByteMs: number; idleMs: number }
  agents: Agents
  watch: (delta: ModelDelta) => void
  signal: AbortSignal
}

/**
 * `shown`: deltas were given, and another attempt has to take them back. `ran`: the vendor made a call of its
 * own outside of it, which another attempt might make again.
 */
export type AttemptResult = { answer: ModelAnswer } | { failure: ModelFailure; shown: boolean; ran: boolean }

export async function attempt<State, Reading>(
  options: ExchangeOptions<State, Reading>,
): Promise<AttemptResult> {
  const { protocol, prepared, provider, address, limits, agents, signal } = options
  const reader = answerReader(options)
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    'user-agent': 'turnwire',
    ...options.trace,
    ...prepared.headers,
    ...options.auth,
  }
  const { firstByteMs, idleMs } = limits
  let end: PostEnd
  try {
    end = await post({ address, headers, body: prepared.body, firstByteMs, idleMs, signal, agents }, reader)
    reader.close(end)
  } catch (error) {
    const failure = localFailure(error, provider)
    if (failure === undefined) throw error
    return { failure, shown: reader.shown(), ran: reader.ran() }
  }
  const refused = reader.refused()
  if (refused !== undefined)
    return { failure: withRequestId(refused, reader.requestId()), shown: false, ran: false }
  const halted = protocol.halt(reader.state)
  const id = reader.requestId()
  if ('answer' in halted) {
    const { answer } = halted
    const version = reader.version() ?? apiVersion(prepared, address)
    if (version !== undefined) answer.vendor = { ...answer.vendor, version }
    if (id !== undefined) answer.requestId = id
    return { answer }
  }
  const lost = end.end === 'lost' || end.end === 'timeout' ? lostFailure(end, provider) : undefined
  return { failure: withRequestId(lost ?? halted.failure, id), shown: reader.shown(), ran: reader.ran() }
}

/** The names under which vendors give their ids of a request. */
const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'apim-request-id', 'x-goog-request-id']

function versionIn(headers: IncomingHttpHeaders): string | undefined {
  const version = headers['openai-version']
  return typeof version === 'string' ? printable(version, 40) : undefined
}

/** As the request names it: in a header, or in its path. */
function apiVersion({ headers }: Prepared, { host }: Address): string | undefined {
  return headers['anthropic-version'] ?? /\/(v\d\w*)\//.exec(host.path)?.[1]
}

function requestIdIn(headers: IncomingHttpHeaders): string | undefined {
  for (const name of REQUEST_ID_HEADERS) {
    const id = headers[name]
    if (typeof id === 'string' && /^[\x21-\x7e]{1,200}$/.test(id)) return id
  }
  return undefined
}

/** Some vendors' messages name it already. */
function withRequestId(failure: ModelFailure, id: string | undefined): ModelFailure {
  if (id === undefined || failure.message.includes(id)) return failure
  return { ...failure, message: `${failure.message} (request ${id})` }
}

function answerReader<State, Reading>(options: ExchangeOptions<State, Reading>) {
  const { protocol, prepared, limits, provider, watch, signal } = options
  const state = protocol.initial(prepared.reading)
  let frames: FrameReader | undefined
  let refused: ModelFailure | undefined
  let shown = false
  let answered: IncomingHttpHeaders = {}
  let pending: ModelDelta[] = []
  const takeFrame = (frame: Frame): void => {
    for (const delta of stepped(protocol, state, frame)) mergeDelta(pending, delta)
  }
  /** Merges the deltas of one read of the socket, so that a fast vendor costs few deltas. */
  const show = (): void => {
    const deltas = pending
    if (deltas.length === 0) return
    pending = []
    for (const delta of deltas) {
      if (signal.aborted) return
      shown = true
      watch(delta)
    }
  }
  const takeRefusal = (status: number, text: string): void => {
    const headers = toHeaders(answered)
    refused =
      status < 400
        ? redirectFailure(status, provider)
        : applyRetryHeaders(protocol.failure(status, headers, readJson(text) ?? text), headers, Date.now())
  }
  return {
    state,
    shown: () => shown,
    ran: () => protocol.hasRun(state),
    refused: () => refused,
    requestId: () => requestIdIn(answered),
    version: () => versionIn(answered),
    open(status: number, headers: IncomingHttpHeaders) {
      answered = headers
      const isOk = status >= 200 && status <= 299
      const opened = isOk
        ? frameReader(headers, limits, takeFrame)
        : bodyReader(limits, text => takeRefusal(status, text))
      frames = opened
      // A refusal counts even if the end of its body is lost.
      if (!isOk) opened.partial = true
      return (chunk: Uint8Array): boolean => {
        takeChunk(opened, chunk, show)
        return opened.over
      }
    },
    close(end: PostEnd) {
      if (end.end !== 'complete' && frames?.partial !== true) return
      frames?.end()
      show()
    },
  }
}

/** What was read before a broken frame is shown all the same. */
function takeChunk(frames: FrameReader, chunk: Uint8Array, show: () => void): void {
  try {
    frames.push(chunk)
  } finally {
    show()
  }
}

function frameReader(
  headers: IncomingHttpHeaders,
  limits: FrameLimits,
  take: (frame: Frame) => void,
): FrameReader {
  const streams = headers['content-type']?.includes('text/event-stream') === true
  return streams ? eventReader(limits, take) : bodyReader(limits, text => take({ data: text }))
}

/** Text that continues the last delta is added to it. */
function mergeDelta(deltas: ModelDelta[], delta: ModelDelta): void {
  const last = deltas.at(-1)
  if (delta.type === 'text' && last?.type === 'text' && last.phase === delta.phase)
    deltas[deltas.length - 1] = { ...last, text: last.text + delta.text }
  else if (delta.type === 'thinking' && last?.type === 'thinking')
    deltas[deltas.length - 1] = { type: 'thinking', text: last.text + delta.text }
  else if (delta.type === 'arguments' && last?.type === 'arguments' && last.index === delta.index)
    deltas[deltas.length - 1] = { type: delta.type, index: delta.index, text: last.text + delta.text }
  else deltas.push(delta)
}

/** For refusals only: making this object costs more than reading a short answer. */
function toHeaders(received: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received))
    for (const each of [value ?? []].flat()) headers.append(name, each)
  return headers
}

/** An answer that a protocol cannot read must not look like a defect of the engine. */
function stepped<State, Reading>(
  protocol: Protocol<State, Reading>,
  state: State,
  frame: Frame,
): ModelDelta[] {
  try {
    return protocol.step(state, frame)
  } catch (error) {
    throw new AnswerError('The answer could not be read.', { cause: error })
  }
}

function localFailure(error: unknown, provider: string): ModelFailure | undefined {
  if (error instanceof AnswerError)
    return { code: 'model_failed', message: `${provider}: ${error.message}`, retry: false }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ERR_INVALID_CHAR' && code !== 'ERR_INVALID_HTTP_TOKEN') return undefined
  const message = `A header for ${provider} holds a character that cannot be sent. Check the key for line breaks.`
  return { code: 'model_rejected', message, retry: false }
}
