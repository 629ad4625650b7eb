// Limits how often one owner may open event streams: a token bucket per owner. Each opening reads the log, so a client that
// reconnects in a loop would keep the server busy.
import { TurnwireError } from '../language/errors.ts'

type Bucket = { left: number; at: number }

const mostOwners = 10_000

/** Gives a function that takes one from an owner's bucket, or refuses. */
export function rateLimit(
  perSecond: number,
  burst: number,
  now: () => number = Date.now,
): (owner: string) => void {
  const buckets = new Map<string, Bucket>()
  return owner => {
    const time = now()
    const bucket = buckets.get(owner) ?? { left: burst, at: time }
    bucket.left = Math.min(burst, bucket.left + (Math.max(time - bucket.at, 0) / 1000) * perSecond)
    bucket.at = time
    buckets.delete(owner)
    buckets.set(owner, bucket)
    // The owner that was idle longest has a full bucket again, so nothing is lost with it.
    if (buckets.size > mostOwners) buckets.delete(buckets.keys().next().value ?? '')
    if (bucket.left < 1)
      throw new TurnwireError(
        'rate_limited',
        'Too many event streams were opened. Wait a second before the next.',
      )
    bucket.left -= 1
  }
}
