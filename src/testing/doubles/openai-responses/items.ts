// Rules of the Responses endpoint about single tools and input items: fields, ids, names, content parts, outputs. Tools also
// arrive inside the input, so both are here. `history.ts` checks how items relate to each other and to stored responses.
import * as form from '../openai/forms.ts'

import { checkStrictSchema, checkToolParameters } from '../openai/schema.ts'
import type { Rejections } from '../script.ts'
import {
  asRecord,
  asRecords,
  extraKeys,
  isAbsent,
  isRecord,
  type JsonRecord,
  ownEntry,
  shownText,
  wordList,
} from '../shape.ts'

const FUNCTION_NAME = { max: 128, pattern: form.TOOL_NAME_PATTERN }
const NAMESPACE_NAME = { max: 64, pattern: form.TOOL_NAME_PATTERN }

const HOSTED = wordList(`
  file_search web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11 computer
  computer_use_preview code_interpreter image_generation local_shell shell apply_patch tool_search
  programmatic_tool_calling`)
const TOOL_TYPES = ['function', 'custom', 'namespace', 'mcp', ...HOSTED]
const CHOICE_TYPES = ['allowed_tools', 'function', 'custom', 'mcp', ...HOSTED]

const NAME: form.Fields = { name: form.text('R-04', FUNCTION_NAME) }

/** The fields of a tool that have a form. Those of a local tool are all its fields. */
const TOOL_FORMS: Readonly<Record<string, form.Form>> = {
  function: checkFunction,
  custom: form.object('R-00', { ...NAME, format: form.toolFormat('R-00', false) }),
  namespace: form.object('R-00', {
    name: form.text('R-04', NAMESPACE_NAME),
    description: form.text('R-00', { mayBeEmpty: true }),
    tools: checkMembers,
  }),
  mcp: checkMcpTool,
  code_interpreter: form.object('R-00', { container: form.required('R-00') }),
  shell: form.object('R-00', {}, 'type environment allowed_callers'),
  local_shell: form.object('R-00', {}, 'type'),
  apply_patch: form.object('R-00', {}, 'type allowed_callers'),
}

const callers = form.list('R-00', form.oneOf('R-00', ['direct', 'programmatic']), {
  of: 'an array',
  empty: 'R-00',
})

export const responsesTools = form.optional(form.list('R-00', checkResponsesTool))

function* checkResponsesTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return yield form.invalidType('R-00', path, 'an object', tool)
  yield* form.optional(callers)(tool['allowed_callers'], `${path}.allowed_callers`)
  yield* form.required('R-00', form.oneOf('R-00', TOOL_TYPES))(tool['type'], `${path}.type`)
  yield* ownEntry(TOOL_FORMS, shownText(tool['type']))?.(tool, path) ?? []
}

function* checkFunction(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return
  const wrong = [...form.checkFields(tool, path, NAME)]
  yield* wrong.length > 0 ? wrong : checkToolParameters('2.4', path, tool)
}

function* checkMembers(members: unknown, path: string): Rejections {
  if (!Array.isArray(members)) return yield form.missingParameter('R-00', path)
  const member: form.Form = (value, place) => {
    const type = isRecord(value) ? value['type'] : undefined
    const isOwn = type === 'function' || type === 'custom'
    if (isOwn) return checkResponsesTool(value, place)
    return [form.unsupportedValue('R-00', `${place}.type`, type, ['function', 'custom'])]
  }
  yield* form.list('R-00', member, { empty: 'R-00' })(members, path)
}

function* checkMcpTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return
  yield* form.text('R-00')(tool['server_label'], `${path}.server_label`)
  const places = ['server_url', 'connector_id', 'tunnel_id'].filter(key => !isAbsent(tool[key]))
  if (places.length === 1) return
  const message = `Invalid '${path}': exactly one of 'server_url', 'connector_id' or 'tunnel_id' must be given, but got ${places.length}.`
  yield form.openaiError('R-00', message, path, 'invalid_value')
}

/** Without tools, `none` and `auto` mean the same and are accepted. Any other choice needs a tool. */
export function* checkResponsesChoice(choice: unknown, tools: JsonRecord[]): Rejections {
  if (choice === 'required' && tools.length === 0) {
    const message = "Tool choice 'required' must be specified with 'tools' parameter."
    yield form.openaiError('R-12', message, 'tool_choice')
  }
  const entry: form.Form = (chosen, path) => checkChosenTool(chosen, tools, path)
  yield* form.toolChoice({ rule: 'R-12', nested: false, entry })(choice, 'tool_choice')
}

function* checkChosenTool(choice: unknown, tools: JsonRecord[], path: string): Rejections {
  if (!isRecord(choice)) return yield form.invalidType('R-12', path, 'an object', choice)
  const type = choice['type']
  if (typeof type !== 'string' || !CHOICE_TYPES.includes(type)) {
    return yield form.unsupportedValue('R-12', `${path}.type`, type, CHOICE_TYPES)
  }
  const key = type === 'mcp' ? 'server_label' : type === 'function' || type === 'custom' ? 'name' : null
  const wrong = key === null ? [] : form.text('R-12')(choice[key], `${path}.${key}`)
  const isOffered = tools.some(tool => tool['type'] === type && (key === null || tool[key] === choice[key]))
  if (wrong.length > 0 || isOffered) return yield* wrong
  yield form.openaiError('R-12', `Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')
}

/** The tools as the response shows them. An omitted `strict` becomes true if the schema allows strict mode. */
export function echoTools(tools: unknown): JsonRecord[] {
  return asRecords(tools).map(tool => {
    if (tool['type'] !== 'function') return tool
    const { strict, parameters = null, description = null, ...rest } = tool
    const mayBeStrict = parameters !== null && checkStrictSchema('', parameters) === null
    return { ...rest, description, parameters, strict: isAbsent(strict) ? mayBeStrict : strict }
  })
}

/** The namespace that a tool must be called under, or `undefined` for a tool outside of namespaces. */
export function findNamespace(name: string, tools: JsonRecord[]): string | undefined {
  const isNamespace = (tool: JsonRecord): boolean => tool['type'] === 'namespace'
  if (tools.some(tool => tool['name'] === name && !isNamespace(tool))) return undefined
  const owner = tools.find(
    tool => isNamespace(tool) && asRecords(tool['tools']).some(member => member['name'] === name),
  )
  return typeof owner?.['name'] === 'string' ? owner['name'] : undefined
}

// ---- items of tools that the caller runs --------------------------------------------------------------------

type ItemKind = {
  /** How an id of this kind begins, where the vendor checks it. */
  prefix?: string
  /** How our ids of this kind begin, where it does not. */
  mints?: string
  /** Its fields besides `type` and `id` that have a form, and the names of the others. Without names, any are accepted. */
  fields?: form.Fields
  others?: string
  /** The model made it, not the caller. */
  output?: boolean
  check?: (item: JsonRecord, path: string) => Rejections
}

const ID_LIMIT = 64
export const callId = form.required('R-03', form.text('R-03', { max: ID_LIMIT }))

const word = (words: string[]): form.Form => form.required('R-00', form.oneOf('R-00', words))
const someObject = (fields: form.Fields, others?: string): form.Form =>
  form.required('R-00', form.object('R-00', fields, others))
const anyText = (rule: string): form.Form => form.text(rule, { mayBeEmpty: true })
const words = form.required('R-00', (value, path) =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
    ? []
    : [form.invalidType('R-00', path, 'an array of strings', value)],
)

const outcome: form.Form = function* (value, path) {
  yield* someObject({ type: word(['exit', 'timeout']) }, 'exit_code')(value, path)
  if (!isRecord(value) || value['type'] !== 'exit' || Number.isInteger(value['exit_code'])) return
  yield form.invalidType('R-05', `${path}.exit_code`, 'an integer', value['exit_code'])
}

const operation: form.Form = function* (value, path) {
  const isDeletion = isRecord(value) && value['type'] === 'delete_file'
  const diff = isDeletion ? {} : { diff: anyText('R-00') }
  const type = word(['create_file', 'update_file', 'delete_file'])
  yield* someObject({ type, path: form.text('R-00'), ...diff }, 'diff')(value, path)
}

const LOCAL_ITEMS: Record<string, ItemKind> = {
  shell_call: {
    mints: 'sh',
    output: true,
    fields: { call_id: callId, action: someObject({ commands: words }, 'max_output_length timeout_ms') },
    others: 'environment status caller created_by',
  },
  shell_call_output: {
    fields: {
      call_id: callId,
      output: form.required(
        'R-05',
        form.list('R-05', someObject({ stdout: anyText('R-05'), stderr: anyText('R-05'), outcome }, '')),
      ),
    },
    others: 'max_output_length status caller',
  },
  local_shell_call: {
    mints: 'lsh',
    output: true,
    fields: {
      call_id: callId,
      id: form.text('R-03'),
      action: someObject(
        { type: word(['exec']), command: words, env: someObject({}) },
        'timeout_ms user working_directory',
      ),
    },
    others: 'status',
  },
  // The declarations have only `id`, the vendor's examples only `call_id`: both name the call.
  local_shell_call_output: {
    fields: { output: anyText('R-05') },
    others: 'call_id status',
    *check({ id, call_id }, path) {
      if (isAbsent(id) && isAbsent(call_id)) yield form.missingParameter('R-03', `${path}.id`)
    },
  },
  apply_patch_call: {
    mints: 'apc',
    output: true,
    fields: { call_id: callId, operation, status: word(['in_progress', 'completed']) },
    others: 'caller created_by',
  },
  apply_patch_call_output: {
    fields: {
      call_id: callId,
      status: word(['completed', 'failed']),
      output: form.optional(anyText('R-05')),
    },
    others: 'caller',
  },
}

// ---- all items ----------------------------------------------------------------------------------------------

const OUTPUT_LIMIT = 10_485_760

const inputParts = (rule: string): form.Form =>
  form.list(
    rule,
    form.tagged(rule, {
      input_text: { text: anyText(rule) },
      input_image: { image_url: form.picture('R-IMG') },
      input_file: {},
    }),
  )
const outputParts = form.list(
  'R-00',
  form.tagged('R-00', { output_text: { text: anyText('R-00') }, refusal: { refusal: anyText('R-00') } }),
)

/** Text of bounded length, or parts. */
const textOrParts = (rule: string, parts: form.Form, max?: number): form.Form =>
  form.required(rule, (value, path) => {
    if (typeof value === 'string')
      return form.text(rule, { mayBeEmpty: true, ...(max && { max }) })(value, path)
    if (Array.isArray(value)) return parts(value, path)
    return [form.invalidType(rule, path, 'one of an array of objects or string', value)]
  })

const CALL_FIELDS: form.Fields = {
  call_id: callId,
  name: form.text('R-04', FUNCTION_NAME),
  namespace: form.optional(form.text('R-04', NAMESPACE_NAME)),
}
const OUTPUT_FIELDS: form.Fields = {
  call_id: callId,
  output: textOrParts('R-05', inputParts('R-05'), OUTPUT_LIMIT),
}
const TOOLS: form.Fields = { tools: responsesTools }

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
      id: form.required('R-03'),
      summary: (value, path) => (Array.isArray(value) ? [] : [form.missingParameter('R-00', path)]),
    },
    others: 'content encrypted_content status',
  },
  tool_search_call: { mints: 'tsc', output: true, others: 'call_id execution arguments status' },
  tool_search_output: { mints: 'tso', fields: TOOLS, others: 'call_id execution status' },
  additional_tools: { fields: { role: form.oneOf('R-00', ['developer']), ...TOOLS }, others: '' },
  mcp_list_tools: { prefix: 'mcpl', output: true },
  mcp_approval_request: { prefix: 'mcpr', output: true },
  mcp_call: { prefix: 'mcp', output: true },
  mcp_approval_response: {
    fields: { approval_request_id: form.text('R-00'), approve: form.flag('R-00') },
    others: 'reason',
  },
  program: {
    mints: 'prog',
    output: true,
    fields: {
      id: form.text('R-00'),
      call_id: form.text('R-00'),
      code: form.text('R-00'),
      fingerprint: form.text('R-00'),
    },
    others: '',
  },
  program_output: { mints: 'prout', output: true, others: 'call_id result status' },
  item_reference: { fields: { id: form.text('R-00') }, others: '' },
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
    yield form.openaiError('R-00', `Invalid value: '${shownText(type)}'.`, `${path}.type`, 'invalid_value')
  if (typeof image !== 'string' && typeof file !== 'string')
    yield form.openaiError('R-00', `Missing required parameter: '${path}.image_url'.`, path)
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
  if (!isRecord(item)) return yield form.invalidType('R-00', path, 'an object', item)
  const type = itemType(item)
  const kind = ownEntry(ITEM_KINDS, type)
  if (kind === undefined) {
    return yield form.unsupportedValue('R-00', `${path}.type`, type, Object.keys(ITEM_KINDS))
  }
  const { fields = {}, others } = kind
  const named = others === undefined ? Object.keys(item) : [...Object.keys(fields), ...wordList(others)]
  for (const key of extraKeys(item, ['type', 'id', ...named]))
    yield form.unknownParameter('R-00', `${path}.${key}`)
  if (!isAbsent(item['id'])) yield* checkItemId(item['id'], `${path}.id`, kind.prefix ?? '')
  yield* kind.check?.(item, path) ?? []
  yield* form.checkFields(item, path, fields)
}

function* checkItemId(id: unknown, path: string, prefix: string): Rejections {
  const wrong = form.text('R-03', { max: ID_LIMIT })(id, path)
  if (wrong.length > 0) return yield* wrong
  const given = shownText(id)
  if (!/^[A-Za-z0-9_-]+$/.test(given)) {
    const message = `Invalid '${path}': '${given}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`
    yield form.openaiError('R-03', message, path, 'invalid_value')
  } else if (!given.startsWith(prefix)) {
    const message = `Invalid '${path}': '${given}'. Expected an ID that begins with '${prefix}'.`
    yield form.openaiError('R-03', message, path, 'invalid_value')
  }
}

const ROLES = ['assistant', 'system', 'developer', 'user']

function* checkMessageItem({ role, content, phase }: JsonRecord, path: string): Rejections {
  if (!ROLES.includes(shownText(role)))
    return yield form.unsupportedValue('R-00', `${path}.role`, role, ROLES)
  const parts = role === 'assistant' ? outputParts : inputParts('R-00')
  yield* textOrParts('R-00', parts)(content, `${path}.content`)
  yield* form.optional(form.oneOf('R-14', ['commentary', 'final_answer']))(phase, `${path}.phase`)
}
