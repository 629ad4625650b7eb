// Everything that the Responses endpoint refuses, in the order in which it looks. This file checks parameters, state
// and output format; tools, items and history have files of their own. `R-00` is the plain shape of the request.
import type { DoubleRequest } from '../double.ts'
import { readOrganisation } from '../openai/envelope.ts'
import * as form from '../openai/forms.ts'

import { checkStrictSchema } from '../openai/schema.ts'
import type { Mode, Rejections } from '../script.ts'
import {
  asList,
  asRecord,
  asRecords,
  isAbsent,
  isRecord,
  type JsonRecord,
  ownEntry,
  shownText,
  wordList,
} from '../shape.ts'
import { chainItems, checkResponsesHistory, type ResponsesMemory } from './history.ts'

import { checkResponsesChoice, responsesTools } from './items.ts'

const PARAMETERS = wordList(`
  access_programs background context_management conversation image include input instructions max_output_tokens
  max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
  temperature text tool_choice tools top_logprobs top_p truncation user`)

/** Chat parameters that callers bring along, and their names in the Responses API. */
const MOVED: Record<string, string> = {
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  functions: 'tools',
  function_call: 'tool_choice',
}

const INCLUDABLE = wordList(`
  file_search_call.results web_search_call.results web_search_call.action.sources message.input_image.image_url
  computer_call_output.output.image_url code_interpreter_call.outputs reasoning.encrypted_content
  message.output_text.logprobs`)

const MIN_OUTPUT_TOKENS = 16

export function* checkResponses(request: DoubleRequest, memory: ResponsesMemory, mode: Mode): Rejections {
  const { body, headers } = request
  if (!isRecord(body)) return yield form.invalidType('R-00', 'body', 'an object', body)
  yield* checkParameters(body)
  yield* checkState(body, memory)
  yield* responsesTools(body['tools'], 'tools')
  yield* checkResponsesChoice(body['tool_choice'], asRecords(body['tools']))
  yield* checkTextFormat(asRecord(body['text'])['format'])
  yield* checkJsonWord(body)
  yield* checkReasoningModel(body, memory)
  yield* checkResponsesHistory({ body, memory, mode }, readOrganisation(headers))
}

function* checkParameters(body: JsonRecord): Rejections {
  for (const name of Object.keys(body)) yield* checkParameterName(name)
  if (isAbsent(body['model']) && isAbsent(body['prompt'])) yield form.missingParameter('R-00', 'model')
  const most = body['max_output_tokens']
  if (!isAbsent(most)) {
    if (typeof most !== 'number' || !Number.isInteger(most)) {
      yield form.invalidType('R-11', 'max_output_tokens', 'an integer', most)
    } else if (most < MIN_OUTPUT_TOKENS) {
      yield form.outOfBounds('R-11', 'max_output_tokens', {
        bound: 'least',
        of: 'number',
        limit: MIN_OUTPUT_TOKENS,
        given: most,
      })
    }
  }
  const include = form.list('R-00', form.oneOf('R-00', INCLUDABLE), { of: 'an array of strings' })
  yield* form.optional(include)(body['include'], 'include')
  for (const name of ['stream', 'store', 'background', 'parallel_tool_calls'])
    yield* form.optional(form.flag(name === 'parallel_tool_calls' ? 'R-12' : 'R-00'))(body[name], name)
}

function* checkParameterName(name: string): Rejections {
  const moved = ownEntry(MOVED, name)
  if (moved === undefined) {
    if (!PARAMETERS.includes(name)) yield form.unknownParameter('R-00', name)
    return
  }
  const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${moved}'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.`
  yield form.openaiError(name === 'max_tokens' ? 'R-11' : 'R-00', message, name, 'unsupported_parameter')
}

/** The state that the request continues from: an earlier response, a conversation, or none. */
function* checkState(body: JsonRecord, memory: ResponsesMemory): Rejections {
  const { previous_response_id: previous, conversation } = body
  if (!isAbsent(previous) && !isAbsent(conversation)) {
    const message =
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them."
    yield form.openaiError('R-10', message, null, 'mutually_exclusive_parameters')
  } else if (!isAbsent(conversation)) {
    const id = shownText(isRecord(conversation) ? conversation['id'] : conversation)
    yield form.openaiError('R-10', `Conversation with id '${id}' not found.`, null, null, 404)
  }
  const isKnown = memory.trustForeign || (typeof previous === 'string' && memory.responses.has(previous))
  if (!isAbsent(previous) && !isKnown) {
    const message = `Previous response with id '${shownText(previous)}' not found.`
    yield form.openaiError('R-07', message, 'previous_response_id', 'previous_response_not_found')
  }
  if (body['background'] === true && body['store'] === false) {
    yield form.openaiError('R-00', "Background mode requires 'store' to be true.", 'background')
  }
  if (['input', 'previous_response_id', 'conversation', 'prompt'].every(name => isAbsent(body[name]))) {
    const message =
      'One of "input" or "previous_response_id" or \'prompt\' or \'conversation_id\' must be provided.'
    yield form.openaiError('R-00', message, 'input', 'missing_required_parameter')
  }
}

/** A model that does not reason gives no encrypted reasoning and takes no reasoning back, sent or stored. */
function* checkReasoningModel(body: JsonRecord, memory: ResponsesMemory): Rejections {
  if (!/^(?:ft:)?(?:gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/.test(shownText(body['model']))) return
  if (asList(body['include']).includes('reasoning.encrypted_content')) {
    yield form.openaiError('R-NR', 'Encrypted content is not supported with this model.', 'include')
  }
  const items = [...chainItems(memory, body['previous_response_id']), ...asRecords(body['input'])]
  if (items.every(item => item['type'] !== 'reasoning')) return
  const message =
    'Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.'
  yield form.openaiError('R-NR', message, 'input')
}

/** The vendor wants to be sure that the model was told of the form. */
function* checkJsonWord({ text, input, instructions }: JsonRecord): Rejections {
  if (asRecord(asRecord(text)['format'])['type'] !== 'json_object') return
  if (/json/i.test(JSON.stringify([input, instructions]))) return
  const message =
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
  yield form.openaiError('R-00', message, 'input')
}

function* checkTextFormat(format: unknown): Rejections {
  if (!isRecord(format) || format['type'] !== 'json_schema') return
  if (typeof format['name'] !== 'string') return yield form.missingParameter('R-00', 'text.format.name')
  if (format['strict'] !== true) return
  const place = { rule: '2.4', param: 'text.format.schema', subject: 'response_format' } as const
  const schema = checkStrictSchema(format['name'], format['schema'], place)
  if (schema !== null) yield schema
}
