// From stored batches to numbered events. Each batch is parsed by itself: joining them first was measured to
// cost half as much again.
import type { Recorded } from '../../language/events.ts'
import { decodeEvents } from '../crowds.ts'
import type { Batch } from './statements/select-batches.ts'

/** The events with a number greater than `after`, from batches that come newest first. */
export function decodeBatches(batches: readonly Batch[], after: number): Recorded[] {
  const recorded: Recorded[] = []
  for (const [first, body] of batches.toReversed()) {
    let seq = first
    for (const event of decodeEvents(body)) {
      if (seq > after) recorded.push({ seq, event })
      seq++
    }
  }
  return recorded
}
