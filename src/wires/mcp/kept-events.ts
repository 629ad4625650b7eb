// The messages that a session of the older revision was sent lately, so that a client whose stream broke gets the rest
// of it (Last-Event-ID). They live as long as the session of the protocol: in memory. The newest are kept, up to a
// limit of bytes; a client that asks for older ones is refused, and starts again. The log has the results of calls.
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'
import { roughSize } from '../../lib/json/plain.ts'

const defaultMostBytes = 1024 * 1024

type KeptEvent = { id: string; stream: string; message: JSONRPCMessage; bytes: number }

export class KeptEvents implements EventStore {
  readonly #mostBytes: number
  /** In the order in which they were sent. */
  readonly #events: KeptEvent[] = []
  #bytes = 0
  #count = 0

  constructor(mostBytes = defaultMostBytes) {
    this.#mostBytes = mostBytes
  }

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    this.#count += 1
    const event = { id: String(this.#count), stream, message, bytes: roughSize(message) }
    this.#events.push(event)
    this.#bytes += event.bytes
    // The newest one stays, however large it is: it may be the answer that the client waits for.
    while (this.#bytes > this.#mostBytes && this.#events.length > 1)
      this.#bytes -= this.#events.shift()?.bytes ?? 0
    return event.id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find(event => event.id === id)?.stream
  }

  async replayEventsAfter(
    id: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const from = this.#events.findIndex(event => event.id === id)
    const stream = this.#events[from]?.stream
    if (stream === undefined) throw new Error('This event is not kept any more.')
    for (const event of this.#events.slice(from + 1))
      if (event.stream === stream && isMessage(event.message)) await send(event.id, event.message)
    return stream
  }
}

/** A stream begins with an empty event, whose id a client can come back with. */
function isMessage(message: JSONRPCMessage): boolean {
  return 'jsonrpc' in message
}
