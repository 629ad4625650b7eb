// A Messages request as a request for one answer. Fields that only the vendor understands (thinking, effort, sampling)
// are passed on as they are; tools are the client's own. decode-messages.ts reads the messages.
import type { EngineDescription } from '../../engine/index.ts'
import type { Ask } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { isAbsent, names, optional } from '../fields.ts'
import { clientTool } from '../own-tools.ts'
import {
  askHosted,
  type ClientHosted,
  findTarget,
  ifObject,
  ifTexts,
  type ModelTarget,
  originFor,
  passedBody,
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
  'thinking output_config stop_sequences metadata service_tier speed inference_geo cache_control context_management temperature top_p top_k',
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
  if (originFor(target, 'anthropic') === undefined) refuseEdits(body['context_management'])
  const { clientTools, hosted } = decodeMessagesTools(body['tools'])
  const fields = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => passedOn.has(key) && value !== null),
  )
  const system = decodeSystem(body['system'], target)
  const needsLimit = !isCount || body['max_tokens'] !== undefined
  const ask: Ask = {
    ...decodeMessagesChoice(body['tool_choice'], clientTools, hosted, target),
    ...(needsLimit && { maxTokens: Math.min(count(body['max_tokens'], 'max_tokens'), mostTokens) }),
    ...(system.text !== '' && { system: system.text }),
    ...askHosted(hosted, target, (at, reason) => {
      throw anthropicRefusal(messagesTexts.hostedRefused(hosted[at]!.path, reason))
    }),
    ...(hosted.some(({ purpose }) => purpose === 'tools') && { vendorSearch: true }),
    ...decodeForm(fields, betas),
  }
  const history = [...system.entries, ...decodeMessages(body['messages'], target)]
  return {
    target,
    request: { ...target.request, clientTools, history, ask },
    stream: optional(body['stream'], 'stream', flag) ?? false,
    signs: originFor(target, 'anthropic') !== undefined,
  }
}

/**
 * A model of another vendor is never given thinking back, so there is none to clear. Any other edit would be left out: it
 * is refused in the words after which the vendor's clients send the request without it.
 */
function refuseEdits(value: Json | undefined): void {
  if (isAbsent(value)) return
  const { edits } = object(value, 'context_management')
  const isHarmless = (edit: Json): boolean =>
    isJsonObject(edit) && typeof edit['type'] === 'string' && edit['type'].startsWith('clear_thinking_')
  if (Array.isArray(edits) && edits.every(isHarmless)) return
  throw anthropicRefusal('context_management: Extra inputs are not permitted')
}

/** The schema is taken out of `output_config`: the model's own protocol puts it back, in its own way. */
function decodeForm(fields: JsonObject, betas: readonly string[]): Pick<Ask, 'body' | 'format'> {
  const { output_config, ...others } = fields
  const { format, ...config } = ifObject(output_config) ?? {}
  const schema = ifObject(ifObject(format)?.['schema'])
  const kept = schema ? config : ifObject(output_config)
  const own: JsonObject = {
    ...others,
    ...(kept && Object.keys(kept).length > 0 && { output_config: kept }),
    ...(betas.length > 0 && { betas: [...betas] }),
  }
  return {
    ...(schema && { format: { type: 'schema', schema, strict: true } }),
    ...passedBody(ifTexts(fields['stop_sequences']), { anthropic: own }),
  }
}

/** Texts with cache marks stay apart for a model of this vendor; otherwise all are one text. */
function decodeSystem(value: Json | undefined, target: ModelTarget): { text: string; entries: Entry[] } {
  if (isAbsent(value)) return { text: '', entries: [] }
  if (typeof value === 'string') return { text: value, entries: [] }
  const blocks = objects(value, 'system', (block, path) => {
    if (block['type'] !== 'text') throw anthropicRefusal(messagesTexts.systemBlock(path))
    if (block['text'] === '') throw anthropicRefusal(messagesTexts.emptyText('system'))
    return { text: text(block['text'], `${path}.text`), mark: block['cache_control'] }
  })
  const origin = originFor(target, 'anthropic')
  if (!origin || blocks.every(({ mark }) => !isJsonObject(mark)))
    return { text: blocks.map(block => block.text).join('\n\n'), entries: [] }
  const entries = blocks.map(
    ({ text: said, mark }): Entry => ({
      role: 'system',
      text: said,
      ...(isJsonObject(mark) && { native: { origin, data: { cache_control: mark } } }),
    }),
  )
  return { text: '', entries }
}

// ---- tools --------------------------------------------------------------------------------------------------

type PlacedHosted = ClientHosted & { path: string; name: string }
type MessagesTools = { clientTools: ToolDeclaration[]; hosted: PlacedHosted[] }

function decodeMessagesTools(value: Json | undefined): MessagesTools {
  const tools: MessagesTools = { clientTools: [], hosted: [] }
  if (isAbsent(value)) return tools
  objects(value, 'tools', (tool, at) => {
    const { type } = tool
    if (isAbsent(type) || type === 'custom') tools.clientTools.push(decodeMessagesTool(tool, at))
    // A model whose vendor cannot search tools is declared all of them.
    else if (typeof type === 'string' && type.startsWith('tool_search_tool_'))
      tools.hosted.push(hostedTool(tool, at, 'tools'))
    else {
      const purpose = /^web_(search|fetch)_\d+$/.exec(typeof type === 'string' ? type : '')?.[1]
      if (purpose !== 'search' && purpose !== 'fetch')
        throw anthropicRefusal(messagesTexts.toolNotOffered(at, type))
      tools.hosted.push(hostedTool(tool, at, purpose))
    }
  })
  const names = [...tools.clientTools, ...tools.hosted].map(tool => tool.name)
  if (new Set(names).size < names.length) throw anthropicRefusal(messagesTexts.repeatedTool)
  return tools
}

function hostedTool(declaration: JsonObject, path: string, purpose: ClientHosted['purpose']): PlacedHosted {
  return {
    declaration,
    purpose,
    protocol: 'anthropic',
    path,
    name: text(declaration['name'], `${path}.name`),
  }
}

const declaredFields = names('cache_control eager_input_streaming allowed_callers input_examples')

function decodeMessagesTool(tool: JsonObject, at: string): ToolDeclaration {
  const path = `${at}.custom`
  const name = text(tool['name'], `${path}.name`, toolNameRule)
  const schema = object(tool['input_schema'], `${path}.input_schema`)
  const description = optional(tool['description'], `${path}.description`, text) ?? ''
  const strict = optional(tool['strict'], `${path}.strict`, flag)
  const fields = Object.fromEntries(
    Object.entries(tool).filter(([key, value]) => declaredFields.has(key) && value !== null),
  )
  const isDeferred = optional(tool['defer_loading'], `${path}.defer_loading`, flag)
  return {
    ...clientTool(name, description, { form: 'json', schema, ...(strict && { strict }) }),
    ...(isDeferred && { deferred: true }),
    ...(Object.keys(fields).length > 0 && { fields: { anthropic: fields } }),
  }
}

function decodeMessagesChoice(
  value: Json | undefined,
  tools: readonly ToolDeclaration[],
  hosted: readonly PlacedHosted[],
  target: ModelTarget,
): Pick<Ask, 'choice' | 'parallel'> {
  if (isAbsent(value)) return {}
  const given = object(value, 'tool_choice')
  const at = 'tool_choice.disable_parallel_tool_use'
  const isSingle = optional(given['disable_parallel_tool_use'], at, flag)
  const parallel = isSingle ? { parallel: false } : {}
  const type = tagOf(given, 'tool_choice', ['auto', 'any', 'tool', 'none'])
  if (type !== 'tool') return { choice: type === 'any' ? 'required' : type, ...parallel }
  const tool = text(given['name'], 'tool_choice.tool.name')
  if (tools.some(each => each.name === tool)) return { choice: { tool }, ...parallel }
  if (!hosted.some(each => each.name === tool)) throw anthropicRefusal(messagesTexts.noSuchTool(tool))
  // Another vendor's tool of the same purpose has another name, and some vendors cannot be made to use it.
  return { choice: originFor(target, 'anthropic') ? { tool } : 'auto', ...parallel }
}
