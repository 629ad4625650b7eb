// One attached machine: an authenticated socket, and the requests that it is answering. Frames are matched to requests by
// ids that only this machine was told. A machine that breaks the protocol is closed; what it was answering fails.
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../lib/json/index.ts'
import type { Socket } from '../../lib/net/socket.ts'
import { closeReason } from '../../lib/text/index.ts'
import type { OwnerFrame, ServerFrame, TokenUsage } from '../frames.ts'

export type MachineLimits = {
  /** Requests that one machine answers at the same time. */
  atOnce: number
  /** Until the first frame of an answer. */
  firstFrameMs: number
  /** Between two frames of an answer. */
  idleMs: number
  /** Characters of one answer, all its frames together. */
  answerChars: number
  /** Unsent bytes after which a machine gets no further request. */
  unsentBytes: number
}

/** How a request ended at its machine. Only `gone` and `late` say nothing of the answer itself. */
export type Ending =
  | { end: 'response'; body: JsonObject }
  | { end: 'stream'; usage?: TokenUsage | undefined }
  | { end: 'error'; message: string }
  /** The machine left, or was closed. */
  | { end: 'gone' }
  | { end: 'late'; phase: 'first' | 'idle' }
  /** It broke a rule. */
  | { end: 'broken'; reason: string }

export type Listener = {
  /** Throws an error whose message says which rule the event breaks. */
  event(event: JsonObject): void
  end(ending: Ending): void
}

type InFlightRequest = {
  stream: boolean
  listener: Listener
  chars: number
  timer: NodeJS.Timeout
  begun: boolean
}

/** Requests that are over whose last frames may still come, since the protocol has no frame that cancels. */
const mostOver = 1_000

const policyViolation = 1008

export class Machine {
  readonly id = `pl_${randomUUID()}`
  /** Slots that are taken: a request has one from when it is given to the machine until it is over. */
  taken = 0
  readonly #socket: Socket
  readonly #limits: MachineLimits
  readonly #asked = new Map<string, InFlightRequest>()
  /** By id, the characters that may still come for a request that is over. */
  readonly #over = new Map<string, number>()
  #open = true
  #retiring: (() => void) | undefined

  constructor(socket: Socket, limits: MachineLimits) {
    this.#socket = socket
    this.#limits = limits
  }

  get open(): boolean {
    return this.#open
  }

  get free(): boolean {
    return this.slots > 0
  }

  /** Requests that it can still take. */
  get slots(): number {
    const { atOnce, unsentBytes } = this.#limits
    const isServing = this.#open && !this.#retiring && this.#socket.bufferedAmount <= unsentBytes
    return isServing ? Math.max(0, atOnce - this.taken) : 0
  }

  send(frame: ServerFrame): void {
    if (this.#open) this.#socket.send(JSON.stringify(frame))
  }

  /** Call the result to leave: nothing more is given to the listener. */
  ask(body: JsonObject, stream: boolean, listener: Listener): () => void {
    const id = `req_${randomUUID()}`
    const timer = setTimeout(() => this.#end(id, { end: 'late', phase: 'first' }), this.#limits.firstFrameMs)
    this.#asked.set(id, { stream, listener, chars: 0, timer, begun: false })
    if (this.#open) this.send({ type: 'request', id, body })
    else queueMicrotask(() => this.#end(id, { end: 'gone' }))
    return () => this.#forget(id)
  }

  /** A frame about a request. `chars`: its length. */
  take(frame: Extract<OwnerFrame, { id: string }>, chars: number): void {
    const asked = this.#asked.get(frame.id)
    if (!asked) {
      this.#takeLate(frame.id, chars)
      return
    }
    asked.chars += chars
    if (asked.chars > this.#limits.answerChars) this.break('An answer is too large.')
    else if (frame.type === 'error') this.#end(frame.id, { end: 'error', message: frame.message })
    else if (asked.stream !== (frame.type !== 'response'))
      this.break(`A request was answered with "${frame.type}".`)
    else if (frame.type === 'response') this.#end(frame.id, { end: 'response', body: frame.body })
    else if (frame.type === 'stream_end') this.#end(frame.id, { end: 'stream', usage: frame.usage })
    else this.#takeEvent(frame.id, asked, frame.event)
  }

  #takeEvent(id: string, asked: InFlightRequest, event: JsonObject): void {
    if (asked.begun) asked.timer.refresh()
    else {
      asked.begun = true
      clearTimeout(asked.timer)
      asked.timer = setTimeout(() => this.#end(id, { end: 'late', phase: 'idle' }), this.#limits.idleMs)
    }
    try {
      asked.listener.event(event)
    } catch (error) {
      this.break(error instanceof Error ? error.message : 'An event cannot be read.')
    }
  }

  /** Frames after the end are ignored, up to the size of an answer. An id that was never given out is a lie. */
  #takeLate(id: string, chars: number): void {
    const left = this.#over.get(id)
    if (left === undefined) this.break('It answered a request that it was not asked.')
    else if (left < chars) this.break('It goes on with an answer that is over.')
    else this.#over.set(id, left - chars)
  }

  /** It broke the protocol. */
  break(reason: string): void {
    this.#leave({ end: 'broken', reason })
    this.#socket.close(policyViolation, closeReason(reason))
  }

  /** The socket is closed. */
  gone(): void {
    this.#leave({ end: 'gone' })
  }

  /** It is asked nothing more, and closed once it has answered what it was asked. */
  retire(code: number, reason: string): void {
    this.#retiring = () => this.close(code, reason)
    if (this.#asked.size === 0) this.#retiring()
  }

  close(code: number, reason: string): void {
    this.#leave({ end: 'gone' })
    this.#socket.close(code, reason)
  }

  #leave(ending: Ending): void {
    this.#open = false
    for (const id of [...this.#asked.keys()]) this.#end(id, ending)
  }

  #end(id: string, ending: Ending): void {
    const listener = this.#forget(id)
    listener?.end(ending)
  }

  #forget(id: string): Listener | undefined {
    const asked = this.#asked.get(id)
    if (!asked) return undefined
    clearTimeout(asked.timer)
    this.#asked.delete(id)
    this.#over.set(id, this.#limits.answerChars - asked.chars)
    const [oldest] = this.#over.keys()
    if (this.#over.size > mostOver && oldest !== undefined) this.#over.delete(oldest)
    if (this.#open && this.#asked.size === 0) this.#retiring?.()
    return asked.listener
  }
}
