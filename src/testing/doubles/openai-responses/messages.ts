/**
 * The items that may stand in the input of the Responses endpoint, one by one: their fields, ids and names
 * . How items relate to each other and to what was stored is `responses-input.ts`.
 */
import {
  absent,
  checkPicture,
  checkString,
  isObject,
  type Json,
  missing,
  refuse,
  TOOL_NAME_PATTERN,
  textOf,
  unknownParameter,
  unsupportedValue,
  wrongType,
} from '../openai/refusals.ts'
import type { Rejection } from '../script.ts'
import { checkTools } from './tools.ts'

type ItemKind = {
  /** How an id of this kind begins, where the vendor minds. */
  prefix?: string
  /** Its fields besides `type` and `id`; undefined where any are taken. */
  keys?: string[]
  /** Said by the model, as against by the caller. */
  output?: boolean
  check?: (item: Json, path: string) => Rejection[]
}

const NAME = { max: 128, pattern: TOOL_NAME_PATTERN }
const NAMESPACE = { max: 64, pattern: TOOL_NAME_PATTERN }
const ID_LIMIT = 64
const OUTPUT_LIMIT = 10_485_760
const INPUT_PARTS = ['input_text', 'input_image', 'input_file']
const OUTPUT_PARTS = ['output_text', 'refusal']

const KINDS: Record<string, ItemKind> = {
  message: { prefix: 'msg', keys: ['role', 'content', 'status', 'phase'], check: checkMessage },
  function_call: {
    prefix: 'fc',
    output: true,
    keys: ['call_id', 'name', 'arguments', 'namespace', 'caller', 'async', 'status'],
    check: (item, path) => [
      ...checkCall(item, path),
      ...checkString('R-00', `${path}.arguments`, item['arguments'], { allowEmpty: true }),
    ],
  },
  function_call_output: {
    keys: ['call_id', 'output', 'status', 'caller', 'name', 'namespace'],
    check: checkOutput,
  },
  custom_tool_call: {
    prefix: 'ctc',
    output: true,
    keys: ['call_id', 'name', 'input', 'namespace', 'caller', 'async', 'status'],
    check: (item, path) => [
      ...checkCall(item, path),
      ...checkString('R-00', `${path}.input`, item['input'], { allowEmpty: true }),
    ],
  },
  custom_tool_call_output: { keys: ['call_id', 'output', 'status', 'caller'], check: checkOutput },
  reasoning: {
    prefix: 'rs',
    output: true,
    keys: ['summary', 'content', 'encrypted_content', 'status'],
    check: (item, path) => [
      ...(absent(item['id']) ? [missing('R-03', `${path}.id`)] : []),
      ...(Array.isArray(item['summary']) ? [] : [missing('R-00', `${path}.summary`)]),
    ],
  },
  tool_search_call: { output: true, keys: ['call_id', 'execution', 'arguments', 'status'] },
  tool_search_output: {
    keys: ['call_id', 'execution', 'tools', 'status'],
    check: (item, path) => checkTools(item['tools'] ?? [], `${path}.tools`),
  },
  additional_tools: {
    keys: ['role', 'tools'],
    check: (item, path) => [
      ...(item['role'] === 'developer'
        ? []
        : [unsupportedValue('R-00', `${path}.role`, item['role'], ['developer'])]),
      ...checkTools(item['tools'] ?? [], `${path}.tools`),
    ],
  },
  mcp_list_tools: { prefix: 'mcpl', output: true },
  mcp_approval_request: { prefix: 'mcpr', output: true },
  mcp_call: { prefix: 'mcp', output: true },
  mcp_approval_response: {
    keys: ['approval_request_id', 'approve', 'reason'],
    check: (item, path) => [
      ...checkString('R-00', `${path}.approval_request_id`, item['approval_request_id']),
      ...(typeof item['approve'] === 'boolean'
        ? []
        : [wrongType('R-00', `${path}.approve`, 'a boolean', item['approve'])]),
    ],
  },
  program: {
    output: true,
    keys: ['call_id', 'code', 'fingerprint'],
    check: (item, path) =>
      ['id', 'call_id', 'code', 'fingerprint'].flatMap(key =>
        checkString('R-00', `${path}.${key}`, item[key]),
      ),
  },
  program_output: { output: true, keys: ['call_id', 'result', 'status'] },
  item_reference: { keys: [], check: (item, path) => checkString('R-00', `${path}.id`, item['id']) },
  web_search_call: { prefix: 'ws', output: true },
  file_search_call: { prefix: 'fs', output: true },
  code_interpreter_call: { prefix: 'ci', output: true },
  image_generation_call: { prefix: 'ig', output: true },
  computer_call: { prefix: 'cu', output: true, check: checkCallId },
  computer_call_output: { check: checkCallId },
  local_shell_call: { output: true, check: checkCallId },
  local_shell_call_output: {},
  shell_call: { output: true, check: checkCallId },
  shell_call_output: { check: checkCallId },
  apply_patch_call: { output: true, check: checkCallId },
  apply_patch_call_output: { check: checkCallId },
  compaction: { output: true },
  compaction_trigger: {},
  configuration_update: {},
}

/** The kind of an item. A message may leave its type out. */
export function kindOf(item: Json): string {
  const type = item['type']
  if (typeof type === 'string') return type
  return 'role' in item ? 'message' : 'item_reference'
}

/** Whether the model said this item; what follows a reasoning item must be one of these. */
export function isModelOutput(item: Json): boolean {
  const kind = kindOf(item)
  return kind === 'message' ? item['role'] === 'assistant' : KINDS[kind]?.output === true
}

export function checkItem(item: unknown, path: string): Rejection[] {
  if (!isObject(item)) return [wrongType('R-00', path, 'an object', item)]
  const name = kindOf(item)
  const kind = KINDS[name]
  if (kind === undefined) return [unsupportedValue('R-00', `${path}.type`, name, Object.keys(KINDS))]
  const keys = kind.keys
  const unknown =
    keys === undefined
      ? []
      : Object.keys(item).filter(key => key !== 'type' && key !== 'id' && !keys.includes(key))
  return [
    ...unknown.map(key => unknownParameter('R-00', `${path}.${key}`)),
    ...checkId(item['id'], `${path}.id`, kind.prefix),
    ...(kind.check?.(item, path) ?? []),
  ]
}

function checkId(id: unknown, path: string, prefix: string | undefined): Rejection[] {
  if (absent(id)) return []
  const wrong = checkString('R-03', path, id, { max: ID_LIMIT })
  if (wrong.length > 0) return wrong
  if (!/^[A-Za-z0-9_-]+$/.test(textOf(id))) {
    const message = `Invalid '${path}': '${textOf(id)}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`
    return [refuse('R-03', message, path, 'invalid_value')]
  }
  if (prefix === undefined || textOf(id).startsWith(prefix)) return []
  const message = `Invalid '${path}': '${textOf(id)}'. Expected an ID that begins with '${prefix}'.`
  return [refuse('R-03', message, path, 'invalid_value')]
}

function checkCallId(item: Json, path: string): Rejection[] {
  return checkString('R-03', `${path}.call_id`, item['call_id'] ?? undefined, { max: ID_LIMIT })
}

function checkCall(item: Json, path: string): Rejection[] {
  return [
    ...checkCallId(item, path),
    ...checkString('R-04', `${path}.name`, item['name'], NAME),
    ...(absent(item['namespace'])
      ? []
      : checkString('R-04', `${path}.namespace`, item['namespace'], NAMESPACE)),
  ]
}

function checkOutput(item: Json, path: string): Rejection[] {
  const output = item['output']
  const call = checkCallId(item, path)
  if (output === undefined) return [...call, missing('R-05', `${path}.output`)]
  if (typeof output === 'string') {
    return [
      ...call,
      ...checkString('R-05', `${path}.output`, output, { max: OUTPUT_LIMIT, allowEmpty: true }),
    ]
  }
  if (Array.isArray(output)) return [...call, ...checkParts('R-05', `${path}.output`, output, INPUT_PARTS)]
  return [...call, wrongType('R-05', `${path}.output`, 'one of an array of objects or string', output)]
}

function checkMessage(item: Json, path: string): Rejection[] {
  const roles = ['assistant', 'system', 'developer', 'user']
  const role = item['role']
  if (typeof role !== 'string' || !roles.includes(role)) {
    return [unsupportedValue('R-00', `${path}.role`, role, roles)]
  }
  const content = item['content']
  if (content === undefined) return [missing('R-00', `${path}.content`)]
  const phases = ['commentary', 'final_answer']
  const phase = item['phase']
  const wrongPhase =
    absent(phase) || phases.includes(textOf(phase))
      ? []
      : [unsupportedValue('R-14', `${path}.phase`, phase, phases)]
  if (typeof content === 'string') return wrongPhase
  if (!Array.isArray(content)) {
    return [wrongType('R-00', `${path}.content`, 'one of an array of objects or string', content)]
  }
  const parts = role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS
  return [...checkParts('R-00', `${path}.content`, content, parts), ...wrongPhase]
}

function checkParts(rule: string, path: string, parts: unknown[], types: string[]): Rejection[] {
  return parts.flatMap((part, at) => {
    if (!isObject(part)) return [wrongType(rule, `${path}[${at}]`, 'an object', part)]
    const type = part['type']
    if (typeof type !== 'string' || !types.includes(type)) {
      return [unsupportedValue(rule, `${path}[${at}].type`, type, types)]
    }
    if (type === 'input_image') return checkPicture('R-IMG', `${path}[${at}].image_url`, part['image_url'])
    const field = type === 'refusal' ? 'refusal' : type.endsWith('_text') ? 'text' : null
    return field === null
      ? []
      : checkString(rule, `${path}[${at}].${field}`, part[field], { allowEmpty: true })
  })
}
