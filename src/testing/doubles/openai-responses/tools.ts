// Rules of the Responses endpoint about tools and the choice among them, and how it writes the tools back into the
// response. Tools also arrive inside the input (`additional_tools`, `tool_search_output`), so this file knows no
// request.
import {
  checkFields,
  checkToolParameters,
  type Fields,
  type Form,
  list,
  object,
  oneOf,
  optional,
  required,
  TOOL_NAME_PATTERN,
  text,
  toolChoice,
  toolFormat,
} from '../openai/forms.ts'
import { invalidType, missingParameter, openaiError, unsupportedValue } from '../openai/refusals.ts'
import { checkStrictSchema } from '../openai/schema.ts'
import type { Rejections } from '../script.ts'
import { asRecords, entryOf, isAbsent, isRecord, type JsonRecord, shownText, wordList } from '../shape.ts'

export const FUNCTION_NAME = { max: 128, pattern: TOOL_NAME_PATTERN }
export const NAMESPACE_NAME = { max: 64, pattern: TOOL_NAME_PATTERN }

const HOSTED = wordList(`
  file_search web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11 computer
  computer_use_preview code_interpreter image_generation local_shell shell apply_patch tool_search
  programmatic_tool_calling`)
const TOOL_TYPES = ['function', 'custom', 'namespace', 'mcp', ...HOSTED]
const CHOICE_TYPES = ['allowed_tools', 'function', 'custom', 'mcp', ...HOSTED]

const NAME: Fields = { name: text('R-04', FUNCTION_NAME) }

/** The fields of a tool that have a form. Those of a local tool are all its fields. */
const TOOL_FORMS: Readonly<Record<string, Form>> = {
  function: checkFunction,
  custom: object('R-00', { ...NAME, format: toolFormat('R-00', false) }),
  namespace: object('R-00', {
    name: text('R-04', NAMESPACE_NAME),
    description: text('R-00', { mayBeEmpty: true }),
    tools: checkMembers,
  }),
  mcp: checkMcpTool,
  code_interpreter: object('R-00', { container: required('R-00') }),
  shell: object('R-00', {}, 'type environment allowed_callers'),
  local_shell: object('R-00', {}, 'type'),
  apply_patch: object('R-00', {}, 'type allowed_callers'),
}

const callers = list('R-00', oneOf('R-00', ['direct', 'programmatic']), { of: 'an array', empty: 'R-00' })

export const responsesTools = optional(list('R-00', checkResponsesTool))

function* checkResponsesTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return yield invalidType('R-00', path, 'an object', tool)
  yield* optional(callers)(tool['allowed_callers'], `${path}.allowed_callers`)
  yield* required('R-00', oneOf('R-00', TOOL_TYPES))(tool['type'], `${path}.type`)
  yield* entryOf(TOOL_FORMS, shownText(tool['type']))?.(tool, path) ?? []
}

function* checkFunction(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return
  const wrong = [...checkFields(tool, path, NAME)]
  yield* wrong.length > 0 ? wrong : checkToolParameters('2.4', path, tool)
}

function* checkMembers(members: unknown, path: string): Rejections {
  if (!Array.isArray(members)) return yield missingParameter('R-00', path)
  const member: Form = (value, place) => {
    const type = isRecord(value) ? value['type'] : undefined
    const isOwn = type === 'function' || type === 'custom'
    if (isOwn) return checkResponsesTool(value, place)
    return [unsupportedValue('R-00', `${place}.type`, type, ['function', 'custom'])]
  }
  yield* list('R-00', member, { empty: 'R-00' })(members, path)
}

function* checkMcpTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return
  yield* text('R-00')(tool['server_label'], `${path}.server_label`)
  const places = ['server_url', 'connector_id', 'tunnel_id'].filter(key => !isAbsent(tool[key]))
  if (places.length === 1) return
  const message = `Invalid '${path}': exactly one of 'server_url', 'connector_id' or 'tunnel_id' must be given, but got ${places.length}.`
  yield openaiError('R-00', message, path, 'invalid_value')
}

/** Without tools, `none` and `auto` mean the same and are accepted. Any other choice needs a tool. */
export function* checkResponsesChoice(choice: unknown, tools: JsonRecord[]): Rejections {
  if (choice === 'required' && tools.length === 0) {
    const message = "Tool choice 'required' must be specified with 'tools' parameter."
    yield openaiError('R-12', message, 'tool_choice')
  }
  const entry: Form = (chosen, path) => checkChosenTool(chosen, tools, path)
  yield* toolChoice({ rule: 'R-12', nested: false, entry })(choice, 'tool_choice')
}

function* checkChosenTool(choice: unknown, tools: JsonRecord[], path: string): Rejections {
  if (!isRecord(choice)) return yield invalidType('R-12', path, 'an object', choice)
  const type = choice['type']
  if (typeof type !== 'string' || !CHOICE_TYPES.includes(type)) {
    return yield unsupportedValue('R-12', `${path}.type`, type, CHOICE_TYPES)
  }
  const key = type === 'mcp' ? 'server_label' : type === 'function' || type === 'custom' ? 'name' : null
  const wrong = key === null ? [] : text('R-12')(choice[key], `${path}.${key}`)
  const isOffered = tools.some(tool => tool['type'] === type && (key === null || tool[key] === choice[key]))
  if (wrong.length > 0 || isOffered) return yield* wrong
  yield openaiError('R-12', `Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')
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
export function namespaceOf(name: string, tools: JsonRecord[]): string | undefined {
  const isNamespace = (tool: JsonRecord): boolean => tool['type'] === 'namespace'
  if (tools.some(tool => tool['name'] === name && !isNamespace(tool))) return undefined
  const owner = tools.find(
    tool => isNamespace(tool) && asRecords(tool['tools']).some(member => member['name'] === name),
  )
  return typeof owner?.['name'] === 'string' ? owner['name'] : undefined
}
