// How often one owner may open event streams. Each opening reads the log from some place on: a client in a hurry to
// reconnect would otherwise keep the server busy with that alone. A bucket of openings per owner, filled as time passes.
import { TurnwireError } from '../language/errors.ts'

type Bucket = { left: number; at: number }

const owners = 10_000

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
    // The one that was idle longest has a full bucket again: forgetting it changes nothing.
    if (buckets.size > owners) buckets.delete(buckets.keys().next().value ?? '')
    if (bucket.left < 1)
      throw new TurnwireError(
        'rate_limited',
        'Too many event streams were opened. Wait a second before the next.',
      )
    bucket.left -= 1
  }
}
