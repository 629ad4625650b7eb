// Rules of Interactions about tools as they are declared, and about the tool choice.
import { repeatedFunction } from '../../../apis/gemini/wordings.ts'
import { isGoogleName } from '../google/signatures.ts'
import type { Rejections } from '../script.ts'
import { asRecord, asRecords, asString, extraKeys, isRecord, type JsonRecord, wordList } from '../shape.ts'
import { interactionsError } from './refusals.ts'

const TOOL_TYPES = wordList(
  'function mcp_server google_search code_execution url_context file_search google_maps computer_use retrieval',
)
const CHOICES = ['auto', 'any', 'none', 'validated']

export function* checkInteractionsTools(tools: unknown): Rejections {
  const names: string[] = []
  for (const [at, tool] of asRecords(tools).entries()) {
    const type = asString(tool['type'])
    if (!TOOL_TYPES.includes(type)) {
      yield interactionsError('I-03', `tools[${at}].type: '${type}' is not a tool type.`)
    } else if (type === 'function') {
      yield* checkFunctionTool(tool, `tools[${at}]`)
      names.push(asString(tool['name']))
    } else if (type === 'computer_use') yield* checkComputerTool(tool, `tools[${at}]`)
  }
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) yield interactionsError('I-03', repeatedFunction(twice))
}

const COMPUTER_KEYS = wordList(
  'type environment excluded_predefined_functions enable_prompt_injection_detection disabled_safety_policies',
)
const ENVIRONMENTS = ['browser', 'mobile', 'desktop']

function* checkComputerTool(tool: JsonRecord, path: string): Rejections {
  for (const key of extraKeys(tool, COMPUTER_KEYS))
    yield interactionsError('I-03', `${path}: unknown parameter '${key}'.`)
  const environment = tool['environment'] ?? 'browser'
  if (!ENVIRONMENTS.includes(asString(environment)))
    yield interactionsError('I-03', `${path}.environment must be one of ${ENVIRONMENTS.join(', ')}.`)
}

function* checkFunctionTool(tool: JsonRecord, path: string): Rejections {
  for (const key of extraKeys(tool, ['type', 'name', 'description', 'parameters'])) {
    yield interactionsError('I-03', `${path}: unknown parameter '${key}'.`)
  }
  if (!isGoogleName(asString(tool['name']))) {
    yield interactionsError('I-03', `${path}.name: Invalid function name.`)
  }
  if (tool['parameters'] !== undefined && !isRecord(tool['parameters'])) {
    yield interactionsError('I-03', `${path}.parameters must be a JSON schema.`)
  }
}

export function* checkInteractionsChoice(config: unknown): Rejections {
  const choice = asRecord(config)['tool_choice']
  if (choice === undefined) return
  const isMode = (value: unknown): boolean => CHOICES.includes(asString(value))
  if (!isRecord(choice)) {
    if (isMode(choice)) return
    const text = `generation_config.tool_choice must be one of ${CHOICES.join(', ')} or an object.`
    return yield interactionsError('I-08', text)
  }
  const allowed = choice['allowed_tools']
  if (isRecord(allowed) && isMode(allowed['mode'] ?? 'auto') && Array.isArray(allowed['tools'])) return
  const text = 'generation_config.tool_choice: expected { allowed_tools: { mode, tools } }.'
  yield interactionsError('I-08', text)
}
