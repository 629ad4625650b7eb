// OpenAI's computer use: an item `computer_call` with a list of actions, answered by a screenshot. The vendor's safety
// checks come with the call; they are acknowledged only if a person has allowed the call.

import type { Outcome } from '../../../language/calls.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { isFailed } from '../../common/history.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import type { VendorTyped } from '../../common/vendor-typed.ts'

export const computerTool: VendorTyped = {
  type: /^computer(?:_use_preview)?$/,
  form: 'json',
  declare: given => given,
  isCall: call => call['type'] === 'computer_call',
  read: readCall,
  result: screenshotResult,
  after: notice,
}

/** Newer models give a list, older ones a single action. */
function readCall({ actions, action, pending_safety_checks: checks }: JsonObject): string {
  const list = Array.isArray(actions) ? actions : action === undefined || action === null ? [] : [action]
  const pending = asList(checks).map(check => {
    const { id, code, message } = asObject(check)
    return {
      id: asString(id),
      ...(typeof code === 'string' && { code }),
      ...(typeof message === 'string' && { message }),
    }
  })
  return JSON.stringify({
    actions: list.map(each => readAction(asObject(each))),
    ...(pending.length > 0 && { safety_checks: pending }),
  })
}

const BUTTONS: Readonly<Record<string, string>> = {
  right: 'right',
  wheel: 'middle',
  back: 'back',
  forward: 'forward',
}

/** An action that is not known stays as it is, and the schema of our tool refuses it. */
function readAction(action: JsonObject): JsonObject {
  const { type, x, y, button, keys, path, text } = action
  const at = { ...(typeof x === 'number' && { x }), ...(typeof y === 'number' && { y }) }
  const held = asList(keys).length > 0 ? { keys: asList(keys).map(asString) } : {}
  switch (type) {
    case 'click': {
      const ours = BUTTONS[asString(button)]
      return { action: 'click', ...at, ...(ours !== undefined && { button: ours }), ...held }
    }
    case 'double_click':
      return { action: 'double_click', ...at, ...held }
    case 'move':
      return { action: 'move', ...at }
    case 'drag':
      return { action: 'drag', path: asList(path).map(readPoint) }
    case 'keypress':
      return { action: 'key', keys: asList(keys).map(asString) }
    case 'scroll':
      return { action: 'scroll', ...at, dx: pixels(action['scroll_x']), dy: pixels(action['scroll_y']) }
    case 'type':
      return { action: 'type', text: asString(text) }
    case 'wait':
      return { action: 'wait', ms: 2000 }
    default:
      return { action: asString(type) }
  }
}

const pixels = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** `{ x, y }`; some models give `[x, y]`. */
function readPoint(value: unknown): JsonObject {
  if (Array.isArray(value)) return { x: pixels(value[0]), y: pixels(value[1]) }
  return isJsonObject(value) ? { x: pixels(value['x']), y: pixels(value['y']) } : {}
}

/** Stands for the screen when nothing was done: one grey point. */
const NO_PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mM4c+bMfwAIMANKL0m0lwAAAABJRU5ErkJggg=='

function screenshotResult(outcome: Outcome, call: JsonObject): JsonObject {
  const picture = outcome.parts.findLast(part => part.type === 'image')
  const pending = asList(call['pending_safety_checks'])
  const done = isJsonObject(outcome.structured) ? asList(outcome.structured['acknowledged']) : []
  const wasGranted = outcome.from.source === 'tool' && done.length === pending.length
  return {
    output: { type: 'computer_screenshot', image_url: picture?.url ?? NO_PICTURE },
    ...(pending.length > 0 && wasGranted && { acknowledged_safety_checks: pending }),
  }
}

/**
 * The vendor's result has no place for text. Our text about a call that was not done follows as a user message. Text of
 * a page does not follow, since it would be read as a person's words.
 */
function notice(outcome: Outcome): JsonObject[] {
  const given = isJsonObject(outcome.structured) ? asString(outcome.structured['notice']) : ''
  const own =
    outcome.from.source === 'tool'
      ? ''
      : outcome.parts.map(part => (part.type === 'text' ? part.text : '')).join(' ')
  const text = given || (isFailed(outcome) ? own || 'The actions were not done.' : '')
  if (text === '') return []
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: `[computer] ${text}` }] }]
}
