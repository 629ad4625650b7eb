// A recorded event as a client that is no operator may read it.
import type { Event } from '../language/events.ts'

/** Without what a tool threw: it names places in the tool's code, and is for operators. */
export function publicEvent(event: Event): Event {
  if (!('outcome' in event)) return event
  const { thrown, ...outcome } = event.outcome
  return thrown === undefined ? event : { ...event, outcome }
}
