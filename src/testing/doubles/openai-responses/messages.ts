// Rules of the Responses endpoint about single input items: fields, ids, names, content parts, outputs.
// `history.ts` checks how items relate to each other and to stored responses.
import {
  invalidType,
  missingParameter,
  openaiError,
  unknownParameter,
  unsupportedValue,
} from '../openai/refusals.ts'
import {
  checkParts,
  checkPicture,
  checkString,
  type PartChecks,
  textField,
  uncheckedPart,
} from '../openai/shapes.ts'
import type { Rejections } from '../script.ts'
import {
  asRecord,
  entryOf,
  extraKeys,
  isAbsent,
  isRecord,
  type JsonRecord,
  shownText,
  wordList,
} from '../shape.ts'
import { checkCallId, ID_LIMIT, type ItemKind, LOCAL_ITEMS } from './local-items.ts'
import { checkResponsesTools, FUNCTION_NAME, NAMESPACE_NAME } from './tools.ts'

const OUTPUT_LIMIT = 10_485_760
const INPUT_PARTS: PartChecks = {
  input_text: textField('text'),
  input_image: (part, path) => checkPicture('R-IMG', `${path}.image_url`, part['image_url']),
  input_file: uncheckedPart,
}
const OUTPUT_PARTS: PartChecks = { output_text: textField('text'), refusal: textField('refusal') }

const FUNCTION_KEYS = 'call_id name arguments namespace caller async status'
const CUSTOM_KEYS = 'call_id name input namespace caller async status'

const ITEM_KINDS: Record<string, ItemKind> = {
  message: { prefix: 'msg', keys: 'role content status phase', check: checkMessageItem },
  function_call: { prefix: 'fc', output: true, keys: FUNCTION_KEYS, check: checkCall('arguments') },
  function_call_output: { keys: 'call_id output status caller name namespace', check: checkOutput },
  custom_tool_call: { prefix: 'ctc', output: true, keys: CUSTOM_KEYS, check: checkCall('input') },
  custom_tool_call_output: { keys: 'call_id output status caller', check: checkOutput },
  reasoning: {
    prefix: 'rs',
    output: true,
    keys: 'summary content encrypted_content status',
    *check(item, path) {
      if (isAbsent(item['id'])) yield missingParameter('R-03', `${path}.id`)
      if (!Array.isArray(item['summary'])) yield missingParameter('R-00', `${path}.summary`)
    },
  },
  tool_search_call: { mints: 'tsc', output: true, keys: 'call_id execution arguments status' },
  tool_search_output: {
    mints: 'tso',
    keys: 'call_id execution tools status',
    check: (item, path) => checkResponsesTools(item['tools'], `${path}.tools`),
  },
  additional_tools: {
    keys: 'role tools',
    *check({ role, tools }, path) {
      if (role !== 'developer') yield unsupportedValue('R-00', `${path}.role`, role, ['developer'])
      yield* checkResponsesTools(tools, `${path}.tools`)
    },
  },
  mcp_list_tools: { prefix: 'mcpl', output: true },
  mcp_approval_request: { prefix: 'mcpr', output: true },
  mcp_call: { prefix: 'mcp', output: true },
  mcp_approval_response: {
    keys: 'approval_request_id approve reason',
    *check({ approval_request_id: id, approve }, path) {
      yield* checkString('R-00', `${path}.approval_request_id`, id)
      if (typeof approve !== 'boolean') yield invalidType('R-00', `${path}.approve`, 'a boolean', approve)
    },
  },
  program: {
    mints: 'prog',
    output: true,
    keys: 'call_id code fingerprint',
    *check(item, path) {
      for (const key of ['id', 'call_id', 'code', 'fingerprint'])
        yield* checkString('R-00', `${path}.${key}`, item[key])
    },
  },
  program_output: { mints: 'prout', output: true, keys: 'call_id result status' },
  item_reference: { keys: '', check: (item, path) => checkString('R-00', `${path}.id`, item['id']) },
  web_search_call: { prefix: 'ws', output: true },
  file_search_call: { prefix: 'fs', output: true },
  code_interpreter_call: { prefix: 'ci', output: true },
  image_generation_call: { prefix: 'ig', output: true },
  computer_call: { prefix: 'cu', output: true, check: checkCallId },
  computer_call_output: {
    keys: 'call_id output acknowledged_safety_checks status',
    *check(item, path) {
      yield* checkCallId(item, path)
      const { type, image_url: image, file_id: file } = asRecord(item['output'])
      if (type !== 'computer_screenshot')
        yield openaiError(
          'R-00',
          `Invalid value: '${shownText(type)}'.`,
          `${path}.output.type`,
          'invalid_value',
        )
      if (typeof image !== 'string' && typeof file !== 'string')
        yield openaiError('R-00', `Missing required parameter: '${path}.output.image_url'.`, `${path}.output`)
    },
  },
  ...LOCAL_ITEMS,
  compaction: { output: true },
  compaction_trigger: {},
  configuration_update: {},
}

/** The type of an item. A message may leave its type out. */
export function itemType(item: JsonRecord): string {
  const type = item['type']
  if (typeof type === 'string') return type
  return 'role' in item ? 'message' : 'item_reference'
}

/** Whether the model made this item. A reasoning item must be followed by one of these. */
export function isModelOutput(item: JsonRecord): boolean {
  const type = itemType(item)
  return type === 'message' ? item['role'] === 'assistant' : ITEM_KINDS[type]?.output === true
}

/** How the id of a new item begins. */
export const idPrefix = (type: string): string =>
  ITEM_KINDS[type]?.prefix ?? ITEM_KINDS[type]?.mints ?? 'item'

export function* checkItem(item: unknown, path: string): Rejections {
  if (!isRecord(item)) return yield invalidType('R-00', path, 'an object', item)
  const type = itemType(item)
  const kind = entryOf(ITEM_KINDS, type)
  if (kind === undefined) {
    return yield unsupportedValue('R-00', `${path}.type`, type, Object.keys(ITEM_KINDS))
  }
  const unknown = kind.keys === undefined ? [] : extraKeys(item, ['type', 'id', ...wordList(kind.keys)])
  for (const key of unknown) yield unknownParameter('R-00', `${path}.${key}`)
  if (!isAbsent(item['id'])) yield* checkItemId(item['id'], `${path}.id`, kind.prefix ?? '')
  yield* kind.check?.(item, path) ?? []
}

function* checkItemId(id: unknown, path: string, prefix: string): Rejections {
  const wrong = checkString('R-03', path, id, { max: ID_LIMIT })
  if (wrong.length > 0) return yield* wrong
  const text = shownText(id)
  if (!/^[A-Za-z0-9_-]+$/.test(text)) {
    const message = `Invalid '${path}': '${text}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`
    yield openaiError('R-03', message, path, 'invalid_value')
  } else if (!text.startsWith(prefix)) {
    const message = `Invalid '${path}': '${text}'. Expected an ID that begins with '${prefix}'.`
    yield openaiError('R-03', message, path, 'invalid_value')
  }
}

function checkCall(field: 'arguments' | 'input'): NonNullable<ItemKind['check']> {
  return function* check(item, path) {
    yield* checkCallId(item, path)
    yield* checkString('R-04', `${path}.name`, item['name'], FUNCTION_NAME)
    const namespace = item['namespace']
    if (!isAbsent(namespace)) yield* checkString('R-04', `${path}.namespace`, namespace, NAMESPACE_NAME)
    yield* checkString('R-00', `${path}.${field}`, item[field], { allowEmpty: true })
  }
}

function* checkOutput(item: JsonRecord, path: string): Rejections {
  yield* checkCallId(item, path)
  const place = `${path}.output`
  const output = item['output']
  if (output === undefined) yield missingParameter('R-05', place)
  else if (typeof output === 'string') {
    yield* checkString('R-05', place, output, { max: OUTPUT_LIMIT, allowEmpty: true })
  } else if (Array.isArray(output)) yield* checkParts('R-05', place, output, INPUT_PARTS)
  else yield invalidType('R-05', place, 'one of an array of objects or string', output)
}

function* checkMessageItem({ role, content, phase }: JsonRecord, path: string): Rejections {
  const roles = ['assistant', 'system', 'developer', 'user']
  if (typeof role !== 'string' || !roles.includes(role)) {
    return yield unsupportedValue('R-00', `${path}.role`, role, roles)
  }
  if (content === undefined) return yield missingParameter('R-00', `${path}.content`)
  if (Array.isArray(content)) {
    yield* checkParts('R-00', `${path}.content`, content, role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS)
  } else if (typeof content !== 'string') {
    return yield invalidType('R-00', `${path}.content`, 'one of an array of objects or string', content)
  }
  const phases = ['commentary', 'final_answer']
  if (!isAbsent(phase) && !phases.includes(shownText(phase))) {
    yield unsupportedValue('R-14', `${path}.phase`, phase, phases)
  }
}
