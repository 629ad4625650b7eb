// The order in which messages arrive. The SDK handles each message in a task of its own, so a cancellation could overtake
// its prompt or hit the next one. Prompts and cancellations are therefore noted here, before they are handled.
import { type AnyMessage, RequestError, type Stream } from '@agentclientprotocol/sdk'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'

export type Arrival =
  | { type: 'prompt'; requestId: string; sessionId: string }
  | { type: 'cancel'; sessionId: string }
  | { type: 'cancel-request'; requestId: string }

/** Requests of ours that may be unanswered. A client that never answers must not fill the memory. */
const maxAsked = 10_000

/**
 * Entries of one list, and all values of a message but for `_meta`, which nobody checks. The SDK tries every form on every
 * value and answers with every fault: tens of thousands hold the event loop.
 */
const most = { items: 1_000, values: 20_000 }

/**
 * Messages with more are refused here; a response with more becomes an error. Messages that the SDK could only print about are left out: cancellations,
 * which are done once they are noted, and responses to no request of ours.
 */
export function noteArrivals(stream: Stream, arrived: (arrival: Arrival) => void): Stream {
  const asked = new Set<string>()
  const writer = stream.writable.getWriter()
  const refuse = (message: AnyMessage, words: string): void => {
    if (!('method' in message) || !('id' in message)) return
    const error = RequestError.invalidParams(undefined, words).toErrorResponse()
    writer.write({ jsonrpc: '2.0', id: message.id, error }).catch(() => {})
  }
  const inbound = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if (isResponse(message)) {
        if (asked.delete(requestKey(message['id']))) controller.enqueue(checkedResponse(message))
        return
      }
      const excess = 'params' in message ? excessIn(message.params) : undefined
      if (excess !== undefined) {
        refuse(message, excess)
        return
      }
      const arrival = decodeArrival(message)
      if (arrival) arrived(arrival)
      if (!isCancel(message)) controller.enqueue(message)
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

function checkedResponse(response: AnyMessage & JsonObject): AnyMessage {
  const excess = excessIn(response['result'])
  if (excess === undefined) return response
  const error = RequestError.invalidParams(undefined, excess).toErrorResponse()
  // It has the id of a request of ours.
  return { jsonrpc: '2.0', id: response['id'], error } as AnyMessage
}

/** The limit that the message exceeds, in words. Undefined: none. */
function excessIn(top: unknown): string | undefined {
  let values = 0
  const visit = (value: unknown, path: string): string | undefined => {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value) && value.length > most.items)
      return `${path} has more than ${inWords(most.items)} entries. Send fewer.`
    for (const [key, inner] of Object.entries(value)) {
      if (key === '_meta') continue
      values += 1
      if (values > most.values) return `The message has more than ${inWords(most.values)} values. Send fewer.`
      const excess = visit(inner, path === '' ? key.slice(0, 200) : `${path}.${key}`.slice(0, 200))
      if (excess !== undefined) return excess
    }
    return undefined
  }
  return visit(top, '')
}

function inWords(count: number): string {
  return count.toLocaleString('en')
}

function isCancel(message: unknown): boolean {
  return isJsonObject(message) && message['method'] === 'session/cancel' && message['id'] === undefined
}

function isResponse<Message>(message: Message): message is Message & JsonObject {
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
