// Encodes for MCP clients: the agent's tools as MCP tools, questions to a person as elicitations, and outcomes as
// results. Pure.
import { isUtf8 } from 'node:buffer'
import type {
  CallToolResult,
  ContentBlock,
  ElicitRequestFormParams,
  InputRequest,
  Tool as McpTool,
} from '@modelcontextprotocol/server'
import type { AgentInfo, GivenAnswer, SessionCall, SessionQuestion } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import type { ResultPart } from '../../language/content.ts'
import { waitModes } from '../../language/events.ts'
import type { FormContent } from '../../language/questions.ts'
import { findSuspicions } from '../../language/suspicions.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'

type AgentTool = AgentInfo['tools'][number]

/** The name of the tool that is the agent itself. */
export function askToolName({ name }: AgentInfo): string {
  return `ask_${name.replace(/[^A-Za-z0-9_.-]/g, '_')}`.slice(0, 128)
}

export function askTool(agent: AgentInfo): McpTool {
  return {
    name: askToolName(agent),
    title: agent.title ?? agent.name,
    description:
      agent.description ?? `Asks the agent "${agent.name}", which may use tools of its own to answer.`,
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'What to ask.' },
        session: { type: 'string', description: 'The session of an earlier answer, to go on with it.' },
        during: {
          type: 'string',
          enum: ['refuse', ...waitModes],
          description:
            'If the session is at work: refuse the message, queue it, steer the work, or interrupt it.',
        },
      },
      required: ['message'],
    },
    outputSchema: {
      type: 'object',
      properties: { text: { type: 'string' }, session: { type: 'string' }, stop: { type: 'string' } },
      required: ['text', 'session', 'stop'],
    },
    annotations: { readOnlyHint: false, openWorldHint: true },
  }
}

/** A tool that takes free text gets an object with that text, because MCP knows objects only. */
export function encodeTool(tool: AgentTool): McpTool {
  const { name, title, description, readOnly, destructive, idempotent, output } = tool
  const schema =
    tool.input.form === 'json'
      ? tool.input.schema
      : { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }
  const encoded: McpTool = {
    name,
    description,
    // Its shape was checked when the tool was declared.
    inputSchema: { ...schema, type: 'object' } as McpTool['inputSchema'],
    annotations: { readOnlyHint: readOnly, destructiveHint: destructive, idempotentHint: idempotent },
  }
  if (title !== undefined) encoded.title = title
  if (output?.['type'] === 'object') encoded.outputSchema = output as NonNullable<McpTool['outputSchema']>
  return encoded
}

export function encodeOutcome(
  { kind, parts, structured, details }: Outcome,
  tool: AgentTool | undefined,
): CallToolResult {
  const result: CallToolResult = {
    content: parts.map(encodePart),
    // For the client's program: no model is shown it.
    ...(details !== undefined && { _meta: { 'turnwire/details': details } }),
  }
  if (kind !== 'ok') return { ...result, isError: true }
  const isDeclared = tool?.output?.['type'] === 'object'
  if (isJsonObject(structured) && isDeclared) result.structuredContent = structured
  return result
}

export function encodePart(part: ResultPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(part.url)
  const [, mimeType = 'application/octet-stream', base64 = ''] = data ?? []
  const name = part.type === 'file' ? (part.name ?? 'file') : 'image'
  if (!data) return { type: 'resource_link', uri: part.url, name }
  if (part.type === 'image') return { type: 'image', data: base64, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: base64, mimeType }
  const uri = `turnwire:///${encodeURIComponent(name)}`
  const text = isTextual(mimeType) ? decodedText(base64) : undefined
  return {
    type: 'resource',
    resource: { uri, mimeType, ...(text === undefined ? { blob: base64 } : { text }) },
  }
}

function isTextual(mimeType: string): boolean {
  return mimeType.startsWith('text/') || mimeType === 'application/json'
}

/** Undefined: it is no text. */
function decodedText(base64: string): string | undefined {
  const bytes = Buffer.from(base64, 'base64')
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

export function failedResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

// ---- questions ---------------------------------------------------------------------------------------------------

const choices = { once: 'Allow once', always: 'Allow always in this session', deny: 'Deny' } as const

/** Asks a person about a call, with all of its arguments. */
export function encodeQuestion({ part, text, reason }: SessionCall): InputRequest {
  const why = reason === undefined ? '' : `\n${printable(reason)}`
  const warnings = findSuspicions(parseBounded(text) ?? text).map(words => `\n${words}`)
  return {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: `Allow the tool "${part.name}" to run?${why}${warnings.join('')}\nArguments: ${printable(text)}`,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Decision',
            oneOf: Object.entries(choices).map(([value, title]) => ({ const: value, title })),
          },
          reason: { type: 'string', title: 'Reason, for the model', maxLength: 2000 },
        },
        required: ['decision'],
      },
    },
  }
}

/** A question of a running call: the form, or the address, as the tool gave it. */
export function encodeCallQuestion({ id, message: asked, schema, url }: SessionQuestion): InputRequest {
  const warnings = findSuspicions([asked, url ?? '', schema ?? {}])
  const message = [asked, ...warnings].join('\n')
  if (url !== undefined)
    return { method: 'elicitation/create', params: { mode: 'url', message, url, elicitationId: id } }
  const requestedSchema = schema ?? { type: 'object', properties: {} }
  // A checked form is one of the protocol's own: both have the same members.
  const params = { mode: 'form', message, requestedSchema } as unknown as ElicitRequestFormParams
  return { method: 'elicitation/create', params }
}

/** Undefined: there is no answer to this question. The engine checks the content against the form. */
export function decodeAnswer(answer: Json | undefined): Pick<GivenAnswer, 'action' | 'content'> | undefined {
  if (!isJsonObject(answer)) return undefined
  const { action, content } = answer
  if (action === 'decline' || action === 'cancel') return { action }
  if (action !== 'accept') return undefined
  return isJsonObject(content) ? { action, content: content as FormContent } : { action }
}

export type McpDecision = { granted: boolean; remember: boolean; reason?: string }

/** Undefined: there is no answer to this question. Anything but a clear yes is a no. */
export function decodeDecision(answer: Json | undefined): McpDecision | undefined {
  if (!isJsonObject(answer) || typeof answer['action'] !== 'string') return undefined
  const content: JsonObject = isJsonObject(answer['content']) ? answer['content'] : {}
  const { decision, reason } = content
  const granted = answer['action'] === 'accept' && (decision === 'once' || decision === 'always')
  return {
    granted,
    remember: granted && decision === 'always',
    ...(typeof reason === 'string' && reason !== '' && { reason }),
  }
}
