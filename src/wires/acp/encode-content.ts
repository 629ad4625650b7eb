// Encodes single things for a client: content, calls, outcomes, stop reasons. When they are shown is decided in encode.ts.
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
import type { LimitName, TurnStop } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../../lib/json/index.ts'
import { printable, printableEnds } from '../../lib/text/index.ts'
import { reportContent } from './encode-report.ts'

export function encodeBlock(part: InputPart | ResultPart): ContentBlock {
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

/** How a call is shown to a client. */
export type ShownFields = {
  title: string
  name: string
  kind: AcpToolKind
  rawInput?: Json
  locations?: ToolCallLocation[]
}

/** Without `text` the arguments are still coming. `folder`: where relative paths lead; undefined: they are not shown. */
export function encodeToolCall(
  call: { name: string; form: CallForm; text?: string },
  tool: ToolDeclaration | undefined,
  folder: string | undefined,
): ShownFields {
  const label = tool?.title ?? call.name
  const shown = { name: call.name, kind: tool?.kind ?? 'other' } as const
  if (call.text === undefined) return { ...shown, title: printable(label, 120) }
  const input = call.form === 'text' ? call.text : parseArguments(call.text)
  const fields = isJsonObject(input) ? input : {}
  const detail = distinguishingArgument(fields)
  const locations = encodeLocations(fields, folder)
  return {
    ...shown,
    title: printableEnds(detail === '' ? label : `${label}: ${detail}`, { maxChars: 120 }),
    rawInput: input,
    ...(locations.length > 0 && { locations }),
  }
}

function parseArguments(text: string): Json {
  if (text.trim() === '') return {}
  return parseBounded(text) ?? text
}

const pathKeys = ['path', 'file', 'filePath', 'file_path', 'filename', 'notebook_path', 'uri'] as const
const listKeys = ['paths', 'files', 'file_paths'] as const
const detailKeys = [...pathKeys, 'command', 'query', 'q', 'pattern', 'url', 'name'] as const

/** The argument that tells a call from others of the same tool. */
function distinguishingArgument(fields: JsonObject): string {
  for (const key of detailKeys) {
    const value = fields[key]
    if (typeof value !== 'string' || value === '') continue
    const args = key === 'command' && Array.isArray(fields['args']) ? fields['args'].map(String) : []
    return [value, ...args].join(' ')
  }
  return ''
}

function encodeLocations(fields: JsonObject, folder: string | undefined): ToolCallLocation[] {
  const line =
    typeof fields['line'] === 'number' && fields['line'] >= 1 ? Math.floor(fields['line']) : undefined
  const singles = pathKeys.flatMap(key =>
    key === 'uri' ? fileUriPath(fields[key]) : absolutePath(fields[key], folder),
  )
  const lists = listKeys.flatMap(key => {
    const value = fields[key]
    return Array.isArray(value) ? value.flatMap(item => absolutePath(item, folder)) : []
  })
  return [...new Set([...singles, ...lists])]
    .slice(0, 50)
    .map(path => (line !== undefined && singles.includes(path) ? { path, line } : { path }))
}

function absolutePath(value: Json | undefined, folder: string | undefined): string[] {
  if (typeof value !== 'string' || value === '' || value.includes('\0') || /^\w+:\/\//.test(value)) return []
  if (isAbsolute(value)) return [value]
  return folder === undefined ? [] : [resolve(folder, value)]
}

function fileUriPath(value: Json | undefined): string[] {
  if (typeof value !== 'string' || !value.startsWith('file://') || !URL.canParse(value)) return []
  try {
    return [fileURLToPath(value)]
  } catch {
    return []
  }
}

// ---- outcomes ----------------------------------------------------------------------------------------------

/** Changes of files are shown as differences, a table as one, anything else as its content; why it failed in any case. */
export function encodeOutcome(
  outcome: Outcome,
  tool: ToolDeclaration | undefined,
  cwd: string,
): ToolCallContent[] {
  const content = outcome.parts.map(part => ({ type: 'content' as const, content: encodeBlock(part) }))
  const reported = outcome.report ? reportContent(outcome.report, cwd) : []
  if (reported.length > 0) return outcome.kind === 'ok' ? reported : [...reported, ...content]
  const diff = tool === undefined || tool.kind === 'edit' ? encodeDiff(outcome.structured, cwd) : undefined
  return diff ? [diff] : content
}

/** Any tool of the kind `edit` whose structured result has `path`, `oldText` and `newText`. */
function encodeDiff(structured: Json | undefined, cwd: string): ToolCallContent | undefined {
  if (!isJsonObject(structured)) return undefined
  const { path, oldText, newText } = structured
  if (typeof path !== 'string' || path === '' || typeof newText !== 'string') return undefined
  return {
    type: 'diff',
    path: resolve(cwd, path),
    oldText: typeof oldText === 'string' ? oldText : null,
    newText,
  }
}

export function encodeRawOutput(outcome: Outcome): Json {
  if (outcome.structured !== undefined) return outcome.structured
  const texts = outcome.parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  return { outcome: outcome.kind, text: texts.join('\n') }
}

// ---- turns -------------------------------------------------------------------------------------------------

/** A turn that failed has no stop reason: its prompt is answered with an error. */
const sizeLimits: ReadonlySet<LimitName> = new Set(['tokens', 'bytes', 'money', 'sessionBytes'])

export function encodeStopReason(stop: Exclude<TurnStop, 'error'>, limit: LimitName | undefined): StopReason {
  switch (stop) {
    case 'end':
      return 'end_turn'
    case 'length':
      return 'max_tokens'
    case 'refusal':
    case 'filter':
      return 'refusal'
    case 'limit':
      return limit !== undefined && sizeLimits.has(limit) ? 'max_tokens' : 'max_turn_requests'
    case 'cancelled':
    case 'abandoned':
      return 'cancelled'
  }
}

/** The title of a session: the beginning of its first message. */
export function encodeTitle(parts: readonly InputPart[]): string | undefined {
  const text = parts.find(part => part.type === 'text' && part.text.trim() !== '')
  if (text?.type !== 'text') return undefined
  return printable(text.text.trim().replace(/\s+/g, ' '), 80)
}
