// Checks results that are kept beside a log, because they were too long for it, against the signed events of their calls. Of one that
// was kept as it came, the event has the digest and the size; the name of one that was cut ends with the beginning of its digest.
import { createHash, type Hash } from 'node:crypto'
import type { KeptOutput, Outcome } from '../language/calls.ts'
import { sha256 } from '../lib/json/hash.ts'
import type { Broken, LogItem } from './verify-log.ts'

/** `kept`: absent for one that was cut. */
type Due = { seq: number; kept?: KeptOutput; isThere: boolean }

const digestInName = /\.([\w-]{16})$/

export class KeptOutputs {
  readonly #due = new Map<string, Due>()
  #open: { blob: string; hash: Hash; bytes: number } | undefined
  #broken: Broken | undefined

  /** An event of the log. */
  take(item: LogItem): void {
    if (!('event' in item) || !('outcome' in item.event)) return
    const { event, seq } = item
    const { cut, kept }: Partial<Outcome> = event.outcome
    // The call of a session that works for this one has its outcome here, and what is kept of it there.
    const isElsewhere = 'session' in event && event.session !== undefined
    const isOwn = ({ blob }: { blob: string }) => !isElsewhere && blob.startsWith(`${event.callId}.`)
    if (kept && isOwn(kept)) this.#due.set(kept.blob, { seq, kept, isThere: false })
    if (cut && isOwn(cut) && digestInName.test(cut.blob)) this.#due.set(cut.blob, { seq, isThere: false })
  }

  /** How many there should be. */
  get count(): number {
    return this.#due.size
  }

  /** What is to be read where they are kept. */
  names(): { name: string; inPieces: boolean }[] {
    return [...this.#due].map(([name, { kept }]) => ({ name, inPieces: kept !== undefined }))
  }

  /** One that is kept as text. */
  text(blob: string, body: string): void {
    const due = this.#due.get(blob)
    if (!due || due.kept) return
    due.isThere = true
    if (sha256(body).slice(0, 16) !== digestInName.exec(blob)?.[1]) this.#break(due, isChanged)
  }

  /** The next piece of one that is kept in pieces. */
  piece(blob: string, bytes: Uint8Array, isLast: boolean): void {
    const due = this.#due.get(blob)
    if (!due?.kept) return
    if (this.#open?.blob !== blob) this.#open = { blob, hash: createHash('sha256'), bytes: 0 }
    const open = this.#open
    open.hash.update(bytes)
    open.bytes += bytes.length
    if (!isLast) return
    this.#open = undefined
    due.isThere = true
    if (open.bytes !== due.kept.bytes || open.hash.digest('hex') !== due.kept.sha256)
      this.#break(due, isChanged)
  }

  /** The first that is missing, or not as it was recorded. */
  end(): Broken | undefined {
    for (const due of this.#due.values()) if (!due.isThere) this.#break(due, 'is missing')
    return this.#broken
  }

  #break({ seq }: Due, what: string): void {
    if (this.#broken && this.#broken.seq <= seq) return
    this.#broken = { seq, why: `the output that is kept beside the log for event ${seq} ${what}` }
  }
}

const isChanged = 'is not as it was recorded'
