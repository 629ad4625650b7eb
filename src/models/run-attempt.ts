// One exchange with a model API, from the first byte sent to the answer or the failure. The bytes become frames (server-sent
// events as they come, or a whole body as one frame at its end), and the frames become deltas. Both are bounded, so that an
// endless answer cannot fill the memory. An answer that was whole before the connection broke is an answer.

import type { IncomingHttpHeaders } from 'node:http'
import { createParser } from 'eventsource-parser'
import type { ModelAnswer, ModelDelta } from '../engine/ports/index.ts'
import type { TraceContext } from '../language/trace.ts'
import { printable } from '../lib/text/index.ts'
import { readJson } from './common/json-read.ts'
import type { Frame, ModelFailure, Prepared, Protocol } from './protocol.ts'
import { applyRetryHeaders, lostFailure, redirectFailure } from './run-failures.ts'
import { type Address, type Agents, type PostEnd, type PostReader, post } from './run-http.ts'

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
 * `shown`: deltas were given, and another attempt has to take them back. `ran`: the vendor made a call outside its own
 * servers, which another attempt might repeat.
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
    return { failure, shown: reader.shown, ran: protocol.hasRun(reader.state) }
  }
  const { refused } = reader
  const id = requestIdIn(reader.headers)
  if (refused !== undefined) return { failure: withRequestId(refused, id), shown: false, ran: false }
  const halted = protocol.halt(reader.state)
  if ('answer' in halted) {
    const { answer } = halted
    const version = apiVersion(reader.headers, prepared, address)
    if (version !== undefined) answer.vendor = { ...answer.vendor, version }
    if (id !== undefined) answer.requestId = id
    return { answer }
  }
  const lost = end.end === 'lost' || end.end === 'timeout' ? lostFailure(end, provider) : undefined
  const failure = withRequestId(lost ?? halted.failure, id)
  return { failure, shown: reader.shown, ran: protocol.hasRun(reader.state) }
}

/** The names under which vendors give their ids of a request. */
const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'apim-request-id', 'x-goog-request-id']

/** As the answer names it, else as the request does: in a header, or in its path. */
function apiVersion(
  answered: IncomingHttpHeaders,
  { headers }: Prepared,
  { host }: Address,
): string | undefined {
  const version = answered['openai-version']
  if (typeof version === 'string') return printable(version, 40)
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

// ---- reading the answer ------------------------------------------------------------------------------------

type AnswerReader<State> = PostReader & {
  readonly state: State
  /** Deltas were given. */
  shown: boolean
  refused: ModelFailure | undefined
  headers: IncomingHttpHeaders
  /** No more bytes come. */
  close(end: PostEnd): void
}

function answerReader<State, Reading>(options: ExchangeOptions<State, Reading>): AnswerReader<State> {
  const { protocol, prepared, limits, provider, watch, signal } = options
  const state = protocol.initial(prepared.reading)
  let frames: FrameReader | undefined
  let pending: ModelDelta[] = []
  const takeFrame = (frame: Frame): void => {
    for (const delta of protocol.step(state, frame)) mergeDelta(pending, delta)
  }
  /** Merges the deltas of one read of the socket, so that a fast vendor costs few deltas. */
  const show = (): void => {
    const deltas = pending
    pending = []
    for (const delta of deltas) {
      if (signal.aborted) return
      reader.shown = true
      watch(delta)
    }
  }
  /** Deltas of the frames before a broken one are shown all the same. */
  const read = (chunk: Uint8Array | undefined): boolean => {
    try {
      return frames?.push(chunk) === true
    } catch (error) {
      // An answer that a protocol cannot read must not look like a defect of the engine.
      if (error instanceof AnswerError) throw error
      throw new AnswerError('The answer could not be read.', { cause: error })
    } finally {
      if (pending.length > 0) show()
    }
  }
  const takeRefusal = (status: number, text: string): void => {
    const headers = toHeaders(reader.headers)
    reader.refused =
      status < 400
        ? redirectFailure(status, provider)
        : applyRetryHeaders(protocol.failure(status, headers, readJson(text) ?? text), headers, Date.now())
  }
  const reader: AnswerReader<State> = {
    state,
    shown: false,
    refused: undefined,
    headers: {},
    open(status, headers) {
      reader.headers = headers
      frames =
        status >= 200 && status <= 299
          ? frameReader(headers, limits, takeFrame)
          : refusalReader(limits, text => takeRefusal(status, text))
      return read
    },
    close(end) {
      if (end.end === 'complete' || frames?.partial === true) read(undefined)
    },
  }
  return reader
}

/** Text that continues the last delta is added to it: `step` makes a delta anew each time, and nobody has seen it yet. */
function mergeDelta(deltas: ModelDelta[], delta: ModelDelta): void {
  const last = deltas[deltas.length - 1]
  if (delta.type === 'text' && last?.type === 'text' && last.phase === delta.phase) last.text += delta.text
  else if (delta.type === 'thinking' && last?.type === 'thinking') last.text += delta.text
  else if (delta.type === 'arguments' && last?.type === 'arguments' && last.index === delta.index)
    last.text += delta.text
  else deltas.push(delta)
}

/** For refusals only: making this object costs more than reading a short answer. */
function toHeaders(received: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received))
    for (const each of [value ?? []].flat()) headers.append(name, each)
  return headers
}

function localFailure(error: unknown, provider: string): ModelFailure | undefined {
  if (error instanceof AnswerError)
    return { code: 'model_failed', message: `${provider}: ${error.message}`, retry: false }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ERR_INVALID_CHAR' && code !== 'ERR_INVALID_HTTP_TOKEN') return undefined
  const message = `A header for ${provider} holds a character that cannot be sent. Check the key for line breaks.`
  return { code: 'model_rejected', message, retry: false }
}

// ---- frames ------------------------------------------------------------------------------------------------

export type FrameLimits = { maxEventChars: number; maxBodyChars: number }

/** The answer is too large or cannot be read. */
class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

export type FrameReader = {
  /** Undefined: no more bytes come. Gives true once the stream has marked its end. */
  push(chunk: Uint8Array | undefined): boolean
  /** Set when the bytes so far are to be read even if the connection broke. */
  partial?: true
}

/** Ends a stream of the OpenAI family. Anything after it is ignored. */
const END_MARK = '[DONE]'

/** A server-sent event that the end cuts off is not given. */
export function eventReader(limits: FrameLimits, give: (frame: Frame) => void): FrameReader {
  const decoder = new TextDecoder()
  let over = false
  let endsInCr = false
  let tooLarge = false
  const parser = createParser({
    maxBufferSize: limits.maxEventChars,
    onEvent: frame => {
      if (over) return
      const { data } = frame
      if (data.length > limits.maxEventChars) tooLarge = true
      else if (data.length < 20 && data.trim() === END_MARK) over = true
      else give(frame)
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
    },
  })
  return {
    push(chunk) {
      // The parser holds a last CR back because an LF could follow it. At the end none follows.
      const text = chunk === undefined ? (endsInCr ? '\n' : '') : decoder.decode(chunk, { stream: true })
      parser.feed(text)
      if (tooLarge) throw new AnswerError('An event of the answer is too large.')
      if (text !== '') endsInCr = text.endsWith('\r')
      return over
    },
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

/** A refusal counts even if the end of its body is lost. */
function refusalReader(limits: FrameLimits, give: (text: string) => void): FrameReader {
  return { ...bodyReader(limits, give), partial: true }
}

function bodyReader(limits: FrameLimits, give: (text: string) => void): FrameReader {
  const decoder = new TextDecoder()
  let text = ''
  return {
    push(chunk) {
      text += decoder.decode(chunk, { stream: chunk !== undefined })
      if (text.length > limits.maxBodyChars) throw new AnswerError('The answer is too large.')
      if (chunk === undefined) give(text)
      return false
    },
  }
}
