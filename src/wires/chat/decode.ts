// A Chat Completions request into a stateless question: what is asked of which model, with which history. Fields that
// only the vendor understands (sampling, formats, effort) go along as they are. Messages are read in decode-messages.ts.

import type { Ask } from '../../language/events.ts'
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { clientTool } from '../own-tools.ts'
import { type Asked, findTarget, type Spoken, schemaOf, spokenTo, stopsOf } from '../stateless/index.ts'
import { decodeMessages } from './decode-messages.ts'
import { ModelNotFound } from './errors.ts'
import { absent, count, flag, list, object, refuse, text, unsupported, wrongType } from './refuse.ts'

export const door = 'chat'

export type ChatRequest = { asked: Asked; stream: boolean; includeUsage: boolean }

const name = { max: 64, pattern: /^[a-zA-Z0-9_-]+$/ }
const mostTools = 128

/** What is said by other means, and what would take the answer out of the form that is given here. */
const read = new Set([
  'model',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'n',
])

/** Fields that the vendor's Responses API has under the same names. */
const ofBoth = new Set([
  'temperature',
  'top_p',
  'metadata',
  'user',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
])

/**
 * What goes along as it is, to a vendor of this protocol. Nothing else does: servers of this family have fields that
 * choose another model, fetch pages or run templates, and those are the operator's to set.
 */
const passed = new Set([
  ...ofBoth,
  'frequency_penalty',
  'logit_bias',
  'min_p',
  'modalities',
  'prediction',
  'presence_penalty',
  'reasoning_effort',
  'repetition_penalty',
  'response_format',
  'seed',
  'stop',
  'store',
  'top_k',
  'verbosity',
])

const refused: Readonly<Record<string, string>> = {
  functions: "Use 'tools' in its place.",
  function_call: "Use 'tool_choice' in its place.",
  audio: 'Answers are text.',
  logprobs: 'Log probabilities are not given here.',
  top_logprobs: 'Log probabilities are not given here.',
  web_search_options: 'Nothing is searched for callers here. Offer a tool of your own.',
}

export function decodeRequest(body: JsonObject, host: WireHost): ChatRequest {
  const model = text(body['model'], 'model', {})
  const target = findTarget(host, model)
  if (!target) throw new ModelNotFound(model)
  refuseForeign(body)
  const stream = flag(body['stream'], 'stream') ?? false
  const tools = decodeTools(body['tools'])
  const choice = decodeChoice(body, tools)
  const parallel = flag(body['parallel_tool_calls'], 'parallel_tool_calls')
  const maxTokens = decodeMaxTokens(body)
  const fields = Object.entries(body).filter(([key, value]) => passed.has(key) && !absent(value))
  const settings: Asked['settings'] = {
    clientTools: tools,
    ...(choice !== undefined && { choice }),
    ...(parallel !== undefined && { parallel }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...decodeFields(Object.fromEntries(fields)),
  }
  const seed = decodeMessages(list(body['messages'], 'messages'), target)
  return {
    asked: { target, wire: door, settings, seed },
    stream,
    includeUsage: decodeStreamOptions(body['stream_options'], stream),
  }
}

/** The vendor's other API has the same fields, some of them elsewhere. */
function decodeFields(fields: JsonObject): Pick<Ask, 'body'> {
  const { response_format, stop, reasoning_effort: effort, verbosity, ...shared } = fields
  const spoken: Spoken = { ...decodeFormat(response_format), ...decodeStop(stop) }
  const kept = Object.fromEntries(Object.entries(shared).filter(([key]) => ofBoth.has(key)))
  const { 'openai-responses': format = {} } = spokenTo(spoken, {}).body ?? {}
  const text = {
    ...(isJsonObject(format['text']) && format['text']),
    ...(verbosity !== undefined && { verbosity }),
  }
  const responses: JsonObject = {
    ...kept,
    ...(effort !== undefined && { reasoning: { effort } }),
    ...(Object.keys(text).length > 0 && { text }),
  }
  return spokenTo(spoken, { 'openai-chat': fields, 'openai-responses': responses })
}

function decodeFormat(value: Json | undefined): Pick<Spoken, 'format'> {
  if (!isJsonObject(value)) return {}
  if (value['type'] === 'json_object') return { format: 'json' }
  const given = schemaOf(value['json_schema'])
  const schema = value['type'] === 'json_schema' ? schemaOf(given?.['schema']) : undefined
  if (!schema) return {}
  const { name, strict } = given ?? {}
  return {
    format: {
      schema,
      ...(typeof name === 'string' && { name }),
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

function decodeStop(value: Json | undefined): Pick<Spoken, 'stop'> {
  const stop = stopsOf(value)
  return stop ? { stop } : {}
}

function refuseForeign(body: JsonObject): void {
  for (const [key, words] of Object.entries(refused)) {
    const value = body[key]
    if (!absent(value) && value !== false)
      refuse(`Unsupported parameter: '${key}'. ${words}`, key, 'unsupported_parameter')
  }
  for (const key in body)
    if (!read.has(key) && !passed.has(key) && !Object.hasOwn(refused, key) && !absent(body[key]))
      refuse(
        `Unrecognized request argument supplied: ${key.slice(0, 100)}`,
        key.slice(0, 100),
        'unknown_parameter',
      )
  const choices = count(body['n'], 'n', 1)
  if (choices !== undefined && choices > 1)
    refuse(
      `Invalid 'n': only one choice is given to a request here. Ask ${choices} times instead.`,
      'n',
      'invalid_value',
    )
  const { modalities } = body
  if (Array.isArray(modalities) && modalities.some(each => each !== 'text'))
    refuse("Invalid 'modalities': answers are text.", 'modalities', 'invalid_value')
}

function decodeMaxTokens(body: JsonObject): number | undefined {
  const older = count(body['max_tokens'], 'max_tokens', 1)
  const newer = count(body['max_completion_tokens'], 'max_completion_tokens', 1)
  if (older !== undefined && newer !== undefined)
    refuse(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported. Please use only one of them.",
      'max_tokens',
      'invalid_parameter_combination',
    )
  return newer ?? older
}

function decodeStreamOptions(value: Json | undefined, stream: boolean): boolean {
  if (absent(value)) return false
  if (!stream)
    refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  return flag(object(value, 'stream_options')['include_usage'], 'stream_options.include_usage') ?? false
}

// ---- tools --------------------------------------------------------------------------------------------------

function decodeTools(value: Json | undefined): ToolDeclaration[] {
  if (absent(value)) return []
  return list(value, 'tools', mostTools).map((item, index) =>
    decodeTool(object(item, `tools[${index}]`), `tools[${index}]`),
  )
}

function decodeTool(tool: JsonObject, path: string): ToolDeclaration {
  const type = text(tool['type'], `${path}.type`)
  if (type === 'function')
    return decodeFunction(object(tool['function'], `${path}.function`), `${path}.function`)
  if (type === 'custom') return decodeCustom(object(tool['custom'], `${path}.custom`), `${path}.custom`)
  return unsupported(`${path}.type`, type, ['function', 'custom'])
}

function decodeFunction(given: JsonObject, path: string): ToolDeclaration {
  const schema = absent(given['parameters'])
    ? { type: 'object', properties: {} }
    : object(given['parameters'], `${path}.parameters`)
  const strict = flag(given['strict'], `${path}.strict`) ?? false
  return clientTool(text(given['name'], `${path}.name`, name), described(given, path), {
    form: 'json',
    schema,
    ...(strict && { strict }),
  })
}

function decodeCustom(given: JsonObject, path: string): ToolDeclaration {
  const called = text(given['name'], `${path}.name`, name)
  const format = absent(given['format']) ? { type: 'text' } : object(given['format'], `${path}.format`)
  if (format['type'] === 'text') return clientTool(called, described(given, path), { form: 'text' })
  if (format['type'] !== 'grammar') unsupported(`${path}.format.type`, format['type'], ['text', 'grammar'])
  const at = `${path}.format.grammar`
  const grammar = object(format['grammar'], at)
  const { syntax } = grammar
  if (syntax !== 'lark' && syntax !== 'regex') return unsupported(`${at}.syntax`, syntax, ['lark', 'regex'])
  const definition = text(grammar['definition'], `${at}.definition`, {})
  return clientTool(called, described(given, path), { form: 'text', grammar: { syntax, definition } })
}

function described(given: JsonObject, path: string): string {
  return absent(given['description']) ? '' : text(given['description'], `${path}.description`)
}

// ---- the choice among them ----------------------------------------------------------------------------------

const words = ['none', 'auto', 'required'] as const

function decodeChoice(body: JsonObject, tools: readonly ToolDeclaration[]): ToolChoice | undefined {
  for (const key of ['tool_choice', 'parallel_tool_calls'])
    if (!absent(body[key]) && absent(body['tools']))
      refuse(`Invalid value for '${key}': '${key}' is only allowed when 'tools' are specified.`, key)
  const choice = body['tool_choice']
  if (absent(choice)) return undefined
  if (typeof choice === 'string')
    return words.find(word => word === choice) ?? unsupported('tool_choice', choice, words)
  if (typeof choice !== 'object' || Array.isArray(choice))
    return wrongType('tool_choice', 'one of a tool choice object or string', choice)
  const { type } = choice
  if (type === 'function' || type === 'custom') return { tool: named(choice, tools, 'tool_choice') }
  if (type !== 'allowed_tools')
    return unsupported('tool_choice.type', type, ['function', 'allowed_tools', 'custom'])
  const at = 'tool_choice.allowed_tools'
  const allowed = object(choice['allowed_tools'], at)
  const { mode } = allowed
  if (mode !== 'auto' && mode !== 'required') return unsupported(`${at}.mode`, mode, ['auto', 'required'])
  const entries = list(allowed['tools'], `${at}.tools`)
  return {
    mode,
    allowed: entries.map((entry, index) =>
      named(object(entry, `${at}.tools[${index}]`), tools, `${at}.tools[${index}]`),
    ),
  }
}

function named(entry: JsonObject, tools: readonly ToolDeclaration[], path: string): string {
  const type = entry['type'] === 'custom' ? 'custom' : 'function'
  const wanted = text(object(entry[type], `${path}.${type}`)['name'], `${path}.${type}.name`, {})
  const form = type === 'custom' ? 'text' : 'json'
  if (tools.some(tool => tool.name === wanted && tool.input.form === form)) return wanted
  return refuse(
    `Invalid value for 'tool_choice': no ${type} named '${wanted.slice(0, 100)}' was specified in the 'tools' parameter.`,
    'tool_choice',
  )
}
