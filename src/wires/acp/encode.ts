// From our words to the protocol's: parts, calls, outcomes. Pure; what is shown when is the transcript's matter.
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type {
  ToolKind as AcpToolKind,
  ContentBlock,
  StopReason,
  ToolCallContent,
  ToolCallLocation,
} from '@agentclientprotocol/sdk'
import type { CallForm, Outcome } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { LimitName, TurnEnded, TurnStop } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import { failedTurn } from './failure.ts'
import type { SessionState } from './peer.ts'

export function blockOf(part: InputPart | ResultPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const data = /^data:([^;,]*);base64,(.*)$/s.exec(part.url)
  if (part.type === 'image')
    return data
      ? { type: 'image', mimeType: data[1] || 'image/png', data: data[2] ?? '' }
      : { type: 'resource_link', uri: part.url, name: 'image' }
  const name = part.name ?? 'file'
  return data
    ? {
        type: 'resource',
        resource: {
          uri: `attachment:///${encodeURIComponent(name)}`,
          mimeType: part.mediaType,
          blob: data[2] ?? '',
        },
      }
    : { type: 'resource_link', uri: part.url, name, mimeType: part.mediaType }
}

// ---- calls -------------------------------------------------------------------------------------------------

export type ShownCall = {
  title: string
  name: string
  kind: AcpToolKind
  rawInput?: Json
  locations?: ToolCallLocation[]
}

/** `text` is undefined while the arguments are still coming. */
export function showCall(
  call: { name: string; form: CallForm; text?: string },
  tool: ToolDeclaration | undefined,
  cwd: string,
): ShownCall {
  const label = tool?.title ?? call.name
  const shown = { name: call.name, kind: tool?.kind ?? 'other' } as const
  if (call.text === undefined) return { ...shown, title: printable(label, 120) }
  const input = call.form === 'text' ? call.text : parsed(call.text)
  const fields = isJsonObject(input) ? input : {}
  const detail = detailOf(fields)
  const locations = locationsOf(fields, cwd)
  return {
    ...shown,
    title: printable(detail === '' ? label : `${label}: ${detail}`, 120),
    rawInput: input,
    ...(locations.length > 0 && { locations }),
  }
}

function parsed(text: string): Json {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text) as Json // What JSON.parse gives is JSON.
  } catch {
    return text
  }
}

const pathKeys = ['path', 'file', 'filePath', 'file_path', 'filename', 'notebook_path', 'uri'] as const
const listKeys = ['paths', 'files', 'file_paths'] as const
const detailKeys = [...pathKeys, 'command', 'query', 'q', 'pattern', 'url', 'name'] as const

/** The one argument that tells a call from another of the same tool. */
function detailOf(fields: JsonObject): string {
  for (const key of detailKeys) {
    const value = fields[key]
    if (typeof value !== 'string' || value === '') continue
    const args = key === 'command' && Array.isArray(fields['args']) ? fields['args'].map(String) : []
    return [value, ...args].join(' ')
  }
  return ''
}

function locationsOf(fields: JsonObject, cwd: string): ToolCallLocation[] {
  const line =
    typeof fields['line'] === 'number' && fields['line'] >= 1 ? Math.floor(fields['line']) : undefined
  const singles = pathKeys.flatMap(key => (key === 'uri' ? fileUri(fields[key]) : pathOf(fields[key], cwd)))
  const lists = listKeys.flatMap(key => {
    const value = fields[key]
    return Array.isArray(value) ? value.flatMap(item => pathOf(item, cwd)) : []
  })
  return [...new Set([...singles, ...lists])]
    .slice(0, 50)
    .map(path => (line !== undefined && singles.includes(path) ? { path, line } : { path }))
}

function pathOf(value: Json | undefined, cwd: string): string[] {
  if (typeof value !== 'string' || value === '' || value.includes('\0') || /^\w+:\/\//.test(value)) return []
  return [isAbsolute(value) ? value : resolve(cwd, value)]
}

function fileUri(value: Json | undefined): string[] {
  if (typeof value !== 'string' || !value.startsWith('file://') || !URL.canParse(value)) return []
  try {
    return [fileURLToPath(value)]
  } catch {
    return []
  }
}

// ---- outcomes ----------------------------------------------------------------------------------------------

/** An edit is shown as what it changed; everything else as what it said. */
export function contentOf(outcome: Outcome, tool: ToolDeclaration | undefined): ToolCallContent[] {
  const diff = tool === undefined || tool.kind === 'edit' ? diffOf(outcome.structured) : undefined
  if (diff) return [diff]
  return outcome.parts.map(part => ({ type: 'content', content: blockOf(part) }))
}

/** Any tool of the kind `edit` whose structured result has `path`, `oldText` and `newText`. */
export function diffOf(structured: Json | undefined): ToolCallContent | undefined {
  if (!isJsonObject(structured)) return undefined
  const { path, oldText, newText } = structured
  if (typeof path !== 'string' || !isAbsolute(path) || typeof newText !== 'string') return undefined
  return { type: 'diff', path, oldText: typeof oldText === 'string' ? oldText : null, newText }
}

export function rawOutputOf(outcome: Outcome): Json {
  if (outcome.structured !== undefined) return outcome.structured
  const texts = outcome.parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  return { outcome: outcome.kind, text: texts.join('\n') }
}

// ---- turns -------------------------------------------------------------------------------------------------

/** `error` has no reason of its own: the prompt is answered with an error. */
export function stopReasonOf(stop: Exclude<TurnStop, 'error'>, limit: LimitName | undefined): StopReason {
  switch (stop) {
    case 'end':
      return 'end_turn'
    case 'length':
      return 'max_tokens'
    case 'refusal':
    case 'filter':
      return 'refusal'
    case 'limit':
      return limit === 'tokens' || limit === 'bytes' || limit === 'money' ? 'max_tokens' : 'max_turn_requests'
    case 'cancelled':
    case 'abandoned':
      return 'cancelled'
  }
}

export function idleAfter({ stop, limit, error }: TurnEnded): SessionState {
  if (stop !== 'error') return { state: 'idle', stopReason: stopReasonOf(stop, limit) }
  const { code, message } = failedTurn(error)
  return { state: 'idle', stopReason: 'error', error: { code, message } }
}

/** What a session is called: the beginning of what was first said in it. */
export function titleOf(parts: readonly InputPart[]): string | undefined {
  const text = parts.find(part => part.type === 'text' && part.text.trim() !== '')
  if (text?.type !== 'text') return undefined
  return printable(text.text.trim().replace(/\s+/g, ' '), 80)
}
