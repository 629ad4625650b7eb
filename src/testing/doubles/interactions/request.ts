// Everything that Interactions refuses, in the order in which it looks. This file checks the fields, the stored state, tools
// and single steps. `history.ts` checks how steps follow one another.

import { invalidName, repeatedFunction } from '../../../apis/gemini/wordings.ts'
import { googlePictureProblem, isGoogleName } from '../google/common.ts'
import type { Mode, Rejections } from '../script.ts'
import {
  asList,
  asRecord,
  asRecords,
  asString,
  extraKeys,
  isRecord,
  type JsonRecord,
  wordList,
} from '../shape.ts'
import { checkInteractionsHistory, type InteractionsMemory, interactionNotFound, refuse } from './history.ts'

const INTERACTIONS_FIELDS = wordList(`
  model agent agent_config input previous_interaction_id tools system_instruction generation_config response_format
  response_mime_type response_modalities store background stream environment webhook_config continuation_token
  cached_content labels safety_settings service_tier`)

export function* checkInteraction(body: unknown, memory: InteractionsMemory, mode: Mode): Rejections {
  if (!isRecord(body)) return yield refuse('I-01', 'The body must be a JSON object.')
  const steps = readSteps(body['input'])
  yield* checkFields(body)
  yield* checkResponseFormat(body['response_format'])
  yield* checkInteractionsTools(body['tools'])
  yield* checkInteractionsChoice(body['generation_config'])
  for (const [at, step] of steps.entries()) yield* checkStep(step, `input[${at}]`)
  yield* checkState(body, memory)
  yield* checkInteractionsHistory({ body, memory, mode }, steps)
}

function* checkFields(body: JsonRecord): Rejections {
  for (const key of extraKeys(body, INTERACTIONS_FIELDS)) yield refuse('I-01', `Unknown parameter '${key}'.`)
  if (typeof body['model'] !== 'string' && typeof body['agent'] !== 'string') {
    yield refuse('I-01', "One of 'model' and 'agent' is required.")
  }
  const input = body['input']
  if (input === undefined) {
    if (body['continuation_token'] === undefined) yield refuse('I-01', "'input' is required.")
  } else if (input === '' || (Array.isArray(input) && input.length === 0)) {
    yield refuse('I-01', "'input' must not be empty.")
  } else if (typeof input !== 'string' && typeof input !== 'object') {
    yield refuse('I-01', "'input' must be a string, content, or a list of content or steps.")
  }
}

function* checkResponseFormat(given: unknown): Rejections {
  if (given === undefined) return
  for (const format of Array.isArray(given) ? given : [given]) {
    if (!isRecord(format) || typeof format['type'] !== 'string')
      yield refuse('I-01', "'response_format' must have a 'type'.")
    else if (format['type'] === 'text') {
      for (const key of extraKeys(format, wordList('type mime_type schema')))
        yield refuse('I-01', `Unknown parameter 'response_format.${key}'.`)
      if (format['schema'] !== undefined && format['mime_type'] !== 'application/json')
        yield refuse('I-01', "'response_format.schema' needs the mime_type application/json.")
    }
  }
}

function* checkState(body: JsonRecord, memory: InteractionsMemory): Rejections {
  if (body['store'] === false && body['background'] === true) {
    yield refuse('I-04', "'background' needs 'store'.")
  }
  if (body['previous_interaction_id'] === undefined || memory.trustForeign) return
  const previous = asString(body['previous_interaction_id'])
  if (memory.stored.has(previous)) return
  const why = memory.unstored.has(previous) ? " It was made with 'store: false'." : ''
  yield interactionNotFound(previous, why)
}

// ---- single steps -------------------------------------------------------------------------------------------

const CONTENT_TYPES = ['text', 'image', 'audio', 'video', 'document']
const SERVER_TOOLS = wordList(
  'mcp_server_tool google_search code_execution url_context file_search google_maps retrieval processing',
)
const STEP_TYPES = [
  ...wordList('user_input model_output thought function_call function_result'),
  ...SERVER_TOOLS.flatMap(name => [`${name}_call`, `${name}_result`]),
]

/** The steps of an input. Plain content counts as user input. */
function readSteps(input: unknown): JsonRecord[] {
  if (typeof input === 'string') return [{ type: 'user_input', content: [{ type: 'text', text: input }] }]
  const items = asRecords(Array.isArray(input) ? input : [input])
  const isContent = items.length > 0 && items.every(item => CONTENT_TYPES.includes(asString(item['type'])))
  return isContent ? [{ type: 'user_input', content: items }] : items
}

function* checkStep(step: JsonRecord, path: string): Rejections {
  const type = asString(step['type'])
  if (!STEP_TYPES.includes(type)) {
    return yield refuse('I-01', `${path}.type: '${type}' is not a step type.`)
  }
  const required = type === 'function_call' ? ['id', 'name'] : type === 'function_result' ? ['call_id'] : []
  for (const name of required) {
    if (asString(step[name]) === '') yield refuse('I-01', `${path}.${name} is required.`)
  }
  const isNamed = type === 'function_call' || type === 'function_result'
  if (isNamed && asString(step['name']) !== '' && !isGoogleName(asString(step['name']))) {
    yield refuse('I-01', `${path}.name: ${invalidName(64)}`)
  }
  if (type === 'function_call' && !isRecord(step['arguments'])) {
    yield refuse('I-01', `${path}.arguments must be an object.`)
  }
  if (type === 'function_result') yield* checkResult(step['result'], `${path}.result`)
  if (type === 'user_input' && asRecords(step['content']).length === 0) {
    yield refuse('I-01', `${path}.content must not be empty.`)
  }
  for (const part of [...asRecords(step['content']), ...asRecords(step['result'])]) {
    if (part['type'] !== 'image' || typeof part['data'] !== 'string') continue
    const problem = googlePictureProblem(part['mime_type'], part['data'])
    if (problem !== null) yield refuse('I-IMG', problem)
  }
}

function* checkResult(result: unknown, path: string): Rejections {
  if (typeof result !== 'string' && !isRecord(result) && !Array.isArray(result)) {
    yield refuse('I-02', `${path} must be a string, an object or a list of content.`)
  }
  for (const part of asList(result)) {
    if (isRecord(part) && CONTENT_TYPES.includes(asString(part['type']))) continue
    yield refuse('I-02', `${path}: a list must hold content only.`)
  }
}

// ---- tools --------------------------------------------------------------------------------------------------

const TOOL_TYPES = wordList(
  'function mcp_server google_search code_execution url_context file_search google_maps computer_use retrieval',
)
const CHOICES = ['auto', 'any', 'none', 'validated']

function* checkInteractionsTools(tools: unknown): Rejections {
  const names: string[] = []
  for (const [at, tool] of asRecords(tools).entries()) {
    const type = asString(tool['type'])
    if (!TOOL_TYPES.includes(type)) {
      yield refuse('I-03', `tools[${at}].type: '${type}' is not a tool type.`)
    } else if (type === 'function') {
      yield* checkFunctionTool(tool, `tools[${at}]`)
      names.push(asString(tool['name']))
    } else if (type === 'computer_use') yield* checkComputerTool(tool, `tools[${at}]`)
  }
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) yield refuse('I-03', repeatedFunction(twice))
}

const COMPUTER_KEYS = wordList(
  'type environment excluded_predefined_functions enable_prompt_injection_detection disabled_safety_policies',
)
const ENVIRONMENTS = ['browser', 'mobile', 'desktop']

function* checkComputerTool(tool: JsonRecord, path: string): Rejections {
  for (const key of extraKeys(tool, COMPUTER_KEYS))
    yield refuse('I-03', `${path}: unknown parameter '${key}'.`)
  const environment = tool['environment'] ?? 'browser'
  if (!ENVIRONMENTS.includes(asString(environment)))
    yield refuse('I-03', `${path}.environment must be one of ${ENVIRONMENTS.join(', ')}.`)
}

function* checkFunctionTool(tool: JsonRecord, path: string): Rejections {
  for (const key of extraKeys(tool, ['type', 'name', 'description', 'parameters'])) {
    yield refuse('I-03', `${path}: unknown parameter '${key}'.`)
  }
  if (!isGoogleName(asString(tool['name']))) {
    yield refuse('I-03', `${path}.name: Invalid function name.`)
  }
  if (tool['parameters'] !== undefined && !isRecord(tool['parameters'])) {
    yield refuse('I-03', `${path}.parameters must be a JSON schema.`)
  }
}

function* checkInteractionsChoice(config: unknown): Rejections {
  const choice = asRecord(config)['tool_choice']
  if (choice === undefined) return
  const isMode = (value: unknown): boolean => CHOICES.includes(asString(value))
  if (!isRecord(choice)) {
    if (isMode(choice)) return
    const text = `generation_config.tool_choice must be one of ${CHOICES.join(', ')} or an object.`
    return yield refuse('I-08', text)
  }
  const allowed = choice['allowed_tools']
  if (isRecord(allowed) && isMode(allowed['mode'] ?? 'auto') && Array.isArray(allowed['tools'])) return
  const text = 'generation_config.tool_choice: expected { allowed_tools: { mode, tools } }.'
  yield refuse('I-08', text)
}
