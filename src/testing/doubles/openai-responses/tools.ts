// Rules of the Responses endpoint about tools and the choice among them, and how it writes the tools back into the
// response. Tools also arrive inside the input (`additional_tools`, `tool_search_output`), so this file knows no
// request.
import {
  emptyArray,
  invalidType,
  missingParameter,
  openaiError,
  unknownParameter,
  unsupportedValue,
} from '../openai/refusals.ts'
import { checkStrictSchema } from '../openai/schema.ts'
import {
  checkChoiceForm,
  checkString,
  checkToolFormat,
  checkToolParameters,
  TOOL_NAME_PATTERN,
} from '../openai/shapes.ts'
import type { Rejections } from '../script.ts'
import { asRecords, extraKeys, isAbsent, isRecord, type JsonRecord, shownText, wordList } from '../shape.ts'

export const FUNCTION_NAME = { max: 128, pattern: TOOL_NAME_PATTERN }
export const NAMESPACE_NAME = { max: 64, pattern: TOOL_NAME_PATTERN }

const HOSTED = wordList(`
  file_search web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11 computer
  computer_use_preview code_interpreter image_generation local_shell shell apply_patch tool_search
  programmatic_tool_calling`)
const TOOL_TYPES = ['function', 'custom', 'namespace', 'mcp', ...HOSTED]
const CHOICE_TYPES = ['allowed_tools', 'function', 'custom', 'mcp', ...HOSTED]

/** The fields of the tools that the vendor defines and its caller runs. */
const LOCAL_KEYS: Readonly<Record<string, string>> = {
  shell: 'type environment allowed_callers',
  local_shell: 'type',
  apply_patch: 'type allowed_callers',
}

export function* checkResponsesTools(tools: unknown, path: string): Rejections {
  if (isAbsent(tools)) return
  if (!Array.isArray(tools)) return yield invalidType('R-00', path, 'an array of objects', tools)
  for (const [at, tool] of tools.entries()) yield* checkResponsesTool(tool, `${path}[${at}]`)
}

function* checkResponsesTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return yield invalidType('R-00', path, 'an object', tool)
  const { type, name } = tool
  yield* checkCallers(tool['allowed_callers'], `${path}.allowed_callers`)
  if (type === undefined) yield missingParameter('R-00', `${path}.type`)
  else if (type === 'function' || type === 'custom') {
    const wrong = checkString('R-04', `${path}.name`, name, FUNCTION_NAME)
    yield* wrong
    if (type === 'custom') yield* checkToolFormat('R-00', `${path}.format`, tool['format'], false)
    else if (wrong.length === 0) yield* checkToolParameters('2.4', path, tool)
  } else if (type === 'namespace') yield* checkNamespace(tool, path)
  else if (type === 'mcp') yield* checkMcpTool(tool, path)
  else if (type === 'code_interpreter' && isAbsent(tool['container'])) {
    yield missingParameter('R-00', `${path}.container`)
  } else if (Object.hasOwn(LOCAL_KEYS, shownText(type))) {
    for (const key of extraKeys(tool, wordList(LOCAL_KEYS[shownText(type)]!)))
      yield unknownParameter('R-00', `${path}.${key}`)
  } else if (!TOOL_TYPES.includes(shownText(type))) {
    yield unsupportedValue('R-00', `${path}.type`, type, TOOL_TYPES)
  }
}

const CALLERS = ['direct', 'programmatic']

function* checkCallers(callers: unknown, path: string): Rejections {
  if (isAbsent(callers)) return
  if (!Array.isArray(callers)) return yield invalidType('R-00', path, 'an array', callers)
  if (callers.length === 0) yield emptyArray('R-00', path)
  for (const [at, caller] of callers.entries())
    if (!CALLERS.includes(shownText(caller)))
      yield unsupportedValue('R-00', `${path}[${at}]`, caller, CALLERS)
}

function* checkNamespace(tool: JsonRecord, path: string): Rejections {
  yield* checkString('R-04', `${path}.name`, tool['name'], NAMESPACE_NAME)
  yield* checkString('R-00', `${path}.description`, tool['description'], { allowEmpty: true })
  const members = tool['tools']
  if (!Array.isArray(members)) return yield missingParameter('R-00', `${path}.tools`)
  if (members.length === 0) yield emptyArray('R-00', `${path}.tools`)
  for (const [at, member] of members.entries()) {
    const place = `${path}.tools[${at}]`
    const type = isRecord(member) ? member['type'] : undefined
    if (type === 'function' || type === 'custom') yield* checkResponsesTool(member, place)
    else yield unsupportedValue('R-00', `${place}.type`, type, ['function', 'custom'])
  }
}

function* checkMcpTool(tool: JsonRecord, path: string): Rejections {
  yield* checkString('R-00', `${path}.server_label`, tool['server_label'])
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
  yield* checkChoiceForm(choice, {
    rule: 'R-12',
    nested: false,
    checkEntry: (entry, path) => checkChosenTool(entry, tools, path),
  })
}

function* checkChosenTool(choice: unknown, tools: JsonRecord[], path: string): Rejections {
  if (!isRecord(choice)) return yield invalidType('R-12', path, 'an object', choice)
  const type = choice['type']
  if (typeof type !== 'string' || !CHOICE_TYPES.includes(type)) {
    return yield unsupportedValue('R-12', `${path}.type`, type, CHOICE_TYPES)
  }
  const key = type === 'mcp' ? 'server_label' : type === 'function' || type === 'custom' ? 'name' : null
  const wrong = key === null ? [] : checkString('R-12', `${path}.${key}`, choice[key])
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
