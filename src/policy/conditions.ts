// Conditions of rules as data, so that a rule can stand in a file: on arguments, and on the calls before. In a rule that allows, a
// condition is read narrowly, as the patterns of grants are; in one that asks or denies it is read widely. In doubt a call is
// not let through.
import type { Question } from '../engine/ports/index.ts'
import { coversArguments } from '../language/argument-patterns.ts'
import { type OutcomeKind, outcomeKinds } from '../language/calls.ts'
import type { EarlierCall } from '../language/policy.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { invalidPolicy, refuseUnknownMembers } from './invalid-policy.ts'
import { namesMatcher } from './names.ts'

/** A text is a pattern; any other value is meant itself; a list means one of its members. Members of an object must all hold. */
export type ArgumentCondition =
  | string
  | number
  | boolean
  | null
  | readonly ArgumentCondition[]
  | {
      is?: Json
      not?: ArgumentCondition
      above?: number
      below?: number
      atLeast?: number
      atMost?: number
      exists?: boolean
    }

/** By the name of the argument; `a.b` is a member of an object. Free text is the argument `input`. */
export type ArgumentConditions = Readonly<Record<string, ArgumentCondition>>

/** At least so many such calls stand before the call. */
export type EarlierCondition = {
  /** Names; `*` stands for any run of characters. Default: any tool. */
  tool?: string | readonly string[]
  outcome?: OutcomeKind | readonly OutcomeKind[]
  /** Default: `turn`. */
  in?: 'turn' | 'session'
  /** Default 1. */
  atLeast?: number
}

type Width = 'narrow' | 'wide'
const other = { narrow: 'wide', wide: 'narrow' } as const

// ---- arguments -------------------------------------------------------------------------------------------------

export function argumentsMatcher(
  conditions: ArgumentConditions,
  width: Width,
): (question: Pick<Question, 'input'>) => boolean {
  const named = Object.entries(conditions)
  const roots = new Set(named.map(([path]) => path.split('.')[0]))
  return ({ input }) => {
    const given = isJsonObject(input) ? input : { input }
    if (width === 'narrow' && !Object.keys(given).every(name => roots.has(name))) return false
    return named.every(([path, condition]) => holds(condition, valueAt(given, path), width))
  }
}

function valueAt(input: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = input
  for (const name of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Of a list of values all must match to be let through; one is enough to be held back. */
function holds(condition: ArgumentCondition, value: Json | undefined, width: Width): boolean {
  if (Array.isArray(value) && !(isObject(condition) && 'is' in condition)) {
    const fits = (each: Json): boolean => holds(condition, each, width)
    if (condition === '**') return true
    return width === 'wide' ? value.some(fits) : value.length > 0 && value.every(fits)
  }
  if (Array.isArray(condition)) return condition.some((each: ArgumentCondition) => holds(each, value, width))
  if (typeof condition === 'string') return fitsPattern(condition, value, width)
  if (!isObject(condition)) return condition === value
  return fitsObject(condition, value, width)
}

type ObjectCondition = Extract<ArgumentCondition, { is?: Json }>

function isObject(condition: ArgumentCondition): condition is ObjectCondition {
  return typeof condition === 'object' && condition !== null && !Array.isArray(condition)
}

function fitsObject(condition: ObjectCondition, value: Json | undefined, width: Width): boolean {
  const { is, not, exists } = condition
  if (exists !== undefined && exists !== (value !== undefined)) return false
  if (is !== undefined && JSON.stringify(is) !== JSON.stringify(value)) return false
  if (not !== undefined && holds(not, value, other[width])) return false
  return comparisons.every(([name, compare]) => {
    const bound = condition[name]
    const number = bound === undefined ? undefined : toNumber(value, width)
    return bound === undefined || (number !== undefined && compare(number, bound))
  })
}

const comparisons = [
  ['above', (value: number, bound: number) => value > bound],
  ['below', (value: number, bound: number) => value < bound],
  ['atLeast', (value: number, bound: number) => value >= bound],
  ['atMost', (value: number, bound: number) => value <= bound],
] as const

/** A number that came as a text is held back like a number. */
function toNumber(value: Json | undefined, width: Width): number | undefined {
  if (typeof value === 'number') return value
  const number = typeof value === 'string' && width === 'wide' && value.trim() !== '' ? Number(value) : NaN
  return Number.isNaN(number) ? undefined : number
}

function fitsPattern(pattern: string, value: Json | undefined, width: Width): boolean {
  if (width === 'narrow') return coversArguments({ value: pattern }, value === undefined ? {} : { value })
  if (/^\*+$/.test(pattern)) return value !== undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? '')
  return namesMatcher(pattern.toLowerCase(), 'pattern')(text.toLowerCase())
}

// ---- earlier calls ---------------------------------------------------------------------------------------------

export function earlierMatcher({ tool, outcome, in: where = 'turn', atLeast = 1 }: EarlierCondition) {
  const isNamed = tool === undefined ? () => true : namesMatcher(tool, 'tool')
  const kinds = outcome === undefined ? undefined : new Set<string | undefined>([outcome].flat())
  const isMeant = (call: EarlierCall): boolean =>
    isNamed(call.tool) && (kinds === undefined || kinds.has(call.outcome))
  return ({ history }: Pick<Question, 'history'>): boolean => {
    let count = 0
    for (const call of history[where]) if (isMeant(call)) count += 1
    return count >= atLeast
  }
}

// ---- checks ----------------------------------------------------------------------------------------------------

const mostConditions = 50

export function checkArguments(conditions: unknown, name: string): void {
  if (!isRecord(conditions) || Object.keys(conditions).length === 0)
    invalidPolicy(name, 'must be an object such as { to: "*@example.org" }; leave it out to match all')
  if (Object.keys(conditions).length > mostConditions)
    invalidPolicy(name, `must name at most ${mostConditions} arguments`)
  for (const [path, condition] of Object.entries(conditions)) checkCondition(condition, `${name}.${path}`)
}

function checkCondition(condition: unknown, name: string): void {
  if (Array.isArray(condition)) {
    if (condition.length === 0) invalidPolicy(name, 'must list at least one condition')
    for (const [index, each] of condition.entries()) checkCondition(each, `${name}[${index}]`)
    return
  }
  if (condition === '')
    invalidPolicy(name, 'must be a pattern that is not empty; write { is: "" } for an empty text')
  if (!isRecord(condition)) {
    if (condition !== null && !['string', 'number', 'boolean'].includes(typeof condition))
      invalidPolicy(name, 'must be a pattern, a value, a list of these, or an object such as { above: 100 }')
    return
  }
  const numbers: readonly string[] = comparisons.map(([each]) => each)
  if (Object.keys(condition).length === 0) invalidPolicy(name, 'must hold at least one condition')
  refuseUnknownMembers(condition, ['is', 'not', ...numbers, 'exists'], name)
  for (const [key, value] of Object.entries(condition)) {
    if (key === 'not') checkCondition(value, `${name}.not`)
    else if (key === 'exists' && typeof value !== 'boolean')
      invalidPolicy(`${name}.exists`, 'must be true or false')
    else if (numbers.includes(key) && (typeof value !== 'number' || !Number.isFinite(value)))
      invalidPolicy(`${name}.${key}`, 'must be a number')
  }
}

const earlierMembers = ['tool', 'outcome', 'in', 'atLeast'] as const satisfies (keyof EarlierCondition)[]

export function checkEarlier(condition: unknown, name: string): void {
  if (!isRecord(condition))
    invalidPolicy(name, 'must be an object such as { tool: "fetch_*", outcome: "ok" }')
  refuseUnknownMembers(condition, earlierMembers, name)
  const { tool, outcome, in: where, atLeast } = condition
  if (tool !== undefined) namesMatcher(tool as string, `${name}.tool`) // It checks the type itself.
  for (const kind of outcome === undefined ? [] : [outcome].flat())
    if (!outcomeKinds.some(known => known === kind))
      invalidPolicy(`${name}.outcome`, `must be one of: ${outcomeKinds.join(', ')}`)
  if (where !== undefined && where !== 'turn' && where !== 'session')
    invalidPolicy(`${name}.in`, 'must be "turn" or "session"')
  if (atLeast !== undefined && (!Number.isSafeInteger(atLeast) || Number(atLeast) < 1))
    invalidPolicy(`${name}.atLeast`, 'must be a whole number from 1 up')
}
