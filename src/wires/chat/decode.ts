// A Chat Completions request as a request for one answer: which model, which history, which tools. Fields that only the
// vendor understands (sampling, formats, effort) are passed on as they are. decode-messages.ts reads the messages.

import * as says from '../../apis/openai/chat-wordings.ts'
import { parameterRefusal, wrongParameterType } from '../../apis/openai/refusal.ts'
import type { Ask } from '../../language/events.ts'
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { excerpt, isAbsent, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import type { ServedDescription } from '../host.ts'
import { clientTool } from '../own-tools.ts'
import {
  adviceFor,
  ifTexts,
  keepTools,
  openaiFormat,
  passedBody,
  type StatelessRequest,
  targetFor,
} from '../stateless/index.ts'
import { chatNameRule, decodeChatMessages } from './decode-messages.ts'
import {
  chatRefusals,
  count,
  flag,
  object,
  objects,
  oneOf,
  onlyKnown,
  text,
  unsupportedFields,
} from './wordings.ts'

export type ChatRequest = {
  /** The model's name as the client wrote it. */
  model: string
  request: StatelessRequest
  stream: boolean
  includeUsage: boolean
}

const mostTools = 128
const notEmpty = { min: 1 }

const readFields = names(
  'model messages tools tool_choice parallel_tool_calls max_tokens max_completion_tokens stream stream_options n',
)

/** Fields that the vendor's Responses API has under the same names. */
const responsesFields = names(
  'temperature top_p metadata user service_tier safety_identifier prompt_cache_key prompt_cache_retention',
)

/**
 * Fields that are passed on to a model of this protocol. No others are: servers of this family have fields that choose
 * another model, fetch pages or run templates, and those are for the operator to set.
 */
const passedFields = new Set([
  ...responsesFields,
  ...names(
    'frequency_penalty logit_bias min_p modalities prediction presence_penalty reasoning_effort repetition_penalty response_format seed stop store top_k verbosity',
  ),
])

export function decodeChatRequest(body: JsonObject, about: ServedDescription): ChatRequest {
  const model = text(body['model'], 'model', notEmpty)
  const target = targetFor(about, model)
  if (!target) throw chatRefusals.noSuchModel(model, adviceFor(about))
  refuseFields(body)
  const stream = optional(body['stream'], 'stream', flag) ?? false
  const clientTools = decodeChatTools(body['tools'])
  const choice = decodeChatChoice(body, clientTools)
  const parallel = optional(body['parallel_tool_calls'], 'parallel_tool_calls', flag)
  const maxTokens = decodeMaxTokens(body)
  const fields = Object.entries(body).filter(([name, value]) => passedFields.has(name) && !isAbsent(value))
  const ask: Ask = {
    ...(choice !== undefined && { choice }),
    ...(parallel !== undefined && { parallel }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...decodePassed(Object.fromEntries(fields)),
  }
  const history = decodeChatMessages(body['messages'], target)
  return {
    model,
    request: { ...target.request, clientTools, history, ask },
    stream,
    includeUsage: decodeStreamOptions(body['stream_options'], stream),
  }
}

function refuseFields(body: JsonObject): void {
  for (const name in unsupportedFields)
    if (!isAbsent(body[name]) && body[name] !== false) throw chatRefusals.unsupported(name)
  const isKnown = (name: string): boolean =>
    readFields.has(name) || passedFields.has(name) || Object.hasOwn(unsupportedFields, name)
  onlyKnown(body, { has: name => isKnown(name) || isAbsent(body[name]) }, '')
  const choices = optional(body['n'], 'n', count) ?? 1
  if (choices > 1)
    throw chatRefusals.invalid(
      'n',
      `: only one choice is given to a request here. Ask ${choices} times instead.`,
    )
  const { modalities } = body
  if (Array.isArray(modalities) && modalities.some(each => each !== 'text'))
    throw chatRefusals.invalid('modalities', ': answers are text.')
}

function decodeMaxTokens(body: JsonObject): number | undefined {
  const older = optional(body['max_tokens'], 'max_tokens', count)
  const newer = optional(body['max_completion_tokens'], 'max_completion_tokens', count)
  if (older !== undefined && newer !== undefined) throw parameterRefusal(says.twoTokenLimits)
  return newer ?? older
}

function decodeStreamOptions(value: Json | undefined, stream: boolean): boolean {
  if (isAbsent(value)) return false
  if (!stream) throw parameterRefusal(says.optionsWithoutStream)
  const { include_usage: usage } = object(value, 'stream_options')
  return optional(usage, 'stream_options.include_usage', flag) ?? false
}

// ---- fields that are passed on ------------------------------------------------------------------------------

/** The vendor's Responses API has most of them too, some in other places. */
function decodePassed(fields: JsonObject): Pick<Ask, 'body' | 'format'> {
  const { response_format, ...own } = fields
  const { stop, reasoning_effort: effort, verbosity, ...others } = own
  const responses: JsonObject = {
    ...Object.fromEntries(Object.entries(others).filter(([name]) => responsesFields.has(name))),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...(verbosity !== undefined && { text: { verbosity } }),
  }
  const form = optional(response_format, 'response_format', object)
  const format = form && openaiFormat(form['type'], form['json_schema'])
  const isUnread = form !== undefined && format === undefined
  return {
    ...(format && { format }),
    ...passedBody(ifTexts(stop), {
      // A form that is not read here is for the vendor to judge.
      'openai-chat': isUnread ? { ...own, response_format: form } : own,
      'openai-responses': responses,
    }),
  }
}

// ---- tools --------------------------------------------------------------------------------------------------

function decodeChatTools(value: Json | undefined): ToolDeclaration[] {
  return isAbsent(value) ? [] : knownTools(value)
}

const knownTools = keepTools((value): ToolDeclaration[] => {
  const decode = (tool: JsonObject, path: string): ToolDeclaration => {
    const type = oneOf(tool['type'], `${path}.type`, ['function', 'custom'])
    const given = object(tool[type], `${path}.${type}`)
    return (type === 'function' ? decodeFunction : decodeCustom)(given, `${path}.${type}`)
  }
  return objects(value, 'tools', decode, { min: 1, max: mostTools })
})

function decodeFunction(given: JsonObject, path: string): ToolDeclaration {
  const schema = optional(given['parameters'], `${path}.parameters`, object)
  const strict = optional(given['strict'], `${path}.strict`, flag)
  return clientTool(text(given['name'], `${path}.name`, chatNameRule), decodeDescription(given, path), {
    form: 'json',
    schema: schema ?? { type: 'object', properties: {} },
    ...(strict && { strict }),
  })
}

function decodeCustom(given: JsonObject, path: string): ToolDeclaration {
  const name = text(given['name'], `${path}.name`, chatNameRule)
  const format = optional(given['format'], `${path}.format`, object) ?? { type: 'text' }
  const description = decodeDescription(given, path)
  if (oneOf(format['type'], `${path}.format.type`, ['text', 'grammar']) === 'text')
    return clientTool(name, description, { form: 'text' })
  const at = `${path}.format.grammar`
  const grammar = object(format['grammar'], at)
  const syntax = oneOf(grammar['syntax'], `${at}.syntax`, ['lark', 'regex'])
  const definition = text(grammar['definition'], `${at}.definition`, notEmpty)
  return clientTool(name, description, { form: 'text', grammar: { syntax, definition } })
}

function decodeDescription(given: JsonObject, path: string): string {
  return optional(given['description'], `${path}.description`, text) ?? ''
}

// ---- the choice among them ----------------------------------------------------------------------------------

const choiceWords = ['none', 'auto', 'required'] as const

function decodeChatChoice(body: JsonObject, tools: readonly ToolDeclaration[]): ToolChoice | undefined {
  for (const name of ['tool_choice', 'parallel_tool_calls'])
    if (!isAbsent(body[name]) && isAbsent(body['tools'])) throw parameterRefusal(says.onlyWithTools(name))
  const choice = body['tool_choice']
  if (isAbsent(choice)) return undefined
  if (typeof choice === 'string') return oneOf(choice, 'tool_choice', choiceWords)
  if (!isJsonObject(choice))
    throw wrongParameterType('tool_choice', 'one of a tool choice object or string', choice)
  const type = oneOf(choice['type'], 'tool_choice.type', ['function', 'allowed_tools', 'custom'])
  if (type !== 'allowed_tools') return { tool: declaredName(choice, tools, 'tool_choice') }
  const at = 'tool_choice.allowed_tools'
  const allowed = object(choice['allowed_tools'], at)
  const mode = oneOf(allowed['mode'], `${at}.mode`, ['auto', 'required'])
  const named = (entry: JsonObject, path: string): string => declaredName(entry, tools, path)
  return { mode, allowed: objects(allowed['tools'], `${at}.tools`, named, notEmpty) }
}

/** The name of a declared tool that a choice refers to. */
function declaredName(entry: JsonObject, tools: readonly ToolDeclaration[], path: string): string {
  const type = entry['type'] === 'custom' ? 'custom' : 'function'
  const name = text(object(entry[type], `${path}.${type}`)['name'], `${path}.${type}.name`, notEmpty)
  const form = type === 'custom' ? 'text' : 'json'
  if (!tools.some(tool => tool.name === name && tool.input.form === form))
    throw parameterRefusal(says.noSuchTool(type, excerpt(name)))
  return name
}
