// What a check of a server is, and what its run gives. A check throws `Broken` or `NotTried`; otherwise its clause is held.
// Checks know nothing of the server but what it answers.
import { parseBounded } from '../lib/json/index.ts'

export type Verdict = 'held' | 'broken' | 'not tried'

/** `sent`, `expected` and `got` are of a broken clause, `reason` of one that was not tried. */
export type Finding = {
  id: string
  clause: string
  verdict: Verdict
  sent?: string
  expected?: string
  got?: string
  reason?: string
}

/** `At`: what the checks of a wire speak through. */
export type Check<At> = { id: string; clause: string; run: (at: At) => Promise<void> }

export class Broken extends Error {
  override readonly name = 'Broken'
  readonly got: string | undefined

  constructor(expected: string, got?: string) {
    super(expected)
    this.got = got
  }
}

/** The clause says nothing about this server, or the server gave no occasion to look at it. */
export class NotTried extends Error {
  override readonly name = 'NotTried'
}

/** `got`: what stood in its place. Absent: the last answer. */
export function hold(holds: boolean, expected: string, got?: unknown): asserts holds {
  if (!holds) throw new Broken(expected, got === undefined ? undefined : shown(got))
}

/** What a check needs before it can look at its own clause. */
export function need(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new NotTried(reason)
}

export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length > 600 ? `${text.slice(0, 600).toWellFormed()}…` : text
}

/** The value at a path of members and places, or undefined. */
export function pick(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined
    if (typeof step === 'number') at = Array.isArray(at) ? at.at(step) : undefined
    else at = Object.hasOwn(at, step) ? (at as Record<string, unknown>)[step] : undefined // An object, as was checked.
  }
  return at
}

export function list(value: unknown, ...path: readonly (string | number)[]): unknown[] {
  const found = pick(value, ...path)
  return Array.isArray(found) ? found : []
}

export function text(value: unknown, ...path: readonly (string | number)[]): string {
  const found = pick(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** The texts at a path of each value, joined. */
export function joinTexts(values: readonly unknown[], ...path: readonly (string | number)[]): string {
  return values.map(value => text(value, ...path)).join('')
}

export function parsed(json: string): unknown {
  return parseBounded(json)
}
