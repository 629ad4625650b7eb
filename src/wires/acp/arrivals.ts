// The order in which messages arrive. The SDK handles each message in a task of its own, so a cancellation could overtake
// its prompt or hit the next one. Prompts and cancellations are therefore noted here, before they are handled.
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { isJsonObject } from '../../lib/json.ts'

export type Arrival =
  | { type: 'prompt'; requestId: string; sessionId: string }
  | { type: 'cancel'; sessionId: string }
  | { type: 'cancel-request'; requestId: string }

export function noteArrivals(stream: Stream, arrived: (arrival: Arrival) => void): Stream {
  const noting = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      const arrival = decodeArrival(message)
      if (arrival) arrived(arrival)
      controller.enqueue(message)
    },
  })
  return { readable: stream.readable.pipeThrough(noting), writable: stream.writable }
}

function decodeArrival(message: unknown): Arrival | undefined {
  if (!isJsonObject(message) || !isJsonObject(message['params'])) return undefined
  const { method, id, params } = message
  const { sessionId, requestId } = params
  if (id === undefined && method === '$/cancel_request')
    return { type: 'cancel-request', requestId: requestKey(requestId) }
  if (typeof sessionId !== 'string') return undefined
  if (id === undefined && method === 'session/cancel') return { type: 'cancel', sessionId }
  if (id !== undefined && method === 'session/prompt')
    return { type: 'prompt', requestId: requestKey(id), sessionId }
  return undefined
}

/** The ids `1` and `"1"` are different. */
export function requestKey(id: unknown): string {
  return JSON.stringify(id) ?? ''
}
