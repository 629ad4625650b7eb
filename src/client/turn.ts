// One turn under way: its events as they come, and the answer that they add up to. It can be read once, either way.
import { isJsonObject, type JsonObject } from '../lib/json.ts'
import { decodeSse, type SseMessage } from '../lib/sse.ts'
import { AapError } from './errors.ts'
import { TurnFold, unfold } from './fold.ts'
import type { Ask, Content, Stop, StopReason, TurnAnswer, TurnEvent } from './types.ts'

export class Turn implements AsyncIterable<TurnEvent> {
  readonly #events: AsyncGenerator<TurnEvent, void, undefined>
  readonly #fold = new TurnFold()

  constructor(response: Response) {
    this.#events = read(response)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    for await (const event of this.#events) {
      this.#fold.take(event)
      yield event
    }
  }

  /** Reads what is left of the turn and gives the whole of it. */
  async answer(): Promise<TurnAnswer> {
    for await (const event of this) void event
    const { stop, messages } = this.#fold
    if (stop === undefined)
      throw new AapError(0, 'connection_lost', 'The turn was left before it had stopped.')
    return { ...stop, messages }
  }
}

async function* read(response: Response): AsyncGenerator<TurnEvent, void, undefined> {
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('text/event-stream')) {
    yield* unfold(answerOf(await response.json().catch(() => undefined)))
    return
  }
  if (response.body === null) throw lost()
  try {
    for await (const message of decodeSse(response.body)) {
      const event = eventOf(message)
      if (event === undefined) continue
      yield event
      // Some servers say it twice; the first is the one that counts.
      if (event.event === 'turn_stop') return
    }
  } catch (cause) {
    if (cause instanceof AapError || (cause instanceof Error && cause.name === 'AbortError')) throw cause
    throw lost(cause)
  }
  throw lost()
}

function lost(cause?: unknown): AapError {
  return new AapError(
    0,
    'connection_lost',
    'The stream ended before the turn had stopped. The turn may still go on at the server: its history says.',
    { cause },
  )
}

const stopReasons: readonly StopReason[] = ['end_turn', 'tool_use', 'max_tokens', 'refusal', 'error']

function answerOf(value: unknown): TurnAnswer {
  if (isJsonObject(value) && isStopReason(value['stopReason']) && Array.isArray(value['messages']))
    // Messages are passed on as they came: a reader skips the kinds that it does not know.
    return { ...stopOf(value), messages: value['messages'] as TurnAnswer['messages'] }
  throw new AapError(0, 'unexpected_answer', 'The answer to a turn has no stopReason or no messages.')
}

function isStopReason(value: unknown): value is StopReason {
  return stopReasons.some(reason => reason === value)
}

function stopOf(members: JsonObject): Stop {
  const { stopReason, error, code, limit, asks } = members
  const given = Array.isArray(asks) ? asks.flatMap(askOf) : []
  return {
    stopReason: isStopReason(stopReason) ? stopReason : 'error',
    ...(typeof error === 'string' && { error }),
    ...(typeof code === 'string' && { code }),
    ...(typeof limit === 'string' && { limit }),
    ...(given.length > 0 && { asks: given }),
  }
}

function askOf(value: unknown): Ask[] {
  if (!isJsonObject(value) || typeof value['toolCallId'] !== 'string') return []
  const { toolCallId, reason, expiresAt } = value
  return [
    {
      toolCallId,
      ...(typeof reason === 'string' && { reason }),
      ...(typeof expiresAt === 'number' && { expiresAt }),
    },
  ]
}

/** Undefined: an event that this client does not know, which is no reason to stop. */
function eventOf({ event, data }: SseMessage): TurnEvent | undefined {
  const members = parsed(data)
  switch (event) {
    case 'turn_start':
      return { event }
    case 'text_delta':
    case 'thinking_delta':
      return { event, delta: text(members, 'delta') }
    case 'text':
      return { event, text: text(members, 'text') }
    case 'thinking':
      return { event, thinking: text(members, 'thinking') }
    case 'tool_call': {
      const { input } = members
      return {
        event,
        toolCallId: text(members, 'toolCallId'),
        name: text(members, 'name'),
        input: input !== undefined && isJsonObject(input) ? input : {},
      }
    }
    case 'tool_result': {
      const { content } = members
      const given = typeof content === 'string' || Array.isArray(content) ? content : ''
      // Blocks are passed on as they came: a reader skips the kinds that it does not know.
      return { event, toolCallId: text(members, 'toolCallId'), content: given as Content }
    }
    case 'turn_stop':
      return { event, ...stopOf(members) }
    default:
      return undefined
  }
}

function parsed(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data)
    if (isJsonObject(value)) return value
  } catch (cause) {
    throw new AapError(0, 'unexpected_answer', 'An event of the stream is not JSON.', { cause })
  }
  throw new AapError(0, 'unexpected_answer', 'An event of the stream is not an object.')
}

function text(members: JsonObject, name: string): string {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}
