// The order in which messages arrive. The SDK handles each message in a task of its own, so a cancellation could overtake
// its prompt or hit the next one. Prompts and cancellations are therefore noted here, before they are handled.
import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'

export type Arrival =
  | { type: 'prompt'; requestId: string; sessionId: string }
  | { type: 'cancel'; sessionId: string }
  | { type: 'cancel-request'; requestId: string }

/** Requests of ours that may be unanswered. A client that never answers must not fill the memory. */
const maxAsked = 10_000

/** Entries of one list. The SDK tries every form on every entry: tens of thousands hold the event loop. */
const mostItems = 1000

/**
 * Messages with a longer list are refused here. Messages that the SDK could only print about are left out: cancellations,
 * which are done once they are noted, and responses to no request of ours.
 */
export function noteArrivals(stream: Stream, arrived: (arrival: Arrival) => void): Stream {
  const asked = new Set<string>()
  const writer = stream.writable.getWriter()
  const refuse = (message: AnyMessage, list: string): void => {
    if (!('method' in message) || !('id' in message)) return
    const words = `${list} has more than ${mostItems.toLocaleString('en')} entries. Send fewer.`
    const error = RequestError.invalidParams(undefined, words).toErrorResponse()
    writer.write({ jsonrpc: '2.0', id: message.id, error }).catch(() => {})
  }
  const inbound = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      const list = longList(message)
      if (list !== undefined) {
        refuse(message, list)
        return
      }
      const arrival = decodeArrival(message)
      if (arrival) arrived(arrival)
      if (isCancel(message) || (isResponse(message) && !asked.delete(requestKey(message['id'])))) return
      controller.enqueue(message)
    },
  })
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if ('method' in message && 'id' in message) asked.add(requestKey(message.id))
      const [oldest] = asked
      if (asked.size > maxAsked && oldest !== undefined) asked.delete(oldest)
      return writer.write(message)
    },
    close: () => writer.close(),
    abort: reason => writer.abort(reason),
  })
  return { readable: stream.readable.pipeThrough(inbound), writable }
}

/** The name of a list of the parameters that is too long. */
function longList(message: unknown): string | undefined {
  if (!isJsonObject(message) || !isJsonObject(message['params'])) return undefined
  return Object.entries(message['params']).find(
    ([, value]) => Array.isArray(value) && value.length > mostItems,
  )?.[0]
}

function isCancel(message: unknown): boolean {
  return isJsonObject(message) && message['method'] === 'session/cancel' && message['id'] === undefined
}

function isResponse(message: unknown): message is JsonObject {
  if (!isJsonObject(message) || 'method' in message) return false
  return 'id' in message || 'result' in message || 'error' in message
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
