// From stored batches to numbered events. Each batch is parsed by itself: joining them first was measured to
// cost half as much again.
import type { Event, Recorded } from '../../language/events.ts'
import type { Batch } from './statements/select-batches.ts'

/** The events with a number greater than `after`. */
export function decodeBatches(batches: readonly Batch[], after: number): Recorded[] {
  const recorded: Recorded[] = []
  for (const [first, body] of batches) {
    let seq = first
    const events = JSON.parse(body) as Event[] // the log holds nothing but what was stringified as events
    for (const event of events) {
      if (seq > after) recorded.push({ seq, event })
      seq++
    }
  }
  return recorded
}
