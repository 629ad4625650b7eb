// How the durable stores write a log: appends become rows of JSON text, and pages of events come back from them. It
// knows no database.
import type { Append, NewRecord, SessionRow } from '../engine/ports/index.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Event, Recorded } from '../language/events.ts'
import { type SpendingRow, spendingRows } from './spending-rows.ts'

/** Larger appends become several rows, so that reading a page never parses much more than the page. */
const LARGEST_BODY = 256 * 1024

/** An append in the form of its rows. `size`: of its events, in characters. `error`: why they are not JSON. */
export type EncodedLog = {
  bodies: EncodedEvents[]
  size: number
  status: SessionRow['status']
  lastAt: number | null
  summary?: string
  facts?: string
  spending?: SpendingRow[]
  records?: readonly NewRecord[]
  error?: string
}
type EncodedEvents = { count: number; body: string }

export function encodeLog({
  events,
  status,
  summary,
  facts,
  spending = [],
  records,
}: Pick<Append, 'events' | 'status' | 'summary' | 'facts' | 'spending' | 'records'>): EncodedLog {
  const log = { bodies: [], size: 0, status, lastAt: events.at(-1)?.at ?? null }
  try {
    return {
      ...log,
      ...encodeEvents(events),
      ...(summary && { summary: JSON.stringify(summary) }),
      ...(facts && { facts: JSON.stringify(facts) }),
      ...(spending.length > 0 && { spending: spendingRows(spending) }),
      ...(records && { records }),
    }
  } catch (thrown) {
    return { ...log, error: wordsOf(thrown) }
  }
}

export function checkEncoded({ error }: EncodedLog): void {
  if (error === undefined) return
  throw new TurnwireError('store_failed', `The events are not JSON and cannot be recorded: ${error}`)
}

/** An event is never split over rows, so a large one has a row of its own. */
function encodeEvents(events: readonly Event[]): Pick<EncodedLog, 'bodies' | 'size'> {
  const bodies: EncodedEvents[] = []
  let [count, body, size] = [0, '', 0]
  for (const event of events) {
    const text = JSON.stringify(event)
    if (count > 0 && body.length + text.length > LARGEST_BODY) {
      bodies.push({ count, body: `${body}]` })
      size += body.length + 1
      count = 0
    }
    body = count === 0 ? `[${text}` : `${body},${text}`
    count += 1
  }
  if (count > 0) {
    bodies.push({ count, body: `${body}]` })
    size += body.length + 1
  }
  return { bodies, size }
}

/** The row that begins with this event is not as it was written. */
export class UnreadableEvents extends TurnwireError {
  readonly seq: number

  constructor(seq: number) {
    super('store_failed', `Event ${seq} cannot be read: what the store has of it is damaged or was changed.`)
    this.seq = seq
  }
}

/** Undefined: `encodeEvents` did not write it. */
function decodeEvents(body: string): Event[] | undefined {
  try {
    const events: unknown = JSON.parse(body)
    return Array.isArray(events) ? events : undefined
  } catch {
    return undefined
  }
}

/** Collects events from rows, in order, until there are about `maxBytes` of JSON; the first event always fits. */
export class EventPage {
  readonly events: Recorded[] = []
  /** The number of the last event that was read. */
  last: number
  /** In characters of JSON. */
  room: number

  constructor(after: number, maxBytes: number) {
    this.last = after
    this.room = maxBytes
  }

  /** False: the page is full, and later rows do not belong to it. The row may begin before the page. */
  add(firstSeq: number, body: string): boolean {
    const fits = body.length <= this.room
    if (!fits && this.events.length > 0) return false
    const events = decodeEvents(body)
    // What stands before it is read first.
    if (!events && this.events.length > 0) return false
    if (!events) throw new UnreadableEvents(firstSeq)
    let seq = firstSeq - 1
    for (const event of events) {
      if (++seq <= this.last) continue
      if (!fits && this.events.length > 0 && this.room <= 0) return false
      this.events.push({ seq, event })
      if (!fits) this.room -= JSON.stringify(event).length
    }
    if (fits) this.room -= body.length
    this.last = Math.max(this.last, seq)
    return true
  }
}
