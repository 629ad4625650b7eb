// A Messages request into a stateless question. Fields that only the vendor understands (thinking, effort, sampling) go
// along as they are; tools are the caller's own. Messages are read in decode-messages.ts.

import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { clientTool } from '../own-tools.ts'
import {
  type Asked,
  findTarget,
  originFor,
  type Spoken,
  schemaOf,
  spokenTo,
  stopsOf,
} from '../stateless/index.ts'
import { decodeMessages } from './decode-messages.ts'
import {
  flag,
  list,
  ModelNotFound,
  matching,
  object,
  refuse,
  required,
  ThreadRefused,
  text,
  unexpectedTag,
} from './refuse.ts'

export const door = 'messages'
export const protocol = 'anthropic'

export type MessagesRequest = {
  asked: Asked
  stream: boolean
  /** The model behind may sign its thinking: what follows thinking cannot be told before the signature is known. */
  signs: boolean
}

const passed = new Set([
  'thinking',
  'output_config',
  'stop_sequences',
  'metadata',
  'service_tier',
  'speed',
  'inference_geo',
  'cache_control',
  'temperature',
  'top_p',
  'top_k',
])
const read = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'thread',
])
const mostTokens = 10_000_000

export function decodeRequest(
  body: JsonObject,
  host: WireHost,
  betas: readonly string[],
  isCount = false,
): MessagesRequest {
  const name = text(body['model'], 'model')
  const target = findTarget(host, name)
  if (!target) throw new ModelNotFound(name)
  if (isJsonObject(body['thread'])) throw new ThreadRefused()
  for (const key of Object.keys(body))
    if (!read.has(key) && !passed.has(key)) refuse(`${key.slice(0, 100)}: Extra inputs are not permitted`)
  const tools = decodeTools(body['tools'])
  const fields = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => passed.has(key) && value !== null),
  )
  const own: JsonObject = betas.length > 0 ? { ...fields, betas: [...betas] } : fields
  const system = decodeSystem(body['system'])
  const settings: Asked['settings'] = {
    clientTools: tools,
    ...decodeChoice(body['tool_choice'], tools),
    ...decodeMaxTokens(body['max_tokens'], isCount),
    ...(system !== '' && { system }),
    ...spokenTo(decodeSpoken(fields), { [protocol]: own }),
  }
  return {
    asked: { target, wire: door, settings, seed: decodeMessages(body['messages'], target) },
    stream: flag(body['stream'], 'stream'),
    signs: originFor(target.model, protocol) !== undefined,
  }
}

function decodeSpoken(fields: JsonObject): Spoken {
  const stop = stopsOf(fields['stop_sequences'])
  const format = schemaOf(schemaOf(fields['output_config'])?.['format'])
  const schema = schemaOf(format?.['schema'])
  return { ...(stop && { stop }), ...(schema && { format: { schema } }) }
}

function decodeMaxTokens(value: Json | undefined, isCount: boolean): { maxTokens?: number } {
  if (value === undefined) return isCount ? {} : required('max_tokens')
  if (typeof value !== 'number' || !Number.isInteger(value))
    return refuse('max_tokens: Input should be a valid integer')
  if (value < 1) return refuse('max_tokens: Input should be greater than or equal to 1')
  return { maxTokens: Math.min(value, mostTokens) }
}

function decodeSystem(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return list(value, 'system')
    .map((item, at) => {
      const block = object(item, `system.${at}`)
      if (block['type'] !== 'text') refuse(`system.${at}.type: Input should be 'text'`)
      return (
        text(block['text'], `system.${at}.text`) || refuse('system: text content blocks must be non-empty')
      )
    })
    .join('\n\n')
}

// ---- tools --------------------------------------------------------------------------------------------------

const toolName = /^[a-zA-Z0-9_-]{1,128}$/

function decodeTools(value: Json | undefined): ToolDeclaration[] {
  if (value === undefined || value === null) return []
  const tools = list(value, 'tools').map((item, at) => decodeTool(object(item, `tools.${at}`), at))
  if (new Set(tools.map(tool => tool.name)).size < tools.length) refuse('tools: Tool names must be unique.')
  return tools
}

function decodeTool(tool: JsonObject, at: number): ToolDeclaration {
  const { type } = tool
  if (type !== undefined && type !== null && type !== 'custom')
    refuse(
      `tools.${at}: tools of type '${typeof type === 'string' ? type.slice(0, 100) : ''}' are not offered here. Declare a tool of your own, with name and input_schema.`,
    )
  const path = `tools.${at}.custom`
  const name = matching(tool['name'], `${path}.name`, toolName)
  const schema = object(tool['input_schema'], `${path}.input_schema`)
  const { description } = tool
  const said =
    description === undefined || description === null ? '' : text(description, `${path}.description`)
  const strict = flag(tool['strict'], `${path}.strict`)
  return clientTool(name, said, { form: 'json', schema, ...(strict && { strict }) })
}

const choices = ['auto', 'any', 'tool', 'none']

function decodeChoice(
  value: Json | undefined,
  tools: readonly ToolDeclaration[],
): { choice?: ToolChoice; parallel?: boolean } {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) return refuse('tool_choice: Input should be an object')
  const { type } = value
  const single = flag(value['disable_parallel_tool_use'], 'tool_choice.disable_parallel_tool_use')
  const parallel = single ? { parallel: false } : {}
  if (type === 'auto' || type === 'none') return { choice: type, ...parallel }
  if (type === 'any') return { choice: 'required', ...parallel }
  if (type !== 'tool') return unexpectedTag('tool_choice', type, choices)
  const tool = text(value['name'], 'tool_choice.tool.name')
  if (!tools.some(each => each.name === tool))
    refuse(`tool_choice: Tool '${tool.slice(0, 128)}' not found in provided tools`)
  return { choice: { tool }, ...parallel }
}
