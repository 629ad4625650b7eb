// A Messages request as a request for one answer. Fields that only the vendor understands (thinking, effort, sampling)
// are passed on as they are; tools are the client's own. decode-messages.ts reads the messages.
import type { EngineDescription } from '../../engine/index.ts'
import type { Ask } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { excerpt, isAbsent, names, optional } from '../fields.ts'
import { clientTool } from '../own-tools.ts'
import {
  type AnswerForm,
  findTarget,
  formBody,
  ifObject,
  ifTexts,
  type ModelTarget,
  originFor,
  type StatelessRequest,
} from '../stateless/index.ts'
import { toolNameRule } from './decode-blocks.ts'
import { decodeMessages } from './decode-messages.ts'
import {
  anthropicRefusal,
  count,
  emptyText,
  flag,
  list,
  modelNotFound,
  object,
  onlyKnown,
  tagOf,
  text,
  threadRefused,
  toolNotOffered,
} from './wordings.ts'

export type MessagesRequest = {
  target: ModelTarget
  request: StatelessRequest
  stream: boolean
  /** The model may sign its thinking, so no block may follow thinking before the signature is known. */
  signs: boolean
}

const passedOn = names(
  'thinking output_config stop_sequences metadata service_tier speed inference_geo cache_control temperature top_p top_k',
)
const knownFields = new Set([
  ...passedOn,
  ...names('model max_tokens messages system tools tool_choice stream thread'),
])
const mostTokens = 10_000_000

/** `isCount`: the request is to be measured only, and needs no `max_tokens`. */
export function decodeMessagesRequest(
  body: JsonObject,
  about: EngineDescription,
  betas: readonly string[] = [],
  isCount = false,
): MessagesRequest {
  const name = text(body['model'], 'model')
  const target = findTarget(about, name)
  if (!target) throw modelNotFound(name)
  if (isJsonObject(body['thread'])) throw threadRefused()
  onlyKnown(body, knownFields, '')
  const clientTools = decodeMessagesTools(body['tools'])
  const fields = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => passedOn.has(key) && value !== null),
  )
  const own: JsonObject = betas.length > 0 ? { ...fields, betas: [...betas] } : fields
  const system = decodeSystem(body['system'])
  const needsLimit = !isCount || body['max_tokens'] !== undefined
  const ask: Ask = {
    ...decodeMessagesChoice(body['tool_choice'], clientTools),
    ...(needsLimit && { maxTokens: Math.min(count(body['max_tokens'], 'max_tokens'), mostTokens) }),
    ...(system !== '' && { system }),
    ...formBody(decodeForm(fields), { anthropic: own }),
  }
  const history = decodeMessages(body['messages'], target)
  return {
    target,
    request: { ...target.request, clientTools, history, ask },
    stream: optional(body['stream'], 'stream', flag) ?? false,
    signs: originFor(target, 'anthropic') !== undefined,
  }
}

function decodeForm(fields: JsonObject): AnswerForm {
  const stop = ifTexts(fields['stop_sequences'])
  const schema = ifObject(ifObject(ifObject(fields['output_config'])?.['format'])?.['schema'])
  return { ...(stop && { stop }), ...(schema && { format: { schema } }) }
}

function decodeSystem(value: Json | undefined): string {
  if (isAbsent(value)) return ''
  if (typeof value === 'string') return value
  return list(value, 'system')
    .map((item, at) => {
      const block = object(item, `system.${at}`)
      if (block['type'] !== 'text') throw anthropicRefusal(`system.${at}.type: Input should be 'text'`)
      const content = text(block['text'], `system.${at}.text`)
      if (content === '') throw anthropicRefusal(`system: ${emptyText}`)
      return content
    })
    .join('\n\n')
}

// ---- tools --------------------------------------------------------------------------------------------------

function decodeMessagesTools(value: Json | undefined): ToolDeclaration[] {
  const given = optional(value, 'tools', list) ?? []
  const tools = given.map((item, at) => decodeMessagesTool(object(item, `tools.${at}`), at))
  if (new Set(tools.map(tool => tool.name)).size < tools.length)
    throw anthropicRefusal('tools: Tool names must be unique.')
  return tools
}

function decodeMessagesTool(tool: JsonObject, at: number): ToolDeclaration {
  const { type } = tool
  if (!isAbsent(type) && type !== 'custom') throw toolNotOffered(at, type)
  const path = `tools.${at}.custom`
  const name = text(tool['name'], `${path}.name`, toolNameRule)
  const schema = object(tool['input_schema'], `${path}.input_schema`)
  const description = optional(tool['description'], `${path}.description`, text) ?? ''
  const strict = optional(tool['strict'], `${path}.strict`, flag)
  return clientTool(name, description, { form: 'json', schema, ...(strict && { strict }) })
}

function decodeMessagesChoice(
  value: Json | undefined,
  tools: readonly ToolDeclaration[],
): Pick<Ask, 'choice' | 'parallel'> {
  if (isAbsent(value)) return {}
  const given = object(value, 'tool_choice')
  const at = 'tool_choice.disable_parallel_tool_use'
  const isSingle = optional(given['disable_parallel_tool_use'], at, flag)
  const parallel = isSingle ? { parallel: false } : {}
  const type = tagOf(given, 'tool_choice', ['auto', 'any', 'tool', 'none'])
  if (type !== 'tool') return { choice: type === 'any' ? 'required' : type, ...parallel }
  const tool = text(given['name'], 'tool_choice.tool.name')
  if (!tools.some(each => each.name === tool))
    throw anthropicRefusal(`tool_choice: Tool '${excerpt(tool)}' not found in provided tools`)
  return { choice: { tool }, ...parallel }
}
