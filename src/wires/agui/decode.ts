// A run's input, into ours. The client sends its whole history every time: of a thread that is known only what is new
// counts, and of one that is not, all before the last words of the user becomes the beginning of a session.

import type { Agent, Answers } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { FilePart, ImagePart, InputPart, Native, ThinkingPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { shaped } from '../http/index.ts'
import { leftOpen } from '../left-open.ts'
import { clientTool } from '../own-tools.ts'
import { type Content, type InputMessage, type Resume, type RunInput, schemas } from './schema.ts'

export function decodeInput(body: JsonObject): RunInput {
  return shaped(schemas().runInput, body)
}

export function decodeTools(tools: RunInput['tools']): ToolDeclaration[] {
  return (tools ?? []).map(({ name, description, parameters }) =>
    clientTool(name, description, { form: 'json', schema: parameters ?? { type: 'object', properties: {} } }),
  )
}

/** What the application tells the agent about where it is. */
export function decodeContext(context: RunInput['context']): string | undefined {
  if (!context?.length) return undefined
  const lines = context.map(({ description, value }) => `- ${description}: ${value}`)
  return `What the application says of its present state:\n${lines.join('\n')}`
}

// ---- content ------------------------------------------------------------------------------------------------

export function decodeContent(content: Content, images: Agent['images']): InputPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part): InputPart[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
    if (part.type === 'image') return [{ type: 'image', url: urlOf(part.source, images) } satisfies ImagePart]
    if (part.type !== 'document')
      return refuse(`Parts of type ${part.type} are not taken: send text, images or documents.`)
    const mediaType = part.source.mimeType ?? 'application/octet-stream'
    return [{ type: 'file', url: urlOf(part.source, images), mediaType } satisfies FilePart]
  })
}

function urlOf(
  { type, value, mimeType }: { type: string; value: string; mimeType?: string | undefined },
  images: Agent['images'],
): string {
  if (type === 'data') {
    if (!images.data) refuse('This agent takes no embedded media.')
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value) || !/^[\w.+-]+\/[\w.+-]+$/.test(mimeType ?? ''))
      refuse('Embedded media must be base64, with its mimeType.')
    return `data:${mimeType};base64,${value}`
  }
  if (type !== 'url') refuse(`A source of type "${type.slice(0, 64)}" is not taken: send data or a url.`)
  if (!/^https:\/\//i.test(value) || value.length > 8192 || !URL.canParse(value))
    refuse('A media url must be an https:// address of at most 8192 characters.')
  if (!images.http) refuse('This agent takes no media by address.')
  return value
}

// ---- what is new --------------------------------------------------------------------------------------------

/** The user's words at the end that were not taken before, and the id of the last of them. */
export function freshWords(
  messages: readonly InputMessage[],
  known: (id: string) => boolean,
): Extract<InputMessage, { role: 'user' }>[] {
  const fresh: Extract<InputMessage, { role: 'user' }>[] = []
  for (const message of messages.toReversed()) {
    if (message.role !== 'user' || known(message.id)) break
    fresh.unshift(message)
  }
  return fresh
}

export function decodeResults(
  messages: readonly InputMessage[],
  agent: Agent,
  isOpen: (callId: string) => boolean,
): Answers['results'] {
  return messages.flatMap(message => {
    if (message.role !== 'tool' || !isOpen(message.toolCallId)) return []
    const parts = decodeContent(message.content, agent.images)
    const failed = message.error !== undefined
    const told = failed && parts.length === 0 ? [{ type: 'text' as const, text: message.error ?? '' }] : parts
    return [{ callId: message.toolCallId, parts: told, ...(failed && { failed }) }]
  })
}

/** `cancelled` is a refusal. The answer is `{"approved": …}` with `reason` or `arguments`, or true or false alone. */
export function decodeDecision(
  { interruptId, status, payload }: Resume,
  by: string,
  form: 'json' | 'text',
): Answers['decisions'][number] {
  const decided = { callId: interruptId, by }
  if (status === 'cancelled') return { ...decided, granted: false, reason: 'The question was dismissed.' }
  if (typeof payload === 'boolean') return { ...decided, granted: payload }
  if (!isJsonObject(payload) || typeof payload['approved'] !== 'boolean')
    return refuse(
      `The answer to "${interruptId}" must be {"approved": true} or {"approved": false}, with "reason" or "arguments".`,
    )
  const { approved, reason, arguments: given, editedArgs, remember } = payload
  const edit = approved ? editOf(given ?? editedArgs, form) : undefined
  return {
    ...decided,
    granted: approved,
    ...(typeof reason === 'string' && { reason }),
    ...(edit !== undefined && { edit }),
    ...(remember === true && { remember }),
  }
}

function editOf(given: Json | undefined, form: 'json' | 'text'): string | undefined {
  if (given === undefined || given === null) return undefined
  if (form === 'json') return typeof given === 'string' ? given : JSON.stringify(given)
  if (isJsonObject(given) && typeof given['input'] === 'string') return given['input']
  return refuse('This call takes free text: send "arguments": {"input": "<text>"}.')
}

// ---- the beginning of a session -----------------------------------------------------------------------------

export type Seed = { entries: Entry[]; blobs: { name: string; body: string }[] }
type Open = { calls: CallPart[]; results: Map<string, Outcome> }

/** `unseal` opens what only this installation can have sealed; undefined for anything else. */
export function decodeSeed(
  messages: readonly InputMessage[],
  agent: Agent,
  unseal: (value: string) => Json | undefined,
): Seed {
  const seed: Seed = { entries: [], blobs: [] }
  let open: Open | undefined
  let thoughts: ThinkingPart[] = []
  const close = (): void => {
    if (open) seed.entries.push({ role: 'tool', results: open.calls.map(call => resultOf(call, open!)) })
    open = undefined
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      if (open?.calls.some(call => call.id === message.toolCallId)) takeResult(message, open, seed, agent)
      continue
    }
    if (message.role === 'activity') continue
    close()
    if (message.role === 'reasoning') thoughts.push(...thoughtsOf(message, unseal))
    else if (message.role === 'assistant') {
      const parts = [...thoughts, ...answerOf(message, agent, unseal)]
      thoughts = []
      if (parts.length === 0) continue
      seed.entries.push({ role: 'assistant', parts })
      const calls = parts.filter(part => part.type === 'call')
      if (calls.length > 0) open = { calls, results: new Map() }
    } else if (message.role === 'user') {
      const parts = decodeContent(message.content, agent.images)
      if (parts.length > 0) seed.entries.push({ role: 'user', parts })
    } else if (message.content !== '') seed.entries.push({ role: 'system', text: message.content })
  }
  close()
  return seed
}

function takeResult(
  message: Extract<InputMessage, { role: 'tool' }>,
  open: Open,
  seed: Seed,
  agent: Agent,
): void {
  const parts = decodeContent(message.content, agent.images)
  const { outcome, blob } = agent.gate.finishClient(parts, message.error !== undefined, message.toolCallId)
  if (blob) seed.blobs.push(blob)
  open.results.set(message.toolCallId, outcome)
}

function resultOf(call: CallPart, { results }: Open): CallResult {
  return { callId: call.id, name: call.name, outcome: results.get(call.id) ?? leftOpen }
}

/** Thoughts that we sealed come back as they were, signatures and all. */
function thoughtsOf(
  { content, encryptedValue }: Extract<InputMessage, { role: 'reasoning' }>,
  unseal: (value: string) => Json | undefined,
): ThinkingPart[] {
  const sealed = encryptedValue === undefined ? undefined : unseal(encryptedValue)
  // Only this installation can have made it, and it makes nothing but lists of thoughts.
  if (Array.isArray(sealed)) return sealed as ThinkingPart[]
  return content === '' ? [] : [{ type: 'thinking', text: content }]
}

function answerOf(
  { content, toolCalls }: Extract<InputMessage, { role: 'assistant' }>,
  agent: Agent,
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
        ...writtenAs(form, written),
        // As above: what opens was sealed here, and holds a call's own artifact.
        ...(isJsonObject(sealed) && { native: sealed as Native }),
      }
    },
  )
  return content ? [{ type: 'text', text: content }, ...calls] : calls
}

function writtenAs(form: 'json' | 'text', written: string): Pick<CallPart, 'form' | 'text'> {
  if (form === 'json') return { form, text: written }
  try {
    const value: unknown = JSON.parse(written)
    if (isJsonObject(value) && typeof value['input'] === 'string') return { form, text: value['input'] }
  } catch {
    return { form: 'json', text: written }
  }
  return { form: 'json', text: written }
}

function refuse(message: string): never {
  throw new TurnwireError('bad_request', message)
}
