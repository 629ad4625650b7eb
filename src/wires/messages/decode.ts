// A Messages request as a request for one answer. Fields that only the vendor understands (thinking, effort, sampling)
// are passed on as they are; tools are the client's own. decode-messages.ts reads the messages.
import type { EngineDescription } from '../../engine/index.ts'
import type { Ask } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { isAbsent, names, optional } from '../fields.ts'
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
  flag,
  messagesTexts,
  noSuchMessagesModel,
  object,
  objects,
  onlyKnown,
  tagOf,
  text,
  threadRefusal,
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
  if (!target) throw noSuchMessagesModel(name)
  if (isJsonObject(body['thread'])) throw threadRefusal()
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
  const blocks = objects(value, 'system', ({ type, text: content }, path) => {
    if (type !== 'text') throw anthropicRefusal(messagesTexts.systemBlock(path))
    if (content === '') throw anthropicRefusal(messagesTexts.emptyText('system'))
    return text(content, `${path}.text`)
  })
  return blocks.join('\n\n')
}

// ---- tools --------------------------------------------------------------------------------------------------

function decodeMessagesTools(value: Json | undefined): ToolDeclaration[] {
  const tools = isAbsent(value) ? [] : objects(value, 'tools', decodeMessagesTool)
  if (new Set(tools.map(tool => tool.name)).size < tools.length)
    throw anthropicRefusal(messagesTexts.repeatedTool)
  return tools
}

function decodeMessagesTool(tool: JsonObject, at: string): ToolDeclaration {
  const { type } = tool
  if (!isAbsent(type) && type !== 'custom') throw anthropicRefusal(messagesTexts.toolNotOffered(at, type))
  const path = `${at}.custom`
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
  if (!tools.some(each => each.name === tool)) throw anthropicRefusal(messagesTexts.noSuchTool(tool))
  return { choice: { tool }, ...parallel }
}
