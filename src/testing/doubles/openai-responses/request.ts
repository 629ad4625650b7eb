/**
 * What the Responses endpoint refuses of a request as a whole: its parameters, its tools
 * and its output format. The conversation itself is judged in `responses-input.ts`.
 */

import type { RequestHeaders } from '../double.ts'
import {
  absent,
  belowMinimum,
  isObject,
  type Json,
  missing,
  organisationOf,
  refuse,
  textOf,
  unknownParameter,
  unsupportedValue,
  wrongType,
} from '../openai/refusals.ts'
import { checkStrictSchema } from '../openai/schema.ts'
import type { Mode, Rejection } from '../script.ts'
import { checkInput } from './history.ts'
import { chainItems, type ResponsesMemory } from './memory.ts'
import { checkChoice, checkTools } from './tools.ts'

const PARAMETERS = new Set(
  (
    'access_programs background context_management conversation image include input instructions ' +
    'max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id ' +
    'prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier ' +
    'service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p ' +
    'truncation user'
  ).split(' '),
)

/** Chat parameters that callers bring along, and where the Responses API has them. */
const MOVED: Record<string, string> = {
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  functions: 'tools',
  function_call: 'tool_choice',
}

const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
]

const MIN_OUTPUT_TOKENS = 16

/** Every rule that the request breaks, the one that the API reports first in front. */
export function checkResponses(
  body: unknown,
  memory: ResponsesMemory,
  mode: Mode,
  headers: RequestHeaders,
): Rejection[] {
  if (!isObject(body)) return [wrongType('R-00', 'body', 'an object', body)]
  const tools: unknown[] = Array.isArray(body['tools']) ? body['tools'] : []
  return [
    ...checkParameters(body),
    ...checkState(body, memory),
    ...checkTools(body['tools'], 'tools'),
    ...checkChoice(body['tool_choice'], tools.filter(isObject)),
    ...checkTextFormat(body['text']),
    ...checkReasoningModel(body, memory),
    ...checkInput(body, memory, mode, organisationOf(headers)),
  ]
}

function checkParameters(body: Json): Rejection[] {
  return [
    ...Object.keys(body).flatMap(name => checkParameterName(name)),
    ...(absent(body['model']) && absent(body['prompt']) ? [missing('R-00', 'model')] : []),
    ...checkOutputTokens(body['max_output_tokens']),
    ...checkInclude(body['include']),
    ...['stream', 'store', 'background', 'parallel_tool_calls'].flatMap(name =>
      absent(body[name]) || typeof body[name] === 'boolean'
        ? []
        : [wrongType(name === 'parallel_tool_calls' ? 'R-12' : 'R-00', name, 'a boolean', body[name])],
    ),
  ]
}

function checkParameterName(name: string): Rejection[] {
  const moved = MOVED[name]
  if (moved !== undefined) {
    const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${moved}'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.`
    return [refuse(name === 'max_tokens' ? 'R-11' : 'R-00', message, name, 'unsupported_parameter')]
  }
  return PARAMETERS.has(name) ? [] : [unknownParameter('R-00', name)]
}

function checkOutputTokens(value: unknown): Rejection[] {
  if (absent(value)) return []
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    return [wrongType('R-11', 'max_output_tokens', 'an integer', value)]
  }
  return value < MIN_OUTPUT_TOKENS
    ? [belowMinimum('R-11', 'max_output_tokens', MIN_OUTPUT_TOKENS, value)]
    : []
}

function checkInclude(include: unknown): Rejection[] {
  if (absent(include)) return []
  if (!Array.isArray(include)) return [wrongType('R-00', 'include', 'an array of strings', include)]
  return include.flatMap((value: unknown, at) =>
    typeof value === 'string' && INCLUDABLE.includes(value)
      ? []
      : [unsupportedValue('R-00', `include[${at}]`, value, INCLUDABLE)],
  )
}

/** What the request builds on: an earlier response, a conversation, or nothing. */
function checkState(body: Json, memory: ResponsesMemory): Rejection[] {
  const previous = body['previous_response_id']
  const found: Rejection[] = []
  if (!absent(previous) && !absent(body['conversation'])) {
    const message =
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them."
    found.push(refuse('R-10', message, null, 'mutually_exclusive_parameters'))
  } else if (!absent(body['conversation'])) {
    const conversation = body['conversation']
    const id = isObject(conversation) ? conversation['id'] : conversation
    found.push(refuse('R-10', `Conversation with id '${textOf(id)}' not found.`, null, null, 404))
  }
  const known = memory.trustForeign || (typeof previous === 'string' && memory.responses.has(previous))
  if (!absent(previous) && !known) {
    const message = `Previous response with id '${textOf(previous)}' not found.`
    found.push(refuse('R-07', message, 'previous_response_id', 'previous_response_not_found'))
  }
  if (body['background'] === true && body['store'] === false) {
    found.push(refuse('R-00', "Background mode requires 'store' to be true.", 'background'))
  }
  if (['input', 'previous_response_id', 'conversation', 'prompt'].every(name => absent(body[name]))) {
    const message =
      'One of "input" or "previous_response_id" or \'prompt\' or \'conversation_id\' must be provided.'
    found.push(refuse('R-00', message, 'input', 'missing_required_parameter'))
  }
  return found
}

/** Models that do not reason neither give encrypted reasoning nor take reasoning back, their own or a stored one. */
function checkReasoningModel(body: Json, memory: ResponsesMemory): Rejection[] {
  if (!/^(?:ft:)?(?:gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/.test(textOf(body['model']))) return []
  const found: Rejection[] = []
  const include: unknown[] = Array.isArray(body['include']) ? body['include'] : []
  if (include.includes('reasoning.encrypted_content'))
    found.push(refuse('R-NR', 'Encrypted content is not supported with this model.', 'include'))
  const input: unknown[] = Array.isArray(body['input']) ? body['input'] : []
  const items = [...chainItems(memory, body['previous_response_id']), ...input.filter(isObject)]
  if (items.some(item => item['type'] === 'reasoning')) {
    const message =
      'Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.'
    found.push(refuse('R-NR', message, 'input'))
  }
  return found
}

function checkTextFormat(text: unknown): Rejection[] {
  const format = isObject(text) ? text['format'] : undefined
  if (!isObject(format) || format['type'] !== 'json_schema') return []
  if (typeof format['name'] !== 'string') return [missing('R-00', 'text.format.name')]
  if (format['strict'] !== true) return []
  const place = { rule: '2.4', param: 'text.format.schema', subject: 'response_format' } as const
  const schema = checkStrictSchema(format['name'], format['schema'], place)
  return schema === null ? [] : [schema]
}
