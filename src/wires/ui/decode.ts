// A request of the AI SDK, into ours. It holds the whole chat every time: of a chat that is known only what is new
// counts (words, results of the client's tools, answers to questions); of one that is not, the rest begins a session.

import type { Agent, Answers, CallState } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { shaped } from '../http/index.ts'
import { leftOpen } from '../left-open.ts'
import { clientTool } from '../own-tools.ts'
import { type ChatRequest, schemas, type UiMessage } from './schema.ts'

export function decodeRequest(body: JsonObject): ChatRequest {
  const data = shaped(schemas().chatRequest, body)
  if (data.trigger === 'regenerate-message')
    refuse('An answer that was given is recorded and cannot be taken back. Send a new message instead.')
  return data
}

export function decodeTools(tools: ChatRequest['tools']): ToolDeclaration[] | undefined {
  return tools?.map(({ name, description, parameters, inputSchema }) =>
    clientTool(name, description, {
      form: 'json',
      schema: inputSchema ?? parameters ?? { type: 'object', properties: {} },
    }),
  )
}

// ---- the user's words ---------------------------------------------------------------------------------------

export function freshWords(messages: readonly UiMessage[], known: (id: string) => boolean): UiMessage[] {
  const fresh: UiMessage[] = []
  for (const message of messages.toReversed()) {
    if (message.role !== 'user' || known(message.id)) break
    fresh.unshift(message)
  }
  return fresh
}

/** Text and files. What is only for show (data, sources) is left out. */
export function decodeWords({ parts }: UiMessage, images: Agent['images']): InputPart[] {
  return parts.flatMap((part): InputPart[] => {
    const { type, text } = part
    if (type === 'text') return typeof text === 'string' && text !== '' ? [{ type, text }] : []
    return type === 'file' ? [fileOf(part, images)] : []
  })
}

function fileOf({ url, mediaType, filename }: JsonObject, images: Agent['images']): InputPart {
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    return refuse('A file part needs url and mediaType.')
  if (url.startsWith('data:')) {
    if (!images.data) refuse('This agent takes no embedded files.')
    if (!/^data:[\w.+-]+\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(url))
      refuse('An embedded file must be a data: URI in base64.')
  } else {
    if (!/^https:\/\//i.test(url) || url.length > 8192 || !URL.canParse(url))
      refuse('The url of a file must be an https:// address of at most 8192 characters, or a data: URI.')
    if (!images.http) refuse('This agent takes no files by address.')
  }
  if (mediaType.startsWith('image/')) return { type: 'image', url }
  return { type: 'file', url, mediaType, ...(typeof filename === 'string' && { name: filename }) }
}

// ---- tools --------------------------------------------------------------------------------------------------

export type ToolPart = { callId: string; name: string; state: string; part: JsonObject; message: string }

/** Static parts have their tool's name in their type, dynamic ones in a member. */
export function toolParts(messages: readonly UiMessage[]): ToolPart[] {
  return messages.flatMap(message =>
    message.role !== 'assistant' ? [] : message.parts.flatMap(part => toolPartOf(part, message.id)),
  )
}

function toolPartOf(part: JsonObject, message: string): ToolPart[] {
  const { type, toolCallId, state, toolName } = part
  if (typeof type !== 'string' || typeof toolCallId !== 'string' || typeof state !== 'string') return []
  const name =
    type === 'dynamic-tool' ? toolName : type.startsWith('tool-') ? type.slice('tool-'.length) : undefined
  return typeof name === 'string' ? [{ callId: toolCallId, name, state, part, message }] : []
}

/** What the parts answer of the calls that wait. All others have their answer, or are not known, and are left alone. */
export function decodeAnswers(
  parts: readonly ToolPart[],
  callOf: (callId: string) => CallState | undefined,
  by: string,
): Pick<Answers, 'results' | 'decisions'> & { message?: string } {
  const results: Answers['results'] = []
  const decisions: Answers['decisions'] = []
  let answered: string | undefined
  for (const { callId, state, part, message } of parts) {
    const stage = callOf(callId)?.stage
    const result = stage === 'handed' ? resultPartsOf(state, part) : undefined
    if (result) results.push({ callId, parts: result, ...(state === 'output-error' && { failed: true }) })
    const decision = stage === 'asking' && state === 'approval-responded' ? part['approval'] : undefined
    if (isJsonObject(decision) && typeof decision['approved'] === 'boolean') {
      const { approved, reason } = decision
      decisions.push({ callId, granted: approved, by, ...(typeof reason === 'string' && { reason }) })
    } else if (!result) continue
    answered = message
  }
  return { results, decisions, ...(answered !== undefined && { message: answered }) }
}

function resultPartsOf(state: string, { output, errorText }: JsonObject): ResultPart[] | undefined {
  if (state === 'output-error')
    return [{ type: 'text', text: typeof errorText === 'string' ? errorText : 'It failed.' }]
  if (state !== 'output-available') return undefined
  return [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output ?? null) }]
}

// ---- the beginning of a session -----------------------------------------------------------------------------

export type Seed = { entries: Entry[]; blobs: { name: string; body: string }[] }

export function decodeSeed(messages: readonly UiMessage[], agent: Agent): Seed {
  const seed: Seed = { entries: [], blobs: [] }
  for (const message of messages) {
    if (message.role === 'assistant')
      for (const step of stepsOf(message.parts)) seedStep(step, message.id, agent, seed)
    else {
      const parts = decodeWords(message, agent.images)
      if (parts.length === 0) continue
      if (message.role === 'user') seed.entries.push({ role: 'user', parts })
      else
        for (const part of parts)
          if (part.type === 'text') seed.entries.push({ role: 'system', text: part.text })
    }
  }
  return seed
}

function stepsOf(parts: readonly JsonObject[]): JsonObject[][] {
  const steps: JsonObject[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)!.push(part)
  }
  return steps.filter(step => step.length > 0)
}

function seedStep(step: readonly JsonObject[], message: string, agent: Agent, seed: Seed): void {
  const parts: AnswerPart[] = []
  const results: CallResult[] = []
  for (const part of step) {
    const { type, text } = part
    if ((type === 'text' || type === 'reasoning') && typeof text === 'string' && text !== '')
      parts.push({ type: type === 'text' ? type : 'thinking', text })
    const [tool] = toolPartOf(part, message)
    if (!tool) continue
    parts.push(callOf(tool))
    results.push({ callId: tool.callId, name: tool.name, outcome: outcomeOf(tool, agent, seed) })
  }
  if (parts.length > 0) seed.entries.push({ role: 'assistant', parts })
  if (results.length > 0) seed.entries.push({ role: 'tool', results })
}

function callOf({ callId, name, part: { input } }: ToolPart): CallPart {
  return typeof input === 'string'
    ? { type: 'call', id: callId, name, form: 'text', text: input }
    : { type: 'call', id: callId, name, form: 'json', text: JSON.stringify(input ?? {}) }
}

function outcomeOf({ callId, state, part }: ToolPart, agent: Agent, seed: Seed): Outcome {
  const parts = resultPartsOf(state, part)
  if (!parts) return state === 'output-denied' ? denied : leftOpen
  const { outcome, blob } = agent.gate.finishClient(parts, state === 'output-error', callId)
  if (blob) seed.blobs.push(blob)
  return outcome
}

const denied: Outcome = {
  kind: 'denied',
  parts: [{ type: 'text', text: 'Tool call denied' }],
  from: { source: 'runtime' },
}

/** The arguments as a value; undefined when they are no JSON. Free text is a string. */
export function inputOf(form: CallPart['form'], text: string): Json | undefined {
  if (form === 'text') return text
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text) as Json // JSON text yields nothing but JSON.
  } catch {
    return undefined
  }
}

function refuse(message: string): never {
  throw new TurnwireError('bad_request', message)
}
