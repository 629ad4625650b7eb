// One turn as the server sends it: its events, and the answer that they add up to. It can be read once, as either.
import type { Report } from '../language/report.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { decodeSse, type SseMessage } from '../lib/net/sse.ts'
import { AapError } from './errors.ts'
import { TurnFold, unfold } from './fold.ts'
import { parseMessage } from './live.ts'
import type {
  Content,
  PermissionQuestion,
  StopInfo,
  StopReason,
  ToolQuestion,
  TurnAnswer,
  TurnEvent,
} from './types.ts'

export class TurnStream implements AsyncIterable<TurnEvent> {
  readonly #events: AsyncGenerator<TurnEvent, void, undefined>
  readonly #fold = new TurnFold()

  constructor(response: Response) {
    this.#events = readEvents(response)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    for await (const event of this.#events) {
      this.#fold.take(event)
      yield event
    }
  }

  /** Reads the rest of the turn and returns the whole answer. */
  async answer(): Promise<TurnAnswer> {
    for await (const event of this) void event
    const { stop, messages } = this.#fold
    if (stop === undefined)
      throw new AapError(0, 'connection_lost', 'The turn was left before it had stopped.')
    return { ...stop, messages }
  }
}

async function* readEvents(response: Response): AsyncGenerator<TurnEvent, void, undefined> {
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('text/event-stream')) {
    yield* unfold(decodeAnswer(await response.json().catch(() => undefined)))
    return
  }
  if (response.body === null) throw connectionLost()
  try {
    for await (const message of decodeSse(response.body)) {
      const event = decodeTurnEvent(message)
      if (event === undefined) continue
      yield event
      // Some servers send it twice. The first one counts.
      if (event.event === 'turn_stop') return
    }
  } catch (cause) {
    if (cause instanceof AapError || (cause instanceof Error && cause.name === 'AbortError')) throw cause
    throw connectionLost(cause)
  }
  throw connectionLost()
}

function connectionLost(cause?: unknown): AapError {
  return new AapError(
    0,
    'connection_lost',
    'The stream ended before the turn had stopped. The turn may still go on at the server: its history says.',
    { cause },
  )
}

const knownReasons: readonly StopReason[] = ['end_turn', 'tool_use', 'max_tokens', 'refusal', 'error']

function decodeAnswer(value: unknown): TurnAnswer {
  if (isJsonObject(value) && isStopReason(value['stopReason']) && Array.isArray(value['messages']))
    // Messages are passed on unchecked: a reader skips the kinds that it does not know.
    return { ...decodeStop(value), messages: value['messages'] as TurnAnswer['messages'] }
  throw new AapError(0, 'unexpected_answer', 'The answer to a turn has no stopReason or no messages.')
}

function isStopReason(value: unknown): value is StopReason {
  return knownReasons.some(reason => reason === value)
}

function decodeStop(members: JsonObject): StopInfo {
  const { stopReason, error, code, limit, asks, questions } = members
  const permissions = Array.isArray(asks) ? asks.flatMap(decodePermissionQuestion) : []
  const asked = Array.isArray(questions) ? questions.flatMap(decodeToolQuestion) : []
  return {
    stopReason: isStopReason(stopReason) ? stopReason : 'error',
    ...(typeof error === 'string' && { error }),
    ...(typeof code === 'string' && { code }),
    ...(typeof limit === 'string' && { limit }),
    ...(permissions.length > 0 && { asks: permissions }),
    ...(asked.length > 0 && { questions: asked }),
  }
}

function decodeToolQuestion(value: unknown): ToolQuestion[] {
  if (!isJsonObject(value)) return []
  const { questionId, toolCallId, message, schema, url, expiresAt } = value
  if (typeof questionId !== 'string' || typeof toolCallId !== 'string') return []
  return [
    {
      questionId,
      toolCallId,
      message: typeof message === 'string' ? message : '',
      ...(schema !== undefined && isJsonObject(schema) && { schema }),
      ...(typeof url === 'string' && { url }),
      ...(typeof expiresAt === 'number' && { expiresAt }),
    },
  ]
}

function decodePermissionQuestion(value: unknown): PermissionQuestion[] {
  if (!isJsonObject(value) || typeof value['toolCallId'] !== 'string') return []
  const { toolCallId, reason, expiresAt, preview } = value
  return [
    {
      toolCallId,
      ...(typeof reason === 'string' && { reason }),
      ...(typeof expiresAt === 'number' && { expiresAt }),
      // The server's gate has checked its members.
      ...(isJsonObject(preview) && { preview: preview as Report }),
    },
  ]
}

/** Undefined for an event that this client does not know. Such events are skipped. */
function decodeTurnEvent(message: SseMessage): TurnEvent | undefined {
  const { event } = message
  const members = parseMembers(message)
  switch (event) {
    case 'turn_start':
      return { event }
    case 'text_delta':
    case 'thinking_delta':
      return { event, delta: stringMember(members, 'delta') }
    case 'text':
      return { event, text: stringMember(members, 'text') }
    case 'thinking':
      return { event, thinking: stringMember(members, 'thinking') }
    case 'tool_call': {
      const { input } = members
      return {
        event,
        toolCallId: stringMember(members, 'toolCallId'),
        name: stringMember(members, 'name'),
        input: input !== undefined && isJsonObject(input) ? input : {},
      }
    }
    case 'tool_result': {
      const { content, report } = members
      const given = typeof content === 'string' || Array.isArray(content) ? content : ''
      return {
        event,
        toolCallId: stringMember(members, 'toolCallId'),
        // Blocks are passed on unchecked: a reader skips the kinds that it does not know.
        content: given as Content,
        // The server's gate has checked its members.
        ...(isJsonObject(report) && { report: report as Report }),
      }
    }
    case 'turn_stop':
      return { event, ...decodeStop(members) }
    default:
      return undefined
  }
}

function parseMembers(message: SseMessage): JsonObject {
  const value = parseMessage(message)
  if (isJsonObject(value)) return value
  throw new AapError(0, 'unexpected_answer', 'An event of the stream is not an object.')
}

function stringMember(members: JsonObject, name: string): string {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}
