// Google's computer use: the model calls functions of Google's own (`click_at`, `type_text_at`, …) on a grid of 1000 by
// 1000. Each is a call of our `computer`. The vendor's safety question comes with the arguments, and is acknowledged in
// the response only if a person has allowed the call.

import type { Outcome } from '../../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { isFailed, resultText } from '../../common/history.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import { plainTools, type VendorTyped } from '../../common/vendor-typed.ts'
import type { ModelTarget } from '../../protocol.ts'

const GRID = 1000
const SCROLL = 800

type Read = (args: JsonObject) => JsonObject[]

const at = ({ x, y }: JsonObject): JsonObject => ({ x: number(x), y: number(y), grid: GRID })
const number = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)
const keys = (value: Json | undefined): string[] => asString(value).split('+').filter(Boolean)

function scroll(direction: Json | undefined, magnitude: number): JsonObject {
  if (direction === 'up') return { dy: -magnitude }
  if (direction === 'left') return { dx: -magnitude }
  return direction === 'right' ? { dx: magnitude } : { dy: magnitude }
}

/** The functions that the vendor defines, as actions of ours. */
const FUNCTIONS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['open_web_browser', () => [{ action: 'screenshot' }]],
  ['wait_5_seconds', () => [{ action: 'wait', ms: 5000 }]],
  ['go_back', () => [{ action: 'back' }]],
  ['go_forward', () => [{ action: 'forward' }]],
  ['navigate', ({ url }) => [{ action: 'navigate', url: asString(url) }]],
  ['search', () => [{ action: 'navigate', url: 'https://www.google.com/' }]],
  ['click_at', args => [{ action: 'click', ...at(args) }]],
  ['hover_at', args => [{ action: 'move', ...at(args) }]],
  ['type_text_at', typeText],
  ['key_combination', args => [{ action: 'key', keys: keys(args['keys']) }]],
  [
    'scroll_document',
    ({ direction }) => [
      { action: 'scroll', x: GRID / 2, y: GRID / 2, grid: GRID, ...scroll(direction, SCROLL) },
    ],
  ],
  [
    'scroll_at',
    args => [
      {
        action: 'scroll',
        ...at(args),
        ...scroll(args['direction'], typeof args['magnitude'] === 'number' ? args['magnitude'] : SCROLL),
      },
    ],
  ],
  [
    'drag_and_drop',
    args => {
      const to = { x: number(args['destination_x']), y: number(args['destination_y']) }
      return [{ action: 'drag', grid: GRID, path: [{ x: number(args['x']), y: number(args['y']) }, to] }]
    },
  ],
])

/** Unless it says otherwise, the field is emptied first and Enter follows. */
function typeText(args: JsonObject): JsonObject[] {
  return [
    { action: 'click', ...at(args) },
    ...(args['clear_before_typing'] === false
      ? []
      : [
          { action: 'key', keys: ['Control', 'a'] },
          { action: 'key', keys: ['Delete'] },
        ]),
    { action: 'type', text: asString(args['text']) },
    ...(args['press_enter'] === false ? [] : [{ action: 'key', keys: ['Enter'] }]),
  ]
}

/** Other models refuse the declaration; they are offered a function. */
export function takesComputer({ model, quirks }: ModelTarget): boolean {
  return !quirks.has(plainTools) && /computer-use|(?:^|\/)gemini-[3-9]/.test(model)
}

/** `type`: the key or the type under which the API declares it. */
export function googleComputer(type: RegExp): VendorTyped {
  return {
    type,
    form: 'json',
    declare: given => given,
    isCall: ({ name }) => FUNCTIONS.has(asString(name)),
    read: readCall,
    result: resultFields,
  }
}

function readCall({ name, args }: JsonObject): string {
  const { safety_decision: decision, ...given } = asObject(args)
  const actions = FUNCTIONS.get(asString(name))?.(given) ?? []
  const { decision: code, explanation } = asObject(decision)
  const needsPerson = asString(code) === 'require_confirmation'
  const check = { id: 'safety_decision', code: asString(code), message: asString(explanation) }
  return JSON.stringify({ actions, ...(needsPerson && { safety_checks: [check] }) })
}

/** The response beside the picture: where the browser is, and what there is to say. */
function resultFields(outcome: Outcome, call: JsonObject): JsonObject {
  if (isFailed(outcome)) return { error: resultText(outcome) }
  const { url, acknowledged } = isJsonObject(outcome.structured) ? outcome.structured : {}
  const wasAsked = isJsonObject(asObject(call['args'])['safety_decision'])
  return {
    output: resultText(outcome),
    ...(typeof url === 'string' && { url }),
    ...(wasAsked && asList(acknowledged).length > 0 && { safety_acknowledgement: 'true' }),
  }
}
