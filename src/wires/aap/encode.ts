// Declarations, sessions, content and history as the protocol shows them. Pure. Turns are in encode-turn.ts, the stream of
// events in encode-events.ts.

import type { AgentInfo, SessionCall, SessionSummary } from '../../engine/index.ts'
import type { CallPart, CallResult } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { OptionValue, Settings } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { maskedSecret } from '../../language/seals.ts'
import type { ShownQuestion } from '../../language/show.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { callQuestions, waitsForClient } from '../waiting-calls.ts'
import type {
  Content,
  ContentBlock,
  HistoryMessage,
  Meta,
  MetaAgent,
  Option,
  PendingCall,
  Question,
  SessionInfo,
  SessionState,
  ToolMessage,
  ToolSpec,
  Version,
  WaitingMessage,
} from './schema.ts'

// ---- declarations -------------------------------------------------------------------------------------------

export function encodeMeta(agents: readonly AgentInfo[], version: Version): Meta {
  return { version, agents: agents.map(agent => encodeAgent(agent, version)) }
}

function encodeAgent(agent: AgentInfo, version: Version): MetaAgent {
  const { name, title, description, images } = agent
  return {
    name,
    ...(title !== undefined && { title }),
    version: agent.version,
    ...(description !== undefined && { description }),
    tools: exposedTools(agent).map(tool => encodeTool(tool, version)),
    options: agent.options.map(encodeOption),
    capabilities: {
      history: { compacted: {}, ...(agent.fullHistory && { full: {} }) },
      stream: { delta: {}, message: {}, none: {} },
      ...(agent.clientTools && { application: { tools: {} } }),
      ...((images.http || images.data) && {
        image: { ...(images.http && { http: {} }), ...(images.data && { data: {} }) },
      }),
    },
  }
}

function exposedTools(agent: AgentInfo): AgentInfo['tools'] {
  return agent.tools.filter(tool => tool.exposed && tool.trust !== 'deny')
}

function encodeOption({
  name,
  title,
  description,
  type,
  default: value,
  options,
}: AgentInfo['options'][number]): Option {
  const common = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    default: value,
  }
  return type === 'select' ? { ...common, type, options: options ?? [] } : { ...common, type }
}

/** The arguments of a free-text tool as an object: the protocol knows objects only. */
const textInput: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

function encodeTool({ name, title, description, input }: ToolDeclaration, version: Version): ToolSpec {
  const schema = input.form === 'json' ? input.schema : textInput
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    ...(version === 3 ? { parameters: schema } : { inputSchema: schema }),
  }
}

// ---- sessions -----------------------------------------------------------------------------------------------

/** `agent` is undefined if it is no longer configured: then every option is masked as a secret. */
export function encodeSession(
  {
    id,
    agent: name,
    settings,
    calls = [],
  }: Pick<SessionSummary, 'id' | 'agent' | 'settings'> & {
    calls?: SessionSummary['calls']
  },
  agent: AgentInfo | undefined,
  version: Version,
): SessionInfo {
  const tools =
    settings.tools ??
    (agent ? exposedTools(agent).map(tool => ({ name: tool.name, trust: tool.trust === 'trusted' })) : [])
  const questions = openQuestions(calls)
  return {
    sessionId: id,
    agent: {
      name,
      tools: tools.map(({ name, trust }) => ({ name, trust })),
      options: maskOptions(settings.options, agent),
    },
    ...(settings.clientTools.length > 0 && {
      tools: settings.clientTools.map(tool => encodeTool(tool, version)),
    }),
    ...(questions.length > 0 && { questions }),
  }
}

/** The messages that wait for their delivery. */
export function encodeWaiting(messages: SessionSummary['messages'] = []): WaitingMessage[] {
  return messages.map(({ id, during, parts, at }) => ({
    messageId: id,
    during,
    content: encodeParts(parts),
    at,
  }))
}

export function encodeState({ seq, status, calls, messages }: SessionSummary): SessionState {
  return {
    lastEvent: seq,
    status,
    pending: calls.flatMap(encodePending),
    running: calls.filter(({ stage }) => atWork.has(stage)).map(({ part }) => part.id),
    questions: openQuestions(calls),
    ...(messages && { messages: encodeWaiting(messages) }),
  }
}

const atWork: ReadonlySet<SessionCall['stage']> = new Set([
  'proposed',
  'approved',
  'started',
  'suspended',
  'postponed',
])

function encodePending({ part, text, stage, reason, expiresAt, preview }: SessionCall): PendingCall[] {
  if (stage !== 'handed' && stage !== 'asking') return []
  return [
    {
      toolCallId: part.id,
      name: part.name,
      input: encodeCallInput({ form: part.form, text }),
      side: stage === 'handed' ? 'client' : 'server',
      ...present({ reason, expiresAt, preview }),
    },
  ]
}

/** A question of a call that is running. */
export function encodeQuestion(
  toolCallId: string,
  { id, message, schema, url, expiresAt }: ShownQuestion,
): Question {
  return { questionId: id, toolCallId, message, ...present({ schema, url, expiresAt }) }
}

function openQuestions(calls: readonly SessionCall[]): Question[] {
  return calls.flatMap(call => callQuestions(call).map(question => encodeQuestion(call.part.id, question)))
}

/** Shows only options that are known not to be secret. */
function maskOptions(
  options: Readonly<Record<string, OptionValue>>,
  agent: AgentInfo | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]): [string, string] => {
      const type = agent?.options.find(option => option.name === name)?.type
      return [
        name,
        typeof value === 'string' && (type === 'text' || type === 'select') ? value : maskedSecret,
      ]
    }),
  )
}

export function maskSettings<Part extends Partial<Settings>>(
  settings: Part,
  agent: AgentInfo | undefined,
): Part {
  return settings.options ? { ...settings, options: maskOptions(settings.options, agent) } : settings
}

// ---- content ------------------------------------------------------------------------------------------------

export function encodeParts(parts: readonly (InputPart | ResultPart)[]): Content {
  return plainestContent(parts.map(encodePart))
}

function encodePart(part: InputPart | ResultPart): ContentBlock {
  if (part.type === 'text')
    return { type: 'text', text: part.text, ...('attached' in part && part.attached && { attached: true }) }
  if (part.type === 'image') return { type: 'image', url: part.url }
  return { type: 'text', text: `[file ${part.name ?? 'without a name'}, ${part.mediaType}: ${part.url}]` }
}

export function encodeAnswer(parts: readonly AnswerPart[]): Content {
  return plainestContent(
    parts.map((part): ContentBlock => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      if (part.type !== 'call') return { type: 'thinking', thinking: thinkingText(part) }
      return { type: 'tool_use', toolCallId: part.id, name: part.name, input: encodeCallInput(part) }
    }),
  )
}

/** The protocol has no word for a vendor's own tools: their use is shown as thinking. */
export function thinkingText(part: Exclude<AnswerPart, { type: 'text' | 'call' }>): string {
  return part.type === 'thinking' ? part.text : `[${part.tool}] ${part.summary}`
}

export function plainestContent(blocks: ContentBlock[]): Content {
  const [only] = blocks
  if (blocks.length === 0) return ''
  return blocks.length === 1 && only?.type === 'text' && !only.attached ? only.text : blocks
}

/**
 * A call's arguments as an object. Free text, JSON that is not an object, and text that is not JSON (such a call never runs)
 * go into a member `input`.
 */
export function encodeCallInput({ form, text }: Pick<CallPart, 'form' | 'text'>): JsonObject {
  if (form === 'text') return { input: text }
  if (text.trim() === '') return {}
  const value = parsedOrNone(text)
  return value !== undefined && isJsonObject(value) ? value : { input: value ?? text }
}

function parsedOrNone(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

// ---- history ------------------------------------------------------------------------------------------------

/** The messages of one entry. `whole` gives the parts of a result to show. */
export async function* encodeEntry(
  entry: Entry,
  whole: (result: CallResult) => Promise<readonly ResultPart[]>,
): AsyncGenerator<HistoryMessage, void, undefined> {
  if (entry.role === 'system') yield { role: 'system', content: entry.text }
  else if (entry.role === 'user') yield { role: 'user', content: encodeParts(entry.parts) }
  else if (entry.role === 'assistant') yield { role: 'assistant', content: encodeAnswer(entry.parts) }
  else for (const result of entry.results) yield encodeResult(result.callId, await whole(result))
}

/** A call of the model's that has no result yet and needs nothing from the client: it stands in the history as running. */
export function encodeRunning(call: SessionCall): ToolMessage[] {
  const { part, parent, stage } = call
  if (parent !== undefined || !atWork.has(stage) || waitsForClient(call)) return []
  const content = `This call is running.${waitsFor[stage] ?? ''}`
  return [{ role: 'tool', toolCallId: part.id, content, running: true }]
}

const waitsFor: Partial<Record<SessionCall['stage'], string>> = {
  suspended: ' It waits for calls of its own.',
  postponed: ' Its result comes later.',
}

export function encodeResult(toolCallId: string, parts: readonly ResultPart[]): ToolMessage {
  return { role: 'tool', toolCallId, content: encodeParts(parts) }
}
