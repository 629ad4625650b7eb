// The events of a stream, numbered and framed. A piece of text counts as many numbers as it has characters, so that the
// numbers of a response do not depend on how its text was cut: a stream that is taken up again, by another process even,
// goes on in the middle of a text, without a gap and without a repeat.
import { encodeSse } from '../../lib/sse.ts'
import { oneLine } from '../http/index.ts'
import type { EventName } from './schema.ts'

export class Emitter {
  readonly #send: ((frame: string) => void) | undefined
  readonly #after: number
  #next = 0

  /** `after`: the number of the last event that the client has. Without `send` nothing is made at all. */
  constructor(send?: (frame: string) => void, after = -1) {
    this.#send = send
    this.#after = after
  }

  event(name: EventName, fields: object): void {
    const number = this.#next++
    if (!this.#send || number <= this.#after) return
    this.#write(name, number, JSON.stringify(fields).slice(1))
  }

  delta(name: EventName, fields: object, text: string): void {
    if (text === '') return
    const start = this.#next
    this.#next += text.length
    const last = this.#next - 1
    if (!this.#send || last <= this.#after) return
    const delta = start > this.#after ? text : text.slice(this.#after - start + 1)
    this.#write(name, last, JSON.stringify({ ...fields, delta }).slice(1))
  }

  /** The whole response, as JSON. */
  lifecycle(name: EventName, response: string): void {
    const number = this.#next++
    if (this.#send && number > this.#after) this.#write(name, number, `"response":${response}}`)
  }

  /** It is always sent, whatever the client has: nothing else tells it that this is the end. */
  last(name: EventName, response: string): void {
    this.#next = Math.max(this.#next, this.#after + 1)
    this.lifecycle(name, response)
    this.#send?.(encodeSse({ data: '[DONE]' }))
  }

  /** The stream ends before the response does. */
  broken(code: string, message: string): void {
    this.#next = Math.max(this.#next, this.#after + 1)
    this.event('error', { code, message, param: null })
    this.#send?.(encodeSse({ data: '[DONE]' }))
  }

  #write(name: EventName, number: number, fields: string): void {
    const data = `{"type":"${name}","sequence_number":${number},${fields}`
    this.#send?.(encodeSse({ event: name, data: oneLine(data) }))
  }
}
