// When a message is sent again that was not taken. Pure.

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** After the first attempt, the second, and so on: about three days in all. */
const waits = [
  5 * second,
  30 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** A receiver may ask for more time, but not for a message to be kept for ever. */
const longest = 24 * hour

export const mostAttempts = waits.length + 1

/**
 * Milliseconds until the next attempt. Undefined: there is none. `chance` is from 0 to 1: the wait is up to a fifth longer, so that
 * messages that failed together are not sent together again. `retryAfterMs`: what the receiver asked for; it is never asked before.
 */
export function nextWait(attempts: number, chance: number, retryAfterMs = 0): number | undefined {
  const wait = waits[attempts - 1]
  if (wait === undefined) return undefined
  return Math.round(Math.max(wait * (1 + chance / 5), Math.min(retryAfterMs, longest)))
}
