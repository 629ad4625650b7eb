// A session's log, live: every event once and in order, across any number of broken connections. Items with a number are
// durable events. Deltas have none, and are not repeated after a reconnect. An extension of Turnwire to the protocol.
import type { Delta, Event } from '../language/events.ts'
import { isNumbered, parseMessage, readLive, type WatchOptions } from './live.ts'
import type { Transport } from './transport.ts'

export type { WatchOptions } from './live.ts'

export type Watched = { seq: number; event: Event } | { delta: Delta }

export async function* watch(
  transport: Transport,
  sessionId: string,
  options: WatchOptions = {},
): AsyncGenerator<Watched, void, undefined> {
  const path = `/sessions/${encodeURIComponent(sessionId)}/events`
  for await (const message of readLive(transport, path, options)) {
    const value = parseMessage(message)
    // Only durable events have an id. Their types are the server's own and are not checked.
    yield isNumbered(message) ? { seq: Number(message.id), event: value as Event } : { delta: value as Delta }
  }
}
