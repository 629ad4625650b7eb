// A request of the AI SDK. It holds the whole chat every time: of a known chat only the new parts count (user messages,
// results of the client's tools, approvals); of a new one, earlier messages seed the session.

import type {
  AgentInfo,
  CreateSession,
  GivenAnswer,
  GivenDecision,
  GivenResult,
  SessionCall,
} from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { WaitMode } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { FormContent } from '../../language/questions.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { hashJson } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../../lib/json/index.ts'
import { freshMessages, type UserMessages } from '../client-threads.ts'
import { shaped } from '../http/index.ts'
import { leftOpen } from '../left-open.ts'
import { clientTool, declareOwn } from '../own-tools.ts'
import { openQuestions } from '../waiting-calls.ts'
import { type ChatRequest, schemas, type UiMessage } from './schema.ts'

export const uiWire = 'ui'

export function decodeChatRequest(body: JsonObject): ChatRequest {
  return shaped(schemas().chatRequest, body)
}

export function decodeMessageRequest(
  body: JsonObject,
  chat: string,
  agent: AgentInfo,
): { parts: InputPart[]; during: WaitMode; request: { key: string; hash: string } } {
  const { message, during = 'steer' } = shaped(schemas().messageRequest, body)
  const users = userMessages({ id: chat, messages: [message] } as ChatRequest, agent) // The fields that are read.
  const parts = users.parts(message)
  if (message.role !== 'user' || parts.length === 0)
    throw new TurnwireError('bad_request', 'message must be a user message with some text or a file.')
  return { parts, during, request: { key: users.key(message.id), hash: users.again(message).hash } }
}

export function decodeChatTools(tools: ChatRequest['tools']): ToolDeclaration[] | undefined {
  return tools?.map(({ name, description, parameters, inputSchema }) =>
    clientTool(name, description, {
      form: 'json',
      schema: inputSchema ?? parameters ?? { type: 'object', properties: {} },
    }),
  )
}

// ---- the user's words ---------------------------------------------------------------------------------------

const isUser = (message: UiMessage): message is UiMessage => message.role === 'user'

/**
 * A message that was sent before is shown again, or put to the model again if that failed. It is said anew if it was
 * changed, or if the answer is to be regenerated.
 */
export function userMessages(
  { id: chat, trigger }: ChatRequest,
  { images }: AgentInfo,
): UserMessages<UiMessage, UiMessage> {
  const key = (id: string): string => `${uiWire}:${chat}:${id}`
  const parts = (message: UiMessage): InputPart[] => decodeMessage(message, images)
  const again = trigger === 'regenerate-message' ? 'always' : 'changed'
  // Parts are JSON.
  const hash = (message: UiMessage): string => hashJson([key(message.id), parts(message) as Json])
  return { isUser, key, parts, again: message => ({ hash: hash(message), again }) }
}

/** Answers to questions that are open. A client may send the same answers again with a later message: they are left out. */
export function questionAnswers(
  { answers = [] }: ChatRequest,
  calls: readonly SessionCall[],
  by: string,
): GivenAnswer[] {
  const open = new Set(openQuestions(calls).map(({ id }) => id))
  return answers
    .filter(({ questionId }) => open.has(questionId))
    .map(({ questionId, action, content }) => ({
      question: questionId,
      action,
      by,
      // The engine checks it against the form.
      ...(content && { content: content as FormContent }),
    }))
}

/** How the session of a chat is created. Refuses the new messages before anything is made. */
export function chatCreation(
  { messages, tools }: ChatRequest,
  agent: AgentInfo,
): Pick<CreateSession, 'settings' | 'seed'> {
  const fresh = freshMessages(messages, { isUser })
  for (const message of fresh)
    if (decodeMessage(message, agent.images).length === 0) refuseUi('The user message is empty.')
  const plain = { tools: null, options: {}, clientTools: [] }
  const own = decodeChatTools(tools)
  return {
    settings: own ? { ...plain, ...declareOwn(plain, uiWire, own) } : plain,
    seed: decodeSeed(messages.slice(0, messages.length - fresh.length), agent),
  }
}

/** Text and files. Parts that are only for display (data, sources) are left out. */
function decodeMessage({ parts }: UiMessage, images: AgentInfo['images']): InputPart[] {
  return parts.flatMap((part): InputPart[] => {
    const { type, text } = part
    if (type === 'text') return typeof text === 'string' && text !== '' ? [{ type, text }] : []
    return type === 'file' ? [decodeFile(part, images)] : []
  })
}

function decodeFile({ url, mediaType, filename }: JsonObject, images: AgentInfo['images']): InputPart {
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    return refuseUi('A file part needs url and mediaType.')
  if (url.startsWith('data:')) {
    if (!images.data) refuseUi('This agent takes no embedded files.')
    if (!/^data:[\w.+-]+\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(url))
      refuseUi('An embedded file must be a data: URI in base64.')
  } else {
    if (!/^https:\/\//i.test(url) || url.length > 8192 || !URL.canParse(url))
      refuseUi('The url of a file must be an https:// address of at most 8192 characters, or a data: URI.')
    if (!images.http) refuseUi('This agent takes no files by address.')
  }
  if (mediaType.startsWith('image/')) return { type: 'image', url }
  return { type: 'file', url, mediaType, ...(typeof filename === 'string' && { name: filename }) }
}

// ---- tools --------------------------------------------------------------------------------------------------

export type ToolPart = { callId: string; name: string; state: string; part: JsonObject; message: string }

/** Static parts have their tool's name in their type, dynamic ones in a member. */
export function toolParts(messages: readonly UiMessage[]): ToolPart[] {
  return messages.flatMap(message =>
    message.role !== 'assistant' ? [] : message.parts.flatMap(part => decodeToolPart(part, message.id)),
  )
}

function decodeToolPart(part: JsonObject, message: string): ToolPart[] {
  const { type, toolCallId, state, toolName } = part
  if (typeof type !== 'string' || typeof toolCallId !== 'string' || typeof state !== 'string') return []
  const name =
    type === 'dynamic-tool' ? toolName : type.startsWith('tool-') ? type.slice('tool-'.length) : undefined
  return typeof name === 'string' ? [{ callId: toolCallId, name, state, part, message }] : []
}

/** The answers in the parts to calls that wait. Parts of other calls are left alone. */
export function decodeAnswers(
  parts: readonly ToolPart[],
  calls: readonly SessionCall[],
  by: string,
): { results: GivenResult[]; decisions: GivenDecision[]; message?: string } {
  const results: GivenResult[] = []
  const decisions: GivenDecision[] = []
  let answered: string | undefined
  for (const { callId, state, part, message } of parts) {
    const stage = calls.find(call => call.part.id === callId)?.stage
    const result = stage === 'handed' ? decodeResultParts(state, part) : undefined
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

function decodeResultParts(state: string, { output, errorText }: JsonObject): ResultPart[] | undefined {
  if (state === 'output-error')
    return [{ type: 'text', text: typeof errorText === 'string' ? errorText : 'It failed.' }]
  if (state !== 'output-available') return undefined
  return [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output ?? null) }]
}

// ---- the beginning of a session -----------------------------------------------------------------------------

function decodeSeed(messages: readonly UiMessage[], agent: AgentInfo): Entry[] {
  const seed: Entry[] = []
  for (const message of messages) {
    if (message.role === 'assistant')
      for (const step of splitSteps(message.parts)) seedStep(step, message.id, seed)
    else {
      const parts = decodeMessage(message, agent.images)
      if (parts.length === 0) continue
      if (message.role === 'user') seed.push({ role: 'user', parts })
      else for (const part of parts) if (part.type === 'text') seed.push({ role: 'system', text: part.text })
    }
  }
  return seed
}

function splitSteps(parts: readonly JsonObject[]): JsonObject[][] {
  const steps: JsonObject[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)!.push(part)
  }
  return steps.filter(step => step.length > 0)
}

function seedStep(step: readonly JsonObject[], message: string, seed: Entry[]): void {
  const parts: AnswerPart[] = []
  const results: CallResult[] = []
  for (const part of step) {
    const { type, text } = part
    if ((type === 'text' || type === 'reasoning') && typeof text === 'string' && text !== '')
      parts.push({ type: type === 'text' ? type : 'thinking', text })
    const [tool] = decodeToolPart(part, message)
    if (!tool) continue
    parts.push(toCallPart(tool))
    results.push({ callId: tool.callId, name: tool.name, outcome: seedOutcome(tool) })
  }
  if (parts.length > 0) seed.push({ role: 'assistant', parts })
  if (results.length > 0) seed.push({ role: 'tool', results })
}

function toCallPart({ callId, name, part: { input } }: ToolPart): CallPart {
  return typeof input === 'string'
    ? { type: 'call', id: callId, name, form: 'text', text: input }
    : { type: 'call', id: callId, name, form: 'json', text: JSON.stringify(input ?? {}) }
}

function seedOutcome({ state, part }: ToolPart): Outcome {
  const parts = decodeResultParts(state, part)
  if (!parts) return state === 'output-denied' ? deniedCall : leftOpen
  return { kind: state === 'output-error' ? 'error' : 'ok', parts, from: { source: 'client' } }
}

const deniedCall: Outcome = {
  kind: 'denied',
  parts: [{ type: 'text', text: 'Tool call denied' }],
  from: { source: 'runtime' },
}

/** The arguments as a value; undefined if they are not JSON, or nest too deep. Free text is a string. */
export function argumentsValue(form: CallPart['form'], text: string): Json | undefined {
  if (form === 'text') return text
  if (text.trim() === '') return {}
  return parseBounded(text)
}

function refuseUi(message: string): never {
  throw new TurnwireError('bad_request', message)
}
