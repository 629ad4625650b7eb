// Token counts as all vendors give them, under our names. Counts of zero are left out, but for the two that every
// answer has.

import type { Usage } from '../../language/events.ts'

type Counts = { input: number; output: number; cacheRead?: number; cacheWrite?: number; thinking?: number }

/** `input` includes what was read from the cache or written to it; `output` includes thinking. */
export function usageOfCounts({ input, output, cacheRead = 0, cacheWrite = 0, thinking = 0 }: Counts): Usage {
  return {
    input,
    output,
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(thinking > 0 && { thinking }),
  }
}
