// Rate limits for a server: lines of the log, updates of a call, and the work that its notifications cause.
import type { McpOptions } from './index.ts'

type ReadClock = () => number
type PacedLog = NonNullable<McpOptions['log']>

const minuteMs = 60_000
const mostLines = 120
/** Times that a change is looked at in a minute. */
const mostLooks = 10

/** True as often as `most` in a minute. The time of day may be set back or forward, so it is not used. */
export function perMinute(most: number, now: ReadClock = () => performance.now()): () => boolean {
  const count = countPerMinute(now)
  return () => count() <= most
}

/** How often it was called in this minute. */
function countPerMinute(now: ReadClock): () => number {
  let since = Number.NEGATIVE_INFINITY
  let count = 0
  return () => {
    if (now() - since >= minuteMs) [since, count] = [now(), 0]
    count += 1
    return count
  }
}

/** Writes at most 120 lines a minute, and one more that says so. */
export function limitedLog(
  log: PacedLog | undefined,
  server: string,
  now: ReadClock = () => performance.now(),
): PacedLog {
  const count = countPerMinute(now)
  return (level, message, fields) => {
    const number = count()
    if (number <= mostLines) log?.(level, message, fields)
    else if (number === mostLines + 1)
      log?.('warn', `An MCP server caused more than ${mostLines} lines in a minute. The rest is left out.`, {
        server,
      })
  }
}

const firstPauseMs = 500
export const longestPauseMs = minuteMs

/** The pause before a connection is tried again: it doubles with each failure, and differs from that of others. */
export function retryPauseMs(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** failures) * (0.75 + Math.random() / 2)
}

/** Does its work at most ten times a minute. Requests beyond that cause one more run when the minute is over. */
export class Paced {
  readonly #act: () => void
  readonly #now: ReadClock
  #since = Number.NEGATIVE_INFINITY
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(act: () => void, now: ReadClock = () => performance.now()) {
    this.#act = act
    this.#now = now
  }

  ask(): void {
    if (this.#timer !== undefined) return
    const now = this.#now()
    if (now - this.#since >= minuteMs) [this.#since, this.#count] = [now, 0]
    if (this.#count >= mostLooks) {
      this.#timer = setTimeout(() => this.#late(), this.#since + minuteMs - now).unref()
      return
    }
    this.#count += 1
    this.#act()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #late(): void {
    this.#timer = undefined
    // A timer may be early by a fraction of a millisecond.
    this.#since = Number.NEGATIVE_INFINITY
    this.ask()
  }
}
