// Rules of Chat Completions about the tools that a request declares, and about the choice among them.
import {
  arrayTooLong,
  emptyArray,
  invalidType,
  missingParameter,
  openaiError,
  unsupportedValue,
} from '../openai/refusals.ts'
import { checkChoiceForm, checkString, checkToolFormat, checkToolParameters } from '../openai/shapes.ts'
import type { Rejections } from '../script.ts'
import { asRecord, asRecords, isAbsent, isRecord, type JsonRecord, shownText } from '../shape.ts'
import { CHAT_NAME, MOST_ENTRIES } from './messages.ts'

export function* checkChatTools(tools: unknown): Rejections {
  if (isAbsent(tools)) return
  if (!Array.isArray(tools)) return yield invalidType('C-00', 'tools', 'an array of objects', tools)
  if (tools.length === 0) return yield emptyArray('C-06', 'tools')
  if (tools.length > MOST_ENTRIES) return yield arrayTooLong('C-05', 'tools', MOST_ENTRIES, tools.length)
  for (const [at, tool] of tools.entries()) yield* checkChatTool(tool, `tools[${at}]`)
}

function* checkChatTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return yield invalidType('C-00', path, 'an object', tool)
  const type = tool['type']
  if (type === undefined) return yield missingParameter('C-00', `${path}.type`)
  if (type !== 'function' && type !== 'custom') {
    return yield unsupportedValue('C-00', `${path}.type`, type, ['function', 'custom'])
  }
  const inner = tool[type]
  const place = `${path}.${type}`
  if (!isRecord(inner)) return yield missingParameter('C-00', place)
  yield* checkString('C-04', `${place}.name`, inner['name'], CHAT_NAME)
  if (type === 'custom') yield* checkToolFormat('C-00', `${place}.format`, inner['format'], true)
  else yield* checkToolParameters('C-09', place, inner)
}

export function* checkChatChoice(body: JsonRecord): Rejections {
  for (const name of ['tool_choice', 'parallel_tool_calls']) {
    if (isAbsent(body[name]) || !isAbsent(body['tools'])) continue
    const message = `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
    yield openaiError('C-07', message, name)
  }
  const parallel = body['parallel_tool_calls']
  if (!isAbsent(parallel) && typeof parallel !== 'boolean') {
    yield invalidType('C-00', 'parallel_tool_calls', 'a boolean', parallel)
  }
  const tools = asRecords(body['tools'])
  yield* checkChoiceForm(body['tool_choice'], {
    rule: 'C-10',
    nested: true,
    checkEntry: (entry, path) => checkChosenTool(entry, tools, path),
  })
}

/** `{type: 'function', function: {name}}` or the same with `custom`. The tool must be among those offered. */
function* checkChosenTool(entry: unknown, tools: JsonRecord[], path: string): Rejections {
  if (!isRecord(entry)) return yield invalidType('C-10', path, 'an object', entry)
  const isNamed = entry['type'] === 'function' || entry['type'] === 'custom'
  if (path === 'tool_choice' && !isNamed) {
    const types = ['function', 'allowed_tools', 'custom']
    return yield unsupportedValue('C-10', 'tool_choice.type', entry['type'], types)
  }
  const type = entry['type'] === 'custom' ? 'custom' : 'function'
  const inner = entry[type]
  if (!isRecord(inner)) return yield missingParameter('C-10', `${path}.${type}`)
  const name = inner['name']
  const wrong = checkString('C-10', `${path}.${type}.name`, name)
  const isOffered = tools.some(tool => tool['type'] === type && asRecord(tool[type])['name'] === name)
  if (wrong.length > 0 || isOffered) return yield* wrong
  const message = `Invalid value for 'tool_choice': no ${type} named '${shownText(name)}' was specified in the 'tools' parameter.`
  yield openaiError('C-10', message, 'tool_choice')
}
