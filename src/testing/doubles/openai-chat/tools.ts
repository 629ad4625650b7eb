// Rules of Chat Completions about the tools that a request declares, and about the choice among them.
import * as says from '../../../apis/openai/chat-wordings.ts'
import {
  checkToolParameters,
  type Form,
  flag,
  list,
  object,
  optional,
  required,
  tagged,
  text,
  toolChoice,
  toolFormat,
} from '../openai/forms.ts'
import { invalidType, missingParameter, refusal, unsupportedValue } from '../openai/refusals.ts'
import type { Rejections } from '../script.ts'
import { asRecord, asRecords, isAbsent, isRecord, type JsonRecord, shownText } from '../shape.ts'
import { CHAT_NAME, MOST_ENTRIES } from './messages.ts'

const name = text('C-04', CHAT_NAME)
const functionTool: Form = function* (value, path) {
  yield* name(asRecord(value)['name'], `${path}.name`)
  yield* checkToolParameters('C-09', path, asRecord(value))
}
const tool = tagged('C-00', {
  function: { function: required('C-00', functionTool) },
  custom: { custom: required('C-00', object('C-00', { name, format: toolFormat('C-00', true) })) },
})
const typedTool: Form = (value, path) =>
  isRecord(value) && value['type'] === undefined
    ? [missingParameter('C-00', `${path}.type`)]
    : tool(value, path)

export const chatTools = optional(list('C-00', typedTool, { empty: 'C-06', most: MOST_ENTRIES }))

export function* checkChatChoice(body: JsonRecord): Rejections {
  for (const name of ['tool_choice', 'parallel_tool_calls'])
    if (!isAbsent(body[name]) && isAbsent(body['tools'])) yield refusal('C-07', says.onlyWithTools(name))
  yield* optional(flag('C-00'))(body['parallel_tool_calls'], 'parallel_tool_calls')
  const tools = asRecords(body['tools'])
  const entry: Form = (chosen, path) => checkChosenTool(chosen, tools, path)
  yield* toolChoice({ rule: 'C-10', nested: true, entry })(body['tool_choice'], 'tool_choice')
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
  const { name: chosen } = inner
  const wrong = text('C-10')(chosen, `${path}.${type}.name`)
  const isOffered = tools.some(each => each['type'] === type && asRecord(each[type])['name'] === chosen)
  if (wrong.length > 0 || isOffered) return yield* wrong
  yield refusal('C-10', says.noSuchTool(type, shownText(chosen)))
}
