// The events of a stream, numbered and framed. A delta counts one number per character, so the numbers of a response do
// not depend on how its text was cut. A stream that is resumed, even by another process, continues in the middle of a
// text without a gap or a repeat.
import { encodeSse } from '../../lib/net/sse.ts'
import { oneLine } from '../http/index.ts'
import type { EventName } from './schema.ts'

export class NumberedFrames {
  readonly #after: number | undefined
  readonly #form: 'sse' | 'lines'
  #next = 0
  #frames = ''

  /**
   * `after`: the number of the last event that the client has, or -1. Undefined: there is no stream. `lines`: each event is
   * one line of JSON.
   */
  constructor(after: number | undefined, form: 'sse' | 'lines' = 'sse') {
    this.#after = after
    this.#form = form
  }

  /** The frames made since the last call. */
  take(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }

  event(name: EventName, fields: object): void {
    if (this.#isNews(1)) this.#write(name, JSON.stringify(fields).slice(1))
  }

  delta(name: EventName, fields: object, text: string): void {
    const { length } = text
    if (length === 0 || !this.#isNews(length)) return
    const delta = text.slice(-Math.min(length, this.#next - 1 - (this.#after ?? -1)))
    this.#write(name, JSON.stringify({ ...fields, delta }).slice(1))
  }

  /** `response` gives the whole response as JSON. */
  lifecycle(name: EventName, response: () => string): void {
    if (this.#isNews(1)) this.#write(name, `"response":${response()}}`)
  }

  /** The last event. It is sent whatever the client has, since only it ends the response. */
  last(name: EventName, response: () => string): void {
    this.#next = Math.max(this.#next, (this.#after ?? -1) + 1)
    this.lifecycle(name, response)
    this.#end()
  }

  /**
   * The stream ends before the response does. This is no event of the response, so it has the number of the last one: a
   * client that goes on after it misses nothing.
   */
  broken(code: string, message: string): void {
    this.#next = Math.max(this.#next, (this.#after ?? -1) + 1)
    if (this.#after !== undefined)
      this.#write('error', JSON.stringify({ code, message, param: null }).slice(1))
  }

  #end(): void {
    if (this.#after !== undefined && this.#form === 'sse') this.#frames += encodeSse({ data: '[DONE]' })
  }

  /** Takes the next numbers. False: the client has them all, or there is no stream. */
  #isNews(count: number): boolean {
    this.#next += count
    return this.#after !== undefined && this.#next - 1 > this.#after
  }

  #write(name: EventName, fields: string): void {
    const data = `{"type":"${name}","sequence_number":${this.#next - 1},${fields}`
    this.#frames += this.#form === 'sse' ? encodeSse({ event: name, data: oneLine(data) }) : `${data}\n`
  }
}
