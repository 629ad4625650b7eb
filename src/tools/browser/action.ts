// The browser actions of a model, as plain data: the schema of the arguments, and coordinates on the page.
import type { JsonObject } from '../../lib/json/index.ts'

const actionNames = [
  'screenshot',
  'click',
  'double_click',
  'triple_click',
  'mouse_down',
  'mouse_up',
  'move',
  'drag',
  'scroll',
  'type',
  'key',
  'hold_key',
  'wait',
  'zoom',
  'cursor_position',
  'navigate',
  'back',
  'forward',
  'reload',
  'read',
] as const
export type ActionName = (typeof actionNames)[number]

export type Point = { x: number; y: number }
export type Action = {
  action: ActionName
  x?: number
  y?: number
  button?: 'left' | 'right' | 'middle' | 'back' | 'forward'
  /** Keys that are pressed together, or held during a click. */
  keys?: string[]
  text?: string
  path?: Point[]
  dx?: number
  dy?: number
  ms?: number
  url?: string
  region?: [number, number, number, number]
  /** Coordinates count in so many parts of the display's width and height, not in pixels. */
  grid?: number
}

export type SafetyCheck = { id: string; code?: string; message?: string }
export type ComputerInput = { actions: Action[]; safety_checks?: SafetyCheck[] }

const coordinate = { type: 'number', minimum: 0, maximum: 20_000 }
const point: JsonObject = {
  type: 'object',
  properties: { x: coordinate, y: coordinate },
  required: ['x', 'y'],
}

export const computerSchema: JsonObject = {
  type: 'object',
  properties: {
    actions: {
      type: 'array',
      minItems: 1,
      maxItems: 32,
      description: 'Done one after the other. The result has a screenshot of the page after the last one.',
      items: {
        type: 'object',
        properties: {
          action: { enum: [...actionNames] },
          x: { ...coordinate, description: 'Pixels from the left edge of the screenshot.' },
          y: { ...coordinate, description: 'Pixels from the top edge of the screenshot.' },
          button: {
            enum: ['left', 'right', 'middle', 'back', 'forward'],
            description: 'Of a click. Default left.',
          },
          keys: {
            type: 'array',
            items: { type: 'string' },
            maxItems: 8,
            description:
              'Of key and hold_key: pressed together, such as ["Control", "a"]. Of a click: held meanwhile.',
          },
          text: { type: 'string', description: 'Of type.' },
          path: { type: 'array', items: point, minItems: 2, maxItems: 64, description: 'Of drag.' },
          dx: { type: 'number', description: 'Of scroll: pixels to the right.' },
          dy: { type: 'number', description: 'Of scroll: pixels down.' },
          ms: { type: 'integer', minimum: 0, maximum: 30_000, description: 'Of wait and hold_key.' },
          url: { type: 'string', description: 'Of navigate: an http or https address.' },
          region: {
            type: 'array',
            items: coordinate,
            minItems: 4,
            maxItems: 4,
            description: 'Of zoom: left, top, right, bottom.',
          },
          grid: { type: 'integer', minimum: 1, maximum: 10_000, description: 'Leave it out.' },
        },
        required: ['action'],
        additionalProperties: false,
      },
    },
    safety_checks: {
      type: 'array',
      description: 'Leave it out.',
      items: {
        type: 'object',
        properties: { id: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } },
        required: ['id'],
        additionalProperties: false,
      },
    },
  },
  required: ['actions'],
  additionalProperties: false,
}

const needsPoint: ReadonlySet<ActionName> = new Set(['double_click', 'triple_click', 'move'])

/** The fault of an action by rules that the schema cannot express. Undefined if the action is valid. */
export function actionFault(given: Action, display: Size): string | undefined {
  return missingIn(given) ?? outside(given, display)
}

function outside({ action, x, y, path = [], region, grid }: Action, display: Size): string | undefined {
  const points = [...(x === undefined || y === undefined ? [] : [{ x, y }]), ...path]
  // A grid has its last line on the edge; the last pixel stands before it.
  const isOut = (point: Point): boolean =>
    grid === undefined
      ? point.x >= display.width || point.y >= display.height
      : point.x > grid || point.y > grid
  const [, , right = 0, bottom = 0] = region ?? []
  const found =
    points.find(isOut) ??
    (right > display.width || bottom > display.height ? { x: right, y: bottom } : undefined)
  if (!found) return undefined
  const size = grid === undefined ? `${display.width} × ${display.height} pixels` : `${grid} × ${grid} parts`
  return `${action} at x=${found.x}, y=${found.y} is outside the display, which measures ${size}. Take a screenshot.`
}

function missingIn({ action, x, y, text, path, keys, url, region }: Action): string | undefined {
  if (needsPoint.has(action) && (x === undefined || y === undefined)) return `${action} needs x and y.`
  if ((x === undefined) !== (y === undefined)) return `${action} needs both x and y.`
  if (action === 'type' && text === undefined) return 'type needs text.'
  if (action === 'drag' && path === undefined) return 'drag needs a path.'
  if ((action === 'key' || action === 'hold_key') && !keys?.length) return `${action} needs keys.`
  if (action === 'zoom' && region === undefined) return 'zoom needs a region.'
  if (action === 'navigate' && url === undefined) return 'navigate needs a url.'
  return undefined
}

export type Size = { width: number; height: number }

/** From the display that the model knows, or a grid over it, to the page. */
export function onPage({ x, y }: Point, display: Size, viewport: Size, grid?: number): Point {
  const scale = (value: number, declared: number, real: number): number =>
    Math.min(Math.max((value * real) / (grid ?? declared), 0), real - 1)
  return { x: scale(x, display.width, viewport.width), y: scale(y, display.height, viewport.height) }
}

// ---- keys ------------------------------------------------------------------------------------------------------

/** Names that vendors give keys, in small letters, and the browser's names. */
const keyNames: Readonly<Record<string, string>> = {
  ctrl: 'Control',
  control: 'Control',
  cmd: 'Meta',
  command: 'Meta',
  super: 'Meta',
  meta: 'Meta',
  win: 'Meta',
  alt: 'Alt',
  option: 'Alt',
  shift: 'Shift',
  enter: 'Enter',
  return: 'Enter',
  kp_enter: 'Enter',
  esc: 'Escape',
  escape: 'Escape',
  backspace: 'Backspace',
  del: 'Delete',
  delete: 'Delete',
  tab: 'Tab',
  space: 'Space',
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
  arrowup: 'ArrowUp',
  arrowdown: 'ArrowDown',
  arrowleft: 'ArrowLeft',
  arrowright: 'ArrowRight',
  home: 'Home',
  end: 'End',
  pageup: 'PageUp',
  page_up: 'PageUp',
  prior: 'PageUp',
  pagedown: 'PageDown',
  page_down: 'PageDown',
  next: 'PageDown',
  insert: 'Insert',
  capslock: 'CapsLock',
}

/** Undefined: there is no such key. */
export function keyName(given: string): string | undefined {
  const name = given.trim() === '' && given !== '' ? 'space' : given.trim().toLowerCase()
  if (Object.hasOwn(keyNames, name)) return keyNames[name]
  if (/^f([1-9]|1[0-2])$/.test(name)) return name.toUpperCase()
  return Array.from(given).length === 1 ? given : undefined
}
