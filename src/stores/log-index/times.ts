// Times by size: each bucket ends a twelfth above where it begins, so that the time that most stay below is known within
// that. Counts of buckets add up, over hours and nodes; percentiles do not.

const perDoubling = 8
const unknown = -1

/** Undefined: not known. */
export function timeBucket(ms: number | undefined): number {
  if (ms === undefined) return unknown
  return ms < 1 ? 0 : 1 + Math.floor(Math.log2(ms) * perDoubling)
}

/** The times of many, by bucket. */
export class Durations {
  readonly #counts = new Map<number, number>()
  #all = 0

  add(bucket: number, n: number): void {
    if (bucket === unknown) return
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + n)
    this.#all += n
  }

  /** In ms. Undefined: none is known. */
  percentile(part: number): number | undefined {
    let left = Math.ceil(this.#all * part)
    for (const [bucket, n] of [...this.#counts].sort(([one], [two]) => one - two)) {
      left -= n
      if (left <= 0) return middle(bucket)
    }
    return undefined
  }
}

function middle(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / perDoubling))
}
