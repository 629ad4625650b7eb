// One check at a server over HTTP: it sends requests, keeps what was sent and what came back for the report, and ends with its
// time limit. Keys are sent and never kept.
import { createParser } from 'eventsource-parser'
import { errorMessage } from '../lib/text/error-message.ts'
import { Broken, hold, parsed, shown, text } from './check.ts'

export type Target = {
  /** The address of the server, without a slash at its end. */
  url: string
  key?: string
  /** The agent or model that is asked for. */
  agent?: string
  timeoutMs: number
}

export type Frame = { event: string | undefined; id: string | undefined; data: string }

export class Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string

  constructor(status: number, headers: Headers, body: string) {
    this.status = status
    this.headers = headers
    this.body = body
  }

  get json(): unknown {
    return parsed(this.body)
  }

  get type(): string {
    return this.headers.get('content-type') ?? ''
  }

  /** Of a stream. A frame that was cut off is none. */
  get frames(): Frame[] {
    const frames: Frame[] = []
    const parser = createParser({
      onEvent: ({ event, id, data }) => frames.push({ event, id, data }),
    })
    parser.feed(this.body)
    return frames
  }

  /** The documents of a stream; the mark of its end is left out. */
  get events(): unknown[] {
    return this.frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => parsed(data))
  }
}

export type Request = {
  method?: string
  /** A text is sent as it is. */
  body?: unknown
  headers?: Record<string, string>
}

export class Trial {
  readonly target: Target
  readonly signal: AbortSignal
  #sent = ''
  #got = ''

  constructor(target: Target) {
    this.target = target
    this.signal = AbortSignal.timeout(target.timeoutMs)
  }

  get sent(): string {
    return this.#sent
  }

  get got(): string {
    return this.#got
  }

  note(sent: string, got = ''): void {
    this.#sent = shown(sent)
    this.#got = got
  }

  noteAnswer(got: string): void {
    this.#got = shown(got)
  }

  /** `path`: after the address of the server. */
  async ask(path: string, { method, body, headers }: Request = {}): Promise<Answer> {
    const verb = method ?? (body === undefined ? 'GET' : 'POST')
    const content = typeof body === 'string' ? body : JSON.stringify(body)
    this.note(`${verb} ${path}${content === undefined ? '' : ` ${content}`}`)
    const { key, url } = this.target
    try {
      const response = await fetch(`${url}${path}`, {
        method: verb,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(content !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(content !== undefined && { body: content }),
        signal: this.signal,
      })
      const answer = new Answer(response.status, response.headers, await response.text())
      this.noteAnswer(`${answer.status} ${answer.body}`)
      return answer
    } catch (error) {
      throw this.failure(error)
    }
  }

  async close(): Promise<void> {}

  failure(error: unknown): Broken {
    if (this.signal.aborted)
      return new Broken(`an answer within ${this.target.timeoutMs / 1000} s`, this.#got || 'nothing')
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return new Broken('an answer', errorMessage(cause))
  }
}

/** The events of a stream that have this type. */
export function typed({ events }: Answer, type: string): unknown[] {
  return events.filter(event => text(event, 'type') === type)
}

/** The status is one of these. */
export function hasStatus(answer: Answer, ...statuses: readonly number[]): void {
  hold(statuses.includes(answer.status), `status ${statuses.join(' or ')}`)
}

export function isStream(answer: Answer): void {
  hasStatus(answer, 200)
  hold(
    answer.type.startsWith('text/event-stream'),
    'the content type text/event-stream',
    answer.type || 'none',
  )
}
