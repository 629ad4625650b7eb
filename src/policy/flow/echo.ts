// What a call itself brought. Much of it comes back in the result, and is no more trusted for that.
import type { CallPart, Outcome } from '../../language/calls.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { fold } from './fold.ts'
import type { Labels } from './labels.ts'
import { callArguments, resultText } from './read-outcome.ts'
import { eachLeaf } from './records.ts'

const runs = /[\p{L}\p{M}\p{N}]+/gu

/** What a tool returned, without the words of its own call, as they were or in other forms. */
export function withoutEcho(call: CallPart | undefined, outcome: Outcome): string {
  const own = new Set<string>()
  const add = (text: string): void => {
    for (const [word] of fold(text).matchAll(runs)) own.add(word)
  }
  for (const { value } of eachLeaf(call && callArguments(call))) {
    add(String(value))
    if (typeof value === 'string' && value.includes('%')) add(decoded(value))
  }
  const text = fold(resultText(outcome))
  return own.size === 0 ? text : text.replace(runs, word => (own.has(word) ? '\0' : word))
}

function decoded(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
}

/** The numbers of a call, also those that are written as text. */
export function numbersIn(call: CallPart | undefined): ReadonlySet<number> {
  return new Set([...eachLeaf(call && callArguments(call))].map(({ value }) => toNumber(value)))
}

export function toNumber(value: string | number): number {
  return typeof value === 'number' ? value : Number(value.replace(/[,'’ ]/g, ''))
}

/** The model has set a switch, or made an object: either may choose among several answers. */
export function chooses(input: Json | undefined, { defaults }: Labels): boolean {
  if (!isJsonObject(input)) return false
  return Object.entries(input).some(([name, value]) =>
    typeof value === 'boolean' ? defaults.get(name) !== value : holdsObject(value),
  )
}

function holdsObject(value: Json | undefined): boolean {
  return Array.isArray(value)
    ? value.some(item => typeof item === 'boolean' || holdsObject(item))
    : isJsonObject(value)
}
