// DeltaKit for applications: its events and parts, a parser that accepts what DeltaKit's own parser accepts, and a
// reducer from events to messages. In addition to DeltaKit it knows calls that wait for a person or for the application.
// It fetches nothing: the events may come from any stream, socket or stored list.

import { isJsonObject, type Json, type JsonObject, parseBounded } from '../lib/json/index.ts'
import { randomIds } from '../lib/text/random.ts'
import type * as wire from '../wires/deltakit/schema.ts'

// ---- events -----------------------------------------------------------------------------------------------------

/** An event of the wire. DeltaKit's own servers may leave ids out, and have reasons of their own. */
export type DeltaKitEvent =
  | Exclude<wire.DeltaKitEvent, wire.ToolCall | wire.ToolResult | wire.RunStarted | wire.Stopped>
  | (Omit<wire.ToolCall, 'call_id'> & { call_id?: string | null })
  | (Omit<wire.ToolResult, 'call_id'> & { call_id: string | null })
  | (Omit<wire.RunStarted, 'sessionId'> & { sessionId?: string })
  | (Omit<wire.Stopped, 'reason'> & { reason: string })

/** A known event, or any other object with a type. */
export type AnyDeltaKitEvent = DeltaKitEvent | (JsonObject & { type: string })

/** An event ends with two LFs. Each `data:` line is a document of its own. Bad JSON is skipped. */
export async function* parseDeltaKit(
  stream: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<AnyDeltaKitEvent, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (!signal?.aborted) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const line of blocks.flatMap(block => block.split('\n'))) {
        if (!line.startsWith('data:')) continue
        const data = line.slice('data:'.length).trim()
        if (data === '[DONE]') return
        const event = parseDeltaKitEvent(data)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Parses one document: a line of a stream or a frame of a socket. Undefined when it is not an event. */
export function parseDeltaKitEvent(text: string): AnyDeltaKitEvent | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // Only the type is checked, as in DeltaKit: a reader skips the kinds that it does not know.
    if (isJsonObject(value) && typeof value['type'] === 'string') return value as AnyDeltaKitEvent
  } catch {
    return undefined
  }
  return undefined
}

// ---- messages ---------------------------------------------------------------------------------------------------

export type DeltaKitTextPart = { type: 'text'; text: string }
export type DeltaKitReasoningPart = { type: 'reasoning'; text: string }
export type ToolCallPart = {
  type: 'tool_call'
  tool_name: string
  /** JSON text. */
  argument: string
  callId?: string
  /** Undefined: pending. */
  result?: string
  /** Set once a person has been asked. `hash` identifies exactly these arguments. */
  approval?: { hash: string; reason?: string; expiresAt?: string }
  /** The application is to run it. */
  execute?: true
}
export type DeltaKitPart = DeltaKitTextPart | DeltaKitReasoningPart | ToolCallPart
export type DeltaKitMessage = { id: string; role: 'user' | 'assistant'; parts: DeltaKitPart[] }

/** Adds what the user says, and the empty answer that events will fill. */
export function withUserMessage(messages: readonly DeltaKitMessage[], text: string): DeltaKitMessage[] {
  const newId = randomIds()
  return [
    ...messages,
    { id: newId('msg'), role: 'user', parts: [{ type: 'text', text }] },
    { id: newId('msg'), role: 'assistant', parts: [] },
  ]
}

/** Adds an empty answer for events to fill, unless there is one at the end. */
export function withAssistantMessage(messages: readonly DeltaKitMessage[]): DeltaKitMessage[] {
  if (messages.at(-1)?.role === 'assistant') return [...messages]
  return [...messages, { id: randomIds()('msg'), role: 'assistant', parts: [] }]
}

/** Returns the messages after an event. Only the last one changes, and only if it is the assistant's. */
export function applyDeltaKit(
  messages: readonly DeltaKitMessage[],
  event: AnyDeltaKitEvent,
): DeltaKitMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return [...messages]
  // An event of an unknown type changes nothing.
  const parts = partsAfter(last.parts, event as DeltaKitEvent)
  return parts === last.parts ? [...messages] : [...messages.slice(0, -1), { ...last, parts }]
}

function partsAfter(parts: DeltaKitPart[], event: DeltaKitEvent): DeltaKitPart[] {
  switch (event.type) {
    case 'text_delta':
      return withDelta(parts, 'text', event.delta)
    case 'reasoning':
      return withDelta(parts, 'reasoning', event.text)
    case 'tool_call': {
      const { tool_name, argument, call_id } = event
      return [...parts, { type: 'tool_call', tool_name, argument, ...(call_id && { callId: call_id }) }]
    }
    case 'tool_result':
      return withCall(parts, event.call_id, { result: event.output })
    case 'tool_approval_request': {
      const { arguments_hash: hash, reason, expires_at: expiresAt } = event
      const approval = {
        hash,
        ...(reason !== undefined && { reason }),
        ...(expiresAt !== undefined && { expiresAt }),
      }
      return withCall(parts, event.call_id, { approval })
    }
    case 'tool_execute_request':
      return withCall(parts, event.call_id, { execute: true })
    case 'tool_call_edited':
      return withCall(parts, event.call_id, { argument: event.argument })
    default:
      return parts
  }
}

function withDelta(parts: DeltaKitPart[], type: 'text' | 'reasoning', delta: string): DeltaKitPart[] {
  const last = parts.at(-1)
  return last?.type === type
    ? [...parts.slice(0, -1), { type, text: last.text + delta }]
    : [...parts, { type, text: delta }]
}

/** Changes the call with this id. Without an id, the last call that has no result. */
function withCall(
  parts: DeltaKitPart[],
  callId: string | null,
  changes: Partial<ToolCallPart>,
): DeltaKitPart[] {
  const at = parts.findLastIndex(
    part => part.type === 'tool_call' && (callId ? part.callId === callId : part.result === undefined),
  )
  const call = parts[at]
  return call?.type === 'tool_call' ? parts.with(at, { ...call, ...changes }) : parts
}

// ---- calls ------------------------------------------------------------------------------------------------------

export function isPending(part: DeltaKitPart): part is ToolCallPart {
  return part.type === 'tool_call' && part.result === undefined
}

/** The waiting calls of the last message: for a person's approval, and for the application to run. */
export function waitingCalls(messages: readonly DeltaKitMessage[]): {
  approvals: ToolCallPart[]
  executions: ToolCallPart[]
} {
  const pending = (messages.at(-1)?.parts ?? []).filter(isPending)
  return {
    approvals: pending.filter(part => part.approval !== undefined),
    executions: pending.filter(part => part.execute === true),
  }
}

/** A call's arguments as a value. Undefined when they are not JSON, or nest too deep. */
export function readArgument(part: Pick<ToolCallPart, 'argument'>): Json | undefined {
  return parseBounded(part.argument)
}
