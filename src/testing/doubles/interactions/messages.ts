// Rules of Interactions about single steps of the input: types, fields, results and pictures.
// `history.ts` checks how steps follow one another.
import { invalidName } from '../../../apis/gemini/wordings.ts'
import { googlePictureProblem, isGoogleName } from '../google/signatures.ts'
import type { Rejections } from '../script.ts'
import { asList, asRecords, asString, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { interactionsError } from './refusals.ts'

const CONTENT_TYPES = ['text', 'image', 'audio', 'video', 'document']
const SERVER_TOOLS = wordList(
  'mcp_server_tool google_search code_execution url_context file_search google_maps retrieval processing',
)
const STEP_TYPES = [
  ...wordList('user_input model_output thought function_call function_result'),
  ...SERVER_TOOLS.flatMap(name => [`${name}_call`, `${name}_result`]),
]

/** The steps of an input. Plain content counts as user input. */
export function readSteps(input: unknown): JsonRecord[] {
  if (typeof input === 'string') return [{ type: 'user_input', content: [{ type: 'text', text: input }] }]
  const items = asRecords(Array.isArray(input) ? input : [input])
  const isContent = items.length > 0 && items.every(item => CONTENT_TYPES.includes(asString(item['type'])))
  return isContent ? [{ type: 'user_input', content: items }] : items
}

export function* checkStep(step: JsonRecord, path: string): Rejections {
  const type = asString(step['type'])
  if (!STEP_TYPES.includes(type)) {
    return yield interactionsError('I-01', `${path}.type: '${type}' is not a step type.`)
  }
  const required = type === 'function_call' ? ['id', 'name'] : type === 'function_result' ? ['call_id'] : []
  for (const name of required) {
    if (asString(step[name]) === '') yield interactionsError('I-01', `${path}.${name} is required.`)
  }
  const isNamed = type === 'function_call' || type === 'function_result'
  if (isNamed && asString(step['name']) !== '' && !isGoogleName(asString(step['name']))) {
    yield interactionsError('I-01', `${path}.name: ${invalidName(64)}`)
  }
  if (type === 'function_call' && !isRecord(step['arguments'])) {
    yield interactionsError('I-01', `${path}.arguments must be an object.`)
  }
  if (type === 'function_result') yield* checkResult(step['result'], `${path}.result`)
  if (type === 'user_input' && asRecords(step['content']).length === 0) {
    yield interactionsError('I-01', `${path}.content must not be empty.`)
  }
  for (const part of [...asRecords(step['content']), ...asRecords(step['result'])]) {
    if (part['type'] !== 'image' || typeof part['data'] !== 'string') continue
    const problem = googlePictureProblem(part['mime_type'], part['data'])
    if (problem !== null) yield interactionsError('I-IMG', problem)
  }
}

function* checkResult(result: unknown, path: string): Rejections {
  if (typeof result !== 'string' && !isRecord(result) && !Array.isArray(result)) {
    yield interactionsError('I-02', `${path} must be a string, an object or a list of content.`)
  }
  for (const part of asList(result)) {
    if (isRecord(part) && CONTENT_TYPES.includes(asString(part['type']))) continue
    yield interactionsError('I-02', `${path}: a list must hold content only.`)
  }
}
