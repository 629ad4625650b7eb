/**
 * What the Responses endpoint refuses of tools and of the choice among them (R-04, R-12, R-13 and 2.4),
 * and how it writes the tools back into the response. Tools also arrive inside the input
 * (`additional_tools`, `tool_search_output`), which is why this stands apart from the request's envelope.
 */
import {
  absent,
  checkString,
  checkToolFormat,
  emptyArray,
  isObject,
  type Json,
  missing,
  refuse,
  TOOL_NAME_PATTERN,
  textOf,
  unsupportedValue,
  wrongType,
} from '../openai/refusals.ts'
import { checkLooseSchema, checkStrictSchema } from '../openai/schema.ts'
import type { Rejection } from '../script.ts'

const NAME = { max: 128, pattern: TOOL_NAME_PATTERN }
const NAMESPACE = { max: 64, pattern: TOOL_NAME_PATTERN }

const HOSTED = [
  'file_search',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'computer',
  'computer_use_preview',
  'code_interpreter',
  'image_generation',
  'local_shell',
  'shell',
  'apply_patch',
  'tool_search',
  'programmatic_tool_calling',
]
const TYPES = ['function', 'custom', 'namespace', 'mcp', ...HOSTED]

export function checkTools(tools: unknown, path: string): Rejection[] {
  if (absent(tools)) return []
  if (!Array.isArray(tools)) return [wrongType('R-00', path, 'an array of objects', tools)]
  return tools.flatMap((tool: unknown, at) => checkTool(tool, `${path}[${at}]`))
}

function checkTool(tool: unknown, path: string): Rejection[] {
  if (!isObject(tool)) return [wrongType('R-00', path, 'an object', tool)]
  switch (tool['type']) {
    case undefined:
      return [missing('R-00', `${path}.type`)]
    case 'function':
      return checkFunction(tool, path)
    case 'custom':
      return [
        ...checkString('R-04', `${path}.name`, tool['name'], NAME),
        ...checkToolFormat('R-00', `${path}.format`, tool['format'], false),
      ]
    case 'namespace':
      return checkNamespace(tool, path)
    case 'mcp':
      return checkMcp(tool, path)
    case 'code_interpreter':
      return absent(tool['container']) ? [missing('R-00', `${path}.container`)] : []
    default:
      return TYPES.includes(textOf(tool['type']))
        ? []
        : [unsupportedValue('R-00', `${path}.type`, tool['type'], TYPES)]
  }
}

function checkFunction(tool: Json, path: string): Rejection[] {
  const name = checkString('R-04', `${path}.name`, tool['name'], NAME)
  if (name.length > 0 || absent(tool['parameters'])) return name
  const judge = tool['strict'] === true ? checkStrictSchema : checkLooseSchema
  const schema = judge(textOf(tool['name']), tool['parameters'], {
    rule: '2.4',
    param: `${path}.parameters`,
  })
  return schema === null ? [] : [schema]
}

function checkNamespace(tool: Json, path: string): Rejection[] {
  const members = tool['tools']
  const named = [
    ...checkString('R-04', `${path}.name`, tool['name'], NAMESPACE),
    ...checkString('R-00', `${path}.description`, tool['description'], { allowEmpty: true }),
  ]
  if (!Array.isArray(members)) return [...named, missing('R-00', `${path}.tools`)]
  if (members.length === 0) return [...named, emptyArray('R-00', `${path}.tools`)]
  return [
    ...named,
    ...members.flatMap((member: unknown, at) => {
      const where = `${path}.tools[${at}]`
      const type = isObject(member) ? member['type'] : undefined
      return type === 'function' || type === 'custom'
        ? checkTool(member, where)
        : [unsupportedValue('R-00', `${where}.type`, type, ['function', 'custom'])]
    }),
  ]
}

function checkMcp(tool: Json, path: string): Rejection[] {
  const label = checkString('R-00', `${path}.server_label`, tool['server_label'])
  const places = ['server_url', 'connector_id', 'tunnel_id'].filter(key => !absent(tool[key]))
  if (places.length === 1) return label
  const message = `Invalid '${path}': exactly one of 'server_url', 'connector_id' or 'tunnel_id' must be given, but got ${places.length}.`
  return [...label, refuse('R-00', message, path, 'invalid_value')]
}

const CHOICE_TYPES = ['allowed_tools', 'function', 'custom', 'mcp', ...HOSTED]

/** With no tools at all, `none` and `auto` mean the same and are let pass; all else asks for a tool. */
export function checkChoice(choice: unknown, tools: Json[]): Rejection[] {
  if (absent(choice)) return []
  if (typeof choice === 'string') {
    const words = ['none', 'auto', 'required']
    if (!words.includes(choice)) return [unsupportedValue('R-12', 'tool_choice', choice, words)]
    if (choice !== 'required' || tools.length > 0) return []
    const message = "Tool choice 'required' must be specified with 'tools' parameter."
    return [refuse('R-12', message, 'tool_choice')]
  }
  if (!isObject(choice)) {
    return [wrongType('R-12', 'tool_choice', 'one of a tool choice object or string', choice)]
  }
  if (choice['type'] !== 'allowed_tools') return checkChosen(choice, tools, 'tool_choice')
  const mode = choice['mode']
  if (mode !== 'auto' && mode !== 'required') {
    return [unsupportedValue('R-12', 'tool_choice.mode', mode, ['auto', 'required'])]
  }
  if (!Array.isArray(choice['tools'])) return [missing('R-12', 'tool_choice.tools')]
  return choice['tools'].flatMap((entry: unknown, at) =>
    checkChosen(entry, tools, `tool_choice.tools[${at}]`),
  )
}

function checkChosen(choice: unknown, tools: Json[], path: string): Rejection[] {
  if (!isObject(choice)) return [wrongType('R-12', path, 'an object', choice)]
  const type = choice['type']
  if (typeof type !== 'string' || !CHOICE_TYPES.includes(type)) {
    return [unsupportedValue('R-12', `${path}.type`, type, CHOICE_TYPES)]
  }
  const key = type === 'mcp' ? 'server_label' : type === 'function' || type === 'custom' ? 'name' : null
  if (key !== null) {
    const wrong = checkString('R-12', `${path}.${key}`, choice[key])
    if (wrong.length > 0) return wrong
  }
  const offered = tools.some(tool => tool['type'] === type && (key === null || tool[key] === choice[key]))
  if (offered) return []
  return [refuse('R-12', `Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')]
}

/** The tools as the response shows them. R-13: an unsaid `strict` becomes what the schema allows. */
export function echoTools(tools: unknown): Json[] {
  if (!Array.isArray(tools)) return []
  return tools.filter(isObject).map(tool => {
    if (tool['type'] !== 'function') return tool
    const { strict, parameters = null, description = null, ...rest } = tool
    const tried = parameters !== null && checkStrictSchema('', parameters) === null
    return { ...rest, description, parameters, strict: absent(strict) ? tried : strict }
  })
}

/** The namespace that a tool must be called under; undefined for a tool that stands by itself. */
export function namespaceOf(name: string, tools: Json[]): string | undefined {
  if (tools.some(tool => tool['name'] === name && tool['type'] !== 'namespace')) return undefined
  const owner = tools.find(
    tool =>
      tool['type'] === 'namespace' &&
      Array.isArray(tool['tools']) &&
      tool['tools'].some((member: unknown) => isObject(member) && member['name'] === name),
  )
  return typeof owner?.['name'] === 'string' ? owner['name'] : undefined
}
