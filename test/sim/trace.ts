// The trace of a run, one short line per event: a hash of all lines to compare two runs, the last lines for people, and
// the first broken promise.
import { createHash, type Hash } from 'node:crypto'

const kept = 160

export class Trace {
  readonly #hash: Hash = createHash('sha256')
  readonly #tail: string[] = []
  #lines = 0
  broken: string | undefined
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  note(line: string): void {
    const text = `${this.#now()} ${line}`
    this.#hash.update(text).update('\n')
    this.#lines += 1
    this.#tail.push(text)
    if (this.#tail.length > kept * 2) this.#tail.splice(0, kept)
  }

  /** Only the first counts: later ones may be its consequences. */
  breach(promise: string): void {
    this.broken ??= promise
    this.note(`BROKEN ${promise}`)
  }

  check(holds: boolean, promise: string | (() => string)): void {
    if (!holds) this.breach(typeof promise === 'string' ? promise : promise())
  }

  get lines(): number {
    return this.#lines
  }

  digest(): string {
    return this.#hash.copy().digest('base64url')
  }

  tail(): string {
    return this.#tail.slice(-kept).join('\n')
  }
}
