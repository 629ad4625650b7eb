// One exchange with a model API, from the first byte sent to the answer or the failure. It ends in one of both
// however the stream ends: an answer that was whole before the connection broke is an answer.

import type { IncomingHttpHeaders } from 'node:http'
import type { ModelAnswer, ModelDelta } from '../engine/ports.ts'
import type { Json } from '../lib/json.ts'
import type { Failure, Frame, Prepared, Protocol } from './protocol.ts'
import { heedHeaders, lostFailure, redirectFailure } from './run-failures.ts'
import { AnswerError, bodyReader, eventReader, type FrameLimits, type FrameReader } from './run-frames.ts'
import { type Address, type Agents, type End, post } from './run-http.ts'

export type ExchangeOptions<State> = {
  protocol: Protocol<State>
  prepared: Prepared
  /** The provider's name, for words about failures. */
  place: string
  address: Address
  auth: Readonly<Record<string, string>>
  limits: FrameLimits & { firstByteMs: number; idleMs: number }
  agents: Agents
  watch: (delta: ModelDelta) => void
  signal: AbortSignal
}

/** `shown`: deltas were given, so that another attempt would say them twice. */
export type Tried = { answer: ModelAnswer } | { failure: Failure; shown: boolean }

export async function attempt<State>(options: ExchangeOptions<State>): Promise<Tried> {
  const { protocol, prepared, place, address, limits, agents, signal } = options
  const reading = readAnswer(options)
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    'user-agent': 'turnwire',
    ...prepared.headers,
    ...options.auth,
  }
  const { firstByteMs, idleMs } = limits
  let end: End
  try {
    end = await post({ address, headers, body: prepared.body, firstByteMs, idleMs, signal, agents }, reading)
    reading.close(end)
  } catch (error) {
    const failure = localFailure(error, place)
    if (failure === undefined) throw error
    return { failure, shown: reading.shown() }
  }
  const refused = reading.refused()
  if (refused !== undefined) return { failure: refused, shown: false }
  const halted = protocol.halt(reading.state)
  if ('answer' in halted) return halted
  const lost = end.end === 'lost' || end.end === 'timeout' ? lostFailure(end, place) : undefined
  return { failure: lost ?? halted.failure, shown: reading.shown() }
}

function readAnswer<State>(options: ExchangeOptions<State>) {
  const { protocol, limits, place, watch, signal } = options
  const state = protocol.initial(options.prepared)
  let reader: FrameReader | undefined
  let refused: Failure | undefined
  let shown = false
  let unshown: ModelDelta[] = []
  const give = (frame: Frame): void => {
    for (const delta of stepped(protocol, state, frame)) gather(unshown, delta)
  }
  /** What one read of the socket brought is shown in one go: a vendor that is fast is not told word by word. */
  const show = (): void => {
    const deltas = unshown
    if (deltas.length === 0) return
    unshown = []
    for (const delta of deltas) {
      if (signal.aborted) return
      shown = true
      watch(delta)
    }
  }
  const refusal = (status: number, received: IncomingHttpHeaders): FrameReader =>
    bodyReader(limits, text => {
      const headers = headersOf(received)
      refused =
        status < 400
          ? redirectFailure(status, place)
          : heedHeaders(protocol.failure(status, headers, parsed(text)), headers, Date.now())
    })
  return {
    state,
    shown: () => shown,
    refused: () => refused,
    open(status: number, headers: IncomingHttpHeaders) {
      const ok = status >= 200 && status <= 299
      const opened = ok ? answerReader(headers, limits, give) : refusal(status, headers)
      reader = opened
      // A refusal is a refusal even when the end of its words is lost.
      if (!ok) opened.partial = true
      return (chunk: Uint8Array): boolean => {
        try {
          opened.push(chunk)
        } finally {
          show()
        }
        return opened.over
      }
    },
    close(end: End) {
      if (end.end !== 'complete' && reader?.partial !== true) return
      reader?.end()
      show()
    },
  }
}

function answerReader(
  headers: IncomingHttpHeaders,
  limits: FrameLimits,
  give: (frame: Frame) => void,
): FrameReader {
  const streams = headers['content-type']?.includes('text/event-stream') === true
  return streams ? eventReader(limits, give) : bodyReader(limits, text => give({ data: text }))
}

/** Words that continue the last ones are added to them. */
function gather(deltas: ModelDelta[], delta: ModelDelta): void {
  const last = deltas.at(-1)
  if ((delta.type === 'text' || delta.type === 'thinking') && last?.type === delta.type)
    deltas[deltas.length - 1] = { type: delta.type, text: last.text + delta.text }
  else if (delta.type === 'arguments' && last?.type === 'arguments' && last.index === delta.index)
    deltas[deltas.length - 1] = { type: delta.type, index: delta.index, text: last.text + delta.text }
  else deltas.push(delta)
}

/** For refusals only: making one costs more than reading a short answer. */
function headersOf(received: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received))
    for (const each of [value ?? []].flat()) headers.append(name, each)
  return headers
}

/** What a codec cannot read must not look like a defect of the engine. */
function stepped<State>(protocol: Protocol<State>, state: State, frame: Frame): ModelDelta[] {
  try {
    return protocol.step(state, frame)
  } catch (error) {
    throw new AnswerError('The answer could not be read.', { cause: error })
  }
}

function parsed(text: string): Json | string {
  try {
    return JSON.parse(text) as Json // JSON.parse is typed `any`; JSON text yields nothing but Json
  } catch {
    return text
  }
}

function localFailure(error: unknown, place: string): Failure | undefined {
  if (error instanceof AnswerError)
    return { code: 'model_failed', message: `${place}: ${error.message}`, retry: false }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ERR_INVALID_CHAR' && code !== 'ERR_INVALID_HTTP_TOKEN') return undefined
  const message = `A header for ${place} holds a character that cannot be sent. Check the key for line breaks.`
  return { code: 'model_rejected', message, retry: false }
}
