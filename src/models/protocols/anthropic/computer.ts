// Anthropic's computer use: one tool with an `action` in its input, or a set of tools of which each is an action. Both are
// calls of our `computer`, whose arguments are a list of actions.

import { isJsonObject, type Json, type JsonObject, parseObject } from '../../../lib/json/index.ts'
import { asList, asString, listObjects } from '../../common/json-read.ts'
import type { VendorTyped } from '../../common/vendor-typed.ts'

const TOOLSET = 'computer'
const SCROLL_PIXELS = 100

/** `computer_20251124` and the like: the older ones have fewer actions. */
export const computerTool: VendorTyped = {
  type: /^computer_\d+$/,
  form: 'json',
  declare: given => ({ ...given, name: 'computer' }),
  isCall: (call, declared) => call['name'] === declared['name'] && !isMember(call),
  read: ({ input }) => {
    const { action, ...rest } = isJsonObject(input) ? input : {}
    return readAction(asString(action), rest)
  },
  write(text) {
    const written = writeActions(text)
    return written && { input: { action: written.name, ...written.input } }
  },
}

/** `computer_toolset_20260801`: each action is a tool of its own, with the name of the set beside it. */
export const computerToolset: VendorTyped = {
  type: /^computer_toolset_\d+$/,
  form: 'json',
  declare: given => given,
  isCall: isMember,
  read: ({ name, input }) => readAction(asString(name), isJsonObject(input) ? input : {}),
  write(text) {
    const { name, input } = writeActions(text) ?? {}
    return name === undefined ? undefined : { name, input: input ?? {}, toolset_name: TOOLSET }
  },
}

function isMember({ toolset_name: toolset }: JsonObject): boolean {
  return toolset === TOOLSET
}

/** The beta header that a computer tool needs, by its date; the toolset needs none. */
export function computerBeta(tools: readonly { declared: JsonObject }[]): string | undefined {
  for (const { declared } of tools) {
    const [, year, month, day] = /^computer_(\d{4})(\d{2})(\d{2})$/.exec(asString(declared['type'])) ?? []
    if (year !== undefined) return `computer-use-${year}-${month}-${day}`
  }
  return undefined
}

// ---- reading ---------------------------------------------------------------------------------------------

function readAction(name: string, input: JsonObject): string {
  const action = toOurs(name, input)
  const repeat = name === 'key' && typeof input['repeat'] === 'number' ? Math.min(input['repeat'], 32) : 1
  return JSON.stringify({ actions: Array.from({ length: Math.max(repeat, 1) }, () => action) })
}

const CLICKS: Readonly<Record<string, JsonObject>> = {
  left_click: { action: 'click' },
  right_click: { action: 'click', button: 'right' },
  middle_click: { action: 'click', button: 'middle' },
  double_click: { action: 'double_click' },
  triple_click: { action: 'triple_click' },
  mouse_move: { action: 'move' },
  left_mouse_down: { action: 'mouse_down' },
  left_mouse_up: { action: 'mouse_up' },
}

/** An action that is not known stays as it is, and the schema of our tool refuses it. */
function toOurs(name: string, input: JsonObject): JsonObject {
  const { text, coordinate, duration, region } = input
  const click = CLICKS[name]
  if (click) return { ...click, ...point(coordinate), ...(asString(text) !== '' && { keys: keysIn(text) }) }
  switch (name) {
    case 'key':
      return { action: 'key', keys: keysIn(text) }
    case 'hold_key':
      return { action: 'hold_key', keys: keysIn(text), ms: milliseconds(duration) }
    case 'type':
      return { action: 'type', text: text ?? '' }
    case 'wait':
      return { action: 'wait', ms: milliseconds(duration) }
    case 'zoom':
      return { action: 'zoom', region: region ?? [] }
    case 'left_click_drag':
      return { action: 'drag', path: [point(input['start_coordinate']), point(coordinate)] }
    case 'scroll':
      return { action: 'scroll', ...point(coordinate), ...scrolled(input) }
    default:
      return { action: name }
  }
}

function point(coordinate: Json | undefined): JsonObject {
  const [x, y] = asList(coordinate)
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : {}
}

/** `ctrl+shift+t`; a plus alone is the key of that name. */
function keysIn(text: Json | undefined): string[] {
  return asString(text)
    .replace(/\+\+$/, '+plus')
    .split('+')
    .map(key => (key === 'plus' || key === '' ? '+' : key))
}

const milliseconds = (seconds: Json | undefined): number =>
  typeof seconds === 'number' ? Math.round(seconds * 1000) : 1000

function scrolled({ scroll_direction: direction, scroll_amount: amount }: JsonObject): JsonObject {
  const pixels = (typeof amount === 'number' ? amount : 3) * SCROLL_PIXELS
  if (direction === 'up') return { dy: -pixels }
  if (direction === 'left') return { dx: -pixels }
  return direction === 'right' ? { dx: pixels } : { dy: pixels }
}

// ---- writing ---------------------------------------------------------------------------------------------

type Written = { name: string; input: JsonObject }

/** Undefined for what the vendor cannot say in one action, such as calls of another vendor's model. */
function writeActions(text: string): Written | undefined {
  const { actions } = parseObject(text) ?? {}
  const list = listObjects(actions)
  const [first, ...rest] = list
  if (!first || rest.some(other => JSON.stringify(other) !== JSON.stringify(first))) return undefined
  const written = toTheirs(first)
  if (rest.length === 0 || written === undefined) return written
  return written.name === 'key'
    ? { name: 'key', input: { ...written.input, repeat: list.length } }
    : undefined
}

function toTheirs(action: JsonObject): Written | undefined {
  const { action: name, x, y, text, keys, ms, path, region, button, grid } = action
  if (grid !== undefined) return undefined
  const at = typeof x === 'number' && typeof y === 'number' ? { coordinate: [x, y] } : {}
  const held = asList(keys).length > 0 ? { text: asList(keys).map(asString).join('+') } : {}
  const click = Object.entries(CLICKS).find(
    ([, ours]) => ours['action'] === name && (ours['button'] ?? 'left') === (button ?? 'left'),
  )
  if (click) return { name: click[0], input: { ...at, ...held } }
  const seconds = typeof ms === 'number' ? ms / 1000 : 1
  switch (name) {
    case 'screenshot':
    case 'cursor_position':
      return { name, input: {} }
    case 'key':
      return { name, input: held }
    case 'hold_key':
      return { name, input: { ...held, duration: seconds } }
    case 'type':
      return { name, input: { text: asString(text) } }
    case 'wait':
      return { name, input: { duration: seconds } }
    case 'zoom':
      return { name, input: { region: region ?? [] } }
    case 'drag':
      return writeDrag(asList(path))
    case 'scroll':
      return writeScroll(action, at)
    default:
      return undefined
  }
}

function writeDrag(path: readonly Json[]): Written | undefined {
  const [from, to, ...rest] = path.map(each => (isJsonObject(each) ? [each['x'] ?? 0, each['y'] ?? 0] : []))
  if (!from || !to || rest.length > 0) return undefined
  return { name: 'left_click_drag', input: { start_coordinate: from, coordinate: to } }
}

function writeScroll({ dx, dy }: JsonObject, at: JsonObject): Written | undefined {
  const across = typeof dx === 'number' ? dx : 0
  const down = typeof dy === 'number' ? dy : 0
  if (across !== 0 && down !== 0) return undefined
  const scroll_direction = across === 0 ? (down < 0 ? 'up' : 'down') : across < 0 ? 'left' : 'right'
  const scroll_amount = Math.round(Math.abs(across || down) / SCROLL_PIXELS)
  return { name: 'scroll', input: { ...at, scroll_direction, scroll_amount } }
}
