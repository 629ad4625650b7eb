// Rules of the Responses endpoint about single input items: fields, ids, names, content parts, outputs.
// `history.ts` checks how items relate to each other and to stored responses.
import {
  checkFields,
  type Fields,
  type Form,
  flag,
  list,
  oneOf,
  optional,
  picture,
  required,
  tagged,
  text,
} from '../openai/forms.ts'
import {
  invalidType,
  missingParameter,
  openaiError,
  unknownParameter,
  unsupportedValue,
} from '../openai/refusals.ts'
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
import { callId, ID_LIMIT, type ItemKind, LOCAL_ITEMS } from './local-items.ts'
import { FUNCTION_NAME, NAMESPACE_NAME, responsesTools } from './tools.ts'

const OUTPUT_LIMIT = 10_485_760

const anyText = (rule: string): Form => text(rule, { mayBeEmpty: true })

const inputParts = (rule: string): Form =>
  list(
    rule,
    tagged(rule, {
      input_text: { text: anyText(rule) },
      input_image: { image_url: picture('R-IMG') },
      input_file: {},
    }),
  )
const outputParts = list(
  'R-00',
  tagged('R-00', { output_text: { text: anyText('R-00') }, refusal: { refusal: anyText('R-00') } }),
)

/** Text of bounded length, or parts. */
const textOrParts = (rule: string, parts: Form, max?: number): Form =>
  required(rule, (value, path) => {
    if (typeof value === 'string') return text(rule, { mayBeEmpty: true, ...(max && { max }) })(value, path)
    if (Array.isArray(value)) return parts(value, path)
    return [invalidType(rule, path, 'one of an array of objects or string', value)]
  })

const CALL_FIELDS: Fields = {
  call_id: callId,
  name: text('R-04', FUNCTION_NAME),
  namespace: optional(text('R-04', NAMESPACE_NAME)),
}
const OUTPUT_FIELDS: Fields = {
  call_id: callId,
  output: textOrParts('R-05', inputParts('R-05'), OUTPUT_LIMIT),
}
const TOOLS: Fields = { tools: responsesTools }

const ITEM_KINDS: Record<string, ItemKind> = {
  message: { prefix: 'msg', others: 'role content status phase', check: checkMessageItem },
  function_call: {
    prefix: 'fc',
    output: true,
    fields: { ...CALL_FIELDS, arguments: anyText('R-00') },
    others: 'caller async status',
  },
  function_call_output: { fields: OUTPUT_FIELDS, others: 'status caller name namespace' },
  custom_tool_call: {
    prefix: 'ctc',
    output: true,
    fields: { ...CALL_FIELDS, input: anyText('R-00') },
    others: 'caller async status',
  },
  custom_tool_call_output: { fields: OUTPUT_FIELDS, others: 'status caller' },
  reasoning: {
    prefix: 'rs',
    output: true,
    fields: {
      id: required('R-03'),
      summary: (value, path) => (Array.isArray(value) ? [] : [missingParameter('R-00', path)]),
    },
    others: 'content encrypted_content status',
  },
  tool_search_call: { mints: 'tsc', output: true, others: 'call_id execution arguments status' },
  tool_search_output: { mints: 'tso', fields: TOOLS, others: 'call_id execution status' },
  additional_tools: { fields: { role: oneOf('R-00', ['developer']), ...TOOLS }, others: '' },
  mcp_list_tools: { prefix: 'mcpl', output: true },
  mcp_approval_request: { prefix: 'mcpr', output: true },
  mcp_call: { prefix: 'mcp', output: true },
  mcp_approval_response: {
    fields: { approval_request_id: text('R-00'), approve: flag('R-00') },
    others: 'reason',
  },
  program: {
    mints: 'prog',
    output: true,
    fields: { id: text('R-00'), call_id: text('R-00'), code: text('R-00'), fingerprint: text('R-00') },
    others: '',
  },
  program_output: { mints: 'prout', output: true, others: 'call_id result status' },
  item_reference: { fields: { id: text('R-00') }, others: '' },
  web_search_call: { prefix: 'ws', output: true },
  file_search_call: { prefix: 'fs', output: true },
  code_interpreter_call: { prefix: 'ci', output: true },
  image_generation_call: { prefix: 'ig', output: true },
  computer_call: { prefix: 'cu', output: true, fields: { call_id: callId } },
  computer_call_output: {
    fields: { call_id: callId, output: screenshot },
    others: 'acknowledged_safety_checks status',
  },
  ...LOCAL_ITEMS,
  compaction: { output: true },
  compaction_trigger: {},
  configuration_update: {},
}

function* screenshot(value: unknown, path: string): Rejections {
  const { type, image_url: image, file_id: file } = asRecord(value)
  if (type !== 'computer_screenshot')
    yield openaiError('R-00', `Invalid value: '${shownText(type)}'.`, `${path}.type`, 'invalid_value')
  if (typeof image !== 'string' && typeof file !== 'string')
    yield openaiError('R-00', `Missing required parameter: '${path}.image_url'.`, path)
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
  const { fields = {}, others } = kind
  const named = others === undefined ? Object.keys(item) : [...Object.keys(fields), ...wordList(others)]
  for (const key of extraKeys(item, ['type', 'id', ...named]))
    yield unknownParameter('R-00', `${path}.${key}`)
  if (!isAbsent(item['id'])) yield* checkItemId(item['id'], `${path}.id`, kind.prefix ?? '')
  yield* kind.check?.(item, path) ?? []
  yield* checkFields(item, path, fields)
}

function* checkItemId(id: unknown, path: string, prefix: string): Rejections {
  const wrong = text('R-03', { max: ID_LIMIT })(id, path)
  if (wrong.length > 0) return yield* wrong
  const given = shownText(id)
  if (!/^[A-Za-z0-9_-]+$/.test(given)) {
    const message = `Invalid '${path}': '${given}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`
    yield openaiError('R-03', message, path, 'invalid_value')
  } else if (!given.startsWith(prefix)) {
    const message = `Invalid '${path}': '${given}'. Expected an ID that begins with '${prefix}'.`
    yield openaiError('R-03', message, path, 'invalid_value')
  }
}

const ROLES = ['assistant', 'system', 'developer', 'user']

function* checkMessageItem({ role, content, phase }: JsonRecord, path: string): Rejections {
  if (!ROLES.includes(shownText(role))) return yield unsupportedValue('R-00', `${path}.role`, role, ROLES)
  const parts = role === 'assistant' ? outputParts : inputParts('R-00')
  yield* textOrParts('R-00', parts)(content, `${path}.content`)
  yield* optional(oneOf('R-14', ['commentary', 'final_answer']))(phase, `${path}.phase`)
}
