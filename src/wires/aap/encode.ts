// Ours, into what the protocol shows: declarations, sessions, content and history. Pure; streams are in turn-view.ts.
import type { Agent, SessionState } from '../../engine/index.ts'
import type { CallPart, CallResult } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { OptionValue, Settings } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../lib/json.ts'
import { masked } from './decode.ts'
import type {
  AgentInfo,
  Content,
  ContentBlock,
  HistoryMessage,
  Meta,
  Option,
  SessionInfo,
  ToolMessage,
  ToolSpec,
  Version,
} from './schema.ts'

// ---- declarations -------------------------------------------------------------------------------------------

export function encodeMeta(agents: readonly Agent[], version: Version): Meta {
  return { version, agents: agents.map(agent => encodeAgent(agent, version)) }
}

function encodeAgent(agent: Agent, version: Version): AgentInfo {
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

function exposedTools(agent: Agent): Agent['tools'] {
  return agent.tools.filter(tool => tool.exposed && tool.trust !== 'deny')
}

function encodeOption({
  name,
  title,
  description,
  type,
  default: value,
  options,
}: Agent['options'][number]): Option {
  const common = {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    // The default of a secret is the operator's own secret.
    default: type === 'secret' && value !== '' ? masked : value,
  }
  return type === 'select' ? { ...common, type, options: options ?? [] } : { ...common, type }
}

/** What a text tool's arguments look like here: the protocol knows objects only. */
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

/** `agent` is undefined when the operator has taken it away since: then nothing tells its secrets from the rest. */
export function encodeSession(
  { id, agent: name, settings }: Pick<SessionState, 'id' | 'agent' | 'settings'>,
  agent: Agent | undefined,
  version: Version,
): SessionInfo {
  const tools =
    settings.tools ??
    (agent ? exposedTools(agent).map(tool => ({ name: tool.name, trust: tool.trust === 'trusted' })) : [])
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
  }
}

/** Only what is known to be no secret is shown. */
export function maskOptions(
  options: Readonly<Record<string, OptionValue>>,
  agent: Agent | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]): [string, string] => {
      const type = agent?.options.find(option => option.name === name)?.type
      return [name, typeof value === 'string' && (type === 'text' || type === 'select') ? value : masked]
    }),
  )
}

export function maskSettings<Part extends Partial<Settings>>(settings: Part, agent: Agent | undefined): Part {
  return settings.options ? { ...settings, options: maskOptions(settings.options, agent) } : settings
}

// ---- content ------------------------------------------------------------------------------------------------

export function encodeParts(parts: readonly (InputPart | ResultPart)[]): Content {
  return plainest(parts.map(encodePart))
}

function encodePart(part: InputPart | ResultPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type === 'image') return { type: 'image', url: part.url }
  return { type: 'text', text: `[file ${part.name ?? 'without a name'}, ${part.mediaType}: ${part.url}]` }
}

export function encodeAnswer(parts: readonly AnswerPart[]): Content {
  return plainest(
    parts.map((part): ContentBlock => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      if (part.type !== 'call') return { type: 'thinking', thinking: thinkingOf(part) }
      return { type: 'tool_use', toolCallId: part.id, name: part.name, input: encodeInput(part) }
    }),
  )
}

/** What a vendor did on its own side has no word in the protocol: it is shown as a thought. */
export function thinkingOf(part: Exclude<AnswerPart, { type: 'text' | 'call' }>): string {
  return part.type === 'thinking' ? part.text : `[${part.tool}] ${part.summary}`
}

export function plainest(blocks: ContentBlock[]): Content {
  const [only] = blocks
  if (blocks.length === 0) return ''
  return blocks.length === 1 && only?.type === 'text' ? only.text : blocks
}

/**
 * A call's arguments as an object. Free text, a value that is no object, and what is no JSON at all (such a call is
 * never run) stand in a member `input`.
 */
export function encodeInput({ form, text }: Pick<CallPart, 'form' | 'text'>): JsonObject {
  if (form === 'text') return { input: text }
  if (text.trim() === '') return {}
  const value = parsed(text)
  return value !== undefined && isJsonObject(value) ? value : { input: value ?? text }
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

// ---- history ------------------------------------------------------------------------------------------------

/** The conversation so far: whole entries, then what is known of the calls that are still open. */
export function historyOf(state: SessionState, type: 'compacted' | 'full'): Entry[] {
  const results: CallResult[] = []
  for (const { part, outcome } of state.batch)
    if (outcome) results.push({ callId: part.id, name: part.name, outcome })
  const entries = type === 'full' ? state.entries : state.view
  return results.length > 0 ? [...entries, { role: 'tool', results }] : [...entries]
}

/** `whole` gives a result's parts as they are to be shown. */
export async function encodeHistory(
  entries: readonly Entry[],
  whole: (result: CallResult) => Promise<readonly ResultPart[]>,
): Promise<HistoryMessage[]> {
  const messages: HistoryMessage[] = []
  for (const entry of entries) {
    if (entry.role === 'system') messages.push({ role: 'system', content: entry.text })
    else if (entry.role === 'user') messages.push({ role: 'user', content: encodeParts(entry.parts) })
    else if (entry.role === 'assistant')
      messages.push({ role: 'assistant', content: encodeAnswer(entry.parts) })
    else for (const result of entry.results) messages.push(encodeResult(result.callId, await whole(result)))
  }
  return messages
}

export function encodeResult(toolCallId: string, parts: readonly ResultPart[]): ToolMessage {
  return { role: 'tool', toolCallId, content: encodeParts(parts) }
}
