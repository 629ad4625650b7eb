// Messages in the order in which they arrived. The SDK hands each to its handler in a task of its own, so that a
// cancellation can overtake the prompt it is for, or hit the one after it. What depends on order is noted here, before
// the message goes on its way.
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { isJsonObject } from '../../lib/json.ts'

export type Arrival =
  | { type: 'prompt'; requestId: string; sessionId: string }
  | { type: 'cancel'; sessionId: string }

export function noteArrivals(stream: Stream, arrived: (arrival: Arrival) => void): Stream {
  const noting = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      const arrival = arrivalOf(message)
      if (arrival) arrived(arrival)
      controller.enqueue(message)
    },
  })
  return { readable: stream.readable.pipeThrough(noting), writable: stream.writable }
}

function arrivalOf(message: unknown): Arrival | undefined {
  if (!isJsonObject(message) || !isJsonObject(message['params'])) return undefined
  const { method, id, params } = message
  const { sessionId } = params
  if (typeof sessionId !== 'string') return undefined
  if (method === 'session/prompt' && id !== undefined)
    return { type: 'prompt', requestId: requestKey(id), sessionId }
  if (method === 'session/cancel' && id === undefined) return { type: 'cancel', sessionId }
  return undefined
}

/** `1` and `"1"` are two ids. */
export function requestKey(id: unknown): string {
  return JSON.stringify(id)
}
