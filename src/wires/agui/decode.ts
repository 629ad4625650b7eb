// A run's input. The client sends its whole history every time: of a known thread only the new parts count; of a new one,
// everything before the last user messages seeds the session.

import type {
  AgentInfo,
  CreateSession,
  GivenAnswer,
  GivenDecision,
  GivenResult,
  SessionCall,
} from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { FilePart, ImagePart, InputPart, Native, ThinkingPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { FormContent } from '../../language/questions.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { hashJson } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, type JsonObject, parseObject } from '../../lib/json/index.ts'
import { freshMessages, type UserMessages } from '../client-threads.ts'
import { shaped } from '../http/index.ts'
import { leftOpen } from '../left-open.ts'
import { changeOwn, clientTool } from '../own-tools.ts'
import { type InputContent, type InputMessage, type Resume, type RunInput, schemas } from './schema.ts'

export const aguiWire = 'agui'

export function decodeRunInput(body: JsonObject): RunInput {
  return shaped(schemas().runInput, body)
}

export function decodeRunTools(tools: RunInput['tools']): ToolDeclaration[] {
  return (tools ?? []).map(({ name, description, parameters }) =>
    clientTool(name, description, { form: 'json', schema: parameters ?? { type: 'object', properties: {} } }),
  )
}

/** The application's state as text for the model's instructions. */
export function decodeContext(context: RunInput['context']): string | undefined {
  if (!context?.length) return undefined
  const lines = context.map(({ description, value }) => `- ${description}: ${value}`)
  return `What the application says of its present state:\n${lines.join('\n')}`
}

// ---- content ------------------------------------------------------------------------------------------------

function decodeContent(content: InputContent, images: AgentInfo['images']): InputPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part): InputPart[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
    if (part.type === 'image')
      return [{ type: 'image', url: mediaUrl(part.source, images) } satisfies ImagePart]
    if (part.type !== 'document')
      return refuseAgui(`Parts of type ${part.type} are not taken: send text, images or documents.`)
    const mediaType = part.source.mimeType ?? 'application/octet-stream'
    return [{ type: 'file', url: mediaUrl(part.source, images), mediaType } satisfies FilePart]
  })
}

function mediaUrl(
  { type, value, mimeType }: { type: string; value: string; mimeType?: string | undefined },
  images: AgentInfo['images'],
): string {
  if (type === 'data') {
    if (!images.data) refuseAgui('This agent takes no embedded media.')
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value) || !/^[\w.+-]+\/[\w.+-]+$/.test(mimeType ?? ''))
      refuseAgui('Embedded media must be base64, with its mimeType.')
    return `data:${mimeType};base64,${value}`
  }
  if (type !== 'url') refuseAgui(`A source of type "${type.slice(0, 64)}" is not taken: send data or a url.`)
  if (!/^https:\/\//i.test(value) || value.length > 8192 || !URL.canParse(value))
    refuseAgui('A media url must be an https:// address of at most 8192 characters.')
  if (!images.http) refuseAgui('This agent takes no media by address.')
  return value
}

// ---- what is new --------------------------------------------------------------------------------------------

type UserMessage = Extract<InputMessage, { role: 'user' }>

const isUser = (message: InputMessage): message is UserMessage => message.role === 'user'

/** A message that was sent before is said anew, unless it comes again with the same run. */
export function userMessages(
  { threadId, runId }: RunInput,
  { images }: AgentInfo,
): UserMessages<InputMessage, UserMessage> {
  const key = (id: string): string => `${aguiWire}:${threadId}:${id}`
  return {
    isUser,
    key,
    parts: ({ content }) => decodeContent(content, images),
    again: ({ id }) => ({ hash: hashJson([key(id), runId]), again: 'changed' }),
  }
}

/** How the session of a thread is created. Refuses the new messages before anything is made. */
export function threadCreation(
  { messages, tools }: RunInput,
  agent: AgentInfo,
  unseal: (value: string) => Json | undefined,
): Pick<CreateSession, 'settings' | 'seed'> {
  if (messages.length === 0) refuseAgui('messages is empty: send what the user says.')
  const fresh = freshMessages(messages, { isUser })
  for (const { content } of fresh) decodeContent(content, agent.images)
  const plain = { tools: null, options: {}, clientTools: [] }
  return {
    settings: { ...plain, ...changeOwn(plain, aguiWire, decodeRunTools(tools)) },
    seed: decodeSeed(messages.slice(0, messages.length - fresh.length), agent, unseal),
  }
}

export function decodeResults(
  messages: readonly InputMessage[],
  agent: AgentInfo,
  calls: readonly SessionCall[],
): GivenResult[] {
  const isOpen = (callId: string): boolean =>
    calls.some(({ part, stage }) => part.id === callId && stage === 'handed')
  return messages.flatMap(message => {
    if (message.role !== 'tool' || !isOpen(message.toolCallId)) return []
    const parts = decodeContent(message.content, agent.images)
    const failed = message.error !== undefined
    const text = message.error ?? ''
    const given = failed && parts.length === 0 ? [{ type: 'text' as const, text }] : parts
    return [{ callId: message.toolCallId, parts: given, ...(failed && { failed }) }]
  })
}

/** The answer to a question of a running call: the content of its form, or nothing for an address. */
export function decodeAnswer({ interruptId, status, payload }: Resume, by: string): GivenAnswer {
  const answer = { question: interruptId, by }
  if (status === 'cancelled') return { ...answer, action: 'decline' }
  // The engine checks it against the form.
  return {
    ...answer,
    action: 'accept',
    ...(payload !== undefined && isJsonObject(payload) && { content: payload as FormContent }),
  }
}

/** `cancelled` is a refusal. The answer is `{"approved": …}` with `reason` or `arguments`, or true or false alone. */
export function decodeDecision({ interruptId, status, payload }: Resume, by: string): GivenDecision {
  const decided = { callId: interruptId, by }
  if (status === 'cancelled') return { ...decided, granted: false, reason: 'The question was dismissed.' }
  if (typeof payload === 'boolean') return { ...decided, granted: payload }
  if (!isJsonObject(payload) || typeof payload['approved'] !== 'boolean')
    return refuseAgui(
      `The answer to "${interruptId}" must be {"approved": true} or {"approved": false}, with "reason" or "arguments".`,
    )
  const { approved, reason, arguments: given, editedArgs, remember } = payload
  const edit = approved ? decodeEdit(given ?? editedArgs) : undefined
  return {
    ...decided,
    granted: approved,
    ...(typeof reason === 'string' && { reason }),
    ...(edit !== undefined && { edit }),
    ...(remember === true && { remember }),
  }
}

/** A text is JSON text. Free text is sent as an object with `input`. */
function decodeEdit(given: Json | undefined): JsonObject | undefined {
  if (given === undefined || given === null) return undefined
  if (isJsonObject(given)) return given
  const parsed = typeof given === 'string' ? parseObject(given) : undefined
  if (parsed) return parsed
  return refuseAgui('"arguments" must be an object. Free text is sent as {"input": "<text>"}.')
}

// ---- the beginning of a session -----------------------------------------------------------------------------

type OpenCalls = { calls: CallPart[]; results: Map<string, Outcome> }

/** `unseal` opens values that this installation sealed; undefined for any other value. */
function decodeSeed(
  messages: readonly InputMessage[],
  agent: AgentInfo,
  unseal: (value: string) => Json | undefined,
): Entry[] {
  const seed: Entry[] = []
  let open: OpenCalls | undefined
  let thoughts: ThinkingPart[] = []
  const close = (): void => {
    if (open) seed.push({ role: 'tool', results: open.calls.map(call => seedResult(call, open!)) })
    open = undefined
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      if (open?.calls.some(call => call.id === message.toolCallId)) takeResult(message, open, agent)
      continue
    }
    if (message.role === 'activity') continue
    close()
    if (message.role === 'reasoning') thoughts.push(...sealedThoughts(message, unseal))
    else if (message.role === 'assistant') {
      const parts = [...thoughts, ...assistantParts(message, agent, unseal)]
      thoughts = []
      if (parts.length === 0) continue
      seed.push({ role: 'assistant', parts })
      const calls = parts.filter(part => part.type === 'call')
      if (calls.length > 0) open = { calls, results: new Map() }
    } else if (message.role === 'user') {
      const parts = decodeContent(message.content, agent.images)
      if (parts.length > 0) seed.push({ role: 'user', parts })
    } else if (message.content !== '') seed.push({ role: 'system', text: message.content })
  }
  close()
  return seed
}

function takeResult(
  message: Extract<InputMessage, { role: 'tool' }>,
  open: OpenCalls,
  agent: AgentInfo,
): void {
  const parts = decodeContent(message.content, agent.images)
  const kind = message.error === undefined ? 'ok' : 'error'
  open.results.set(message.toolCallId, { kind, parts, from: { source: 'client' } })
}

function seedResult(call: CallPart, { results }: OpenCalls): CallResult {
  return { callId: call.id, name: call.name, outcome: results.get(call.id) ?? leftOpen }
}

/** Thoughts that we sealed come back as they were, signatures and all. */
function sealedThoughts(
  { content, encryptedValue }: Extract<InputMessage, { role: 'reasoning' }>,
  unseal: (value: string) => Json | undefined,
): ThinkingPart[] {
  const sealed = encryptedValue === undefined ? undefined : unseal(encryptedValue)
  // Only this installation can have made it, and it makes nothing but lists of thoughts.
  if (Array.isArray(sealed)) return sealed as ThinkingPart[]
  return content === '' ? [] : [{ type: 'thinking', text: content }]
}

function assistantParts(
  { content, toolCalls }: Extract<InputMessage, { role: 'assistant' }>,
  agent: AgentInfo,
  unseal: (value: string) => Json | undefined,
): AnswerPart[] {
  const calls = (toolCalls ?? []).map(
    ({ id, function: { name, arguments: written }, encryptedValue }): CallPart => {
      const form = agent.tools.find(tool => tool.name === name)?.input.form ?? 'json'
      const sealed = encryptedValue === undefined ? undefined : unseal(encryptedValue)
      return {
        type: 'call',
        id,
        name,
        ...callText(form, written),
        // As above: what opens was sealed here, and holds a call's own artifact.
        ...(isJsonObject(sealed) && { native: sealed as Native }),
      }
    },
  )
  return content ? [{ type: 'text', text: content }, ...calls] : calls
}

function callText(form: 'json' | 'text', written: string): Pick<CallPart, 'form' | 'text'> {
  const { input } = (form === 'text' && parseObject(written)) || {}
  if (typeof input === 'string') return { form, text: input }
  return { form: 'json', text: written }
}

function refuseAgui(message: string): never {
  throw new TurnwireError('bad_request', message)
}
