// Removes secrets from the arguments of a call. JSON stays JSON: each text in it is redacted by itself, so that escapes
// hide nothing, and then the whole, so that a rule may look at a name and its value together.
import type { CallForm } from '../language/calls.ts'
import { type Json, parseJson } from '../lib/json/index.ts'
import type { Redactor, Tally } from './redact.ts'

/** Keeps walks over the arguments within the stack. Deeper ones are redacted as plain text. */
const maxDepth = 200
/** Texts in JSON may hold JSON themselves. It is parsed to this depth. */
const maxNested = 4

/** The same text when there is nothing to remove. */
export function redactArguments(text: string, form: CallForm, redactor: Redactor): string {
  const tally: Tally = { count: 0 }
  const value = form === 'json' ? parsed(text) : undefined
  if (value === undefined) return redactor(text, tally)
  const clean = cleanValue(value, redactor, tally, maxNested)
  const cleanText = clean === value ? text : JSON.stringify(clean)
  const whole = redactor(cleanText, tally)
  if (whole === cleanText || parsed(whole) !== undefined) return whole
  // A match went beyond one value, so the rest is no JSON any more.
  return JSON.stringify({ redacted: whole })
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text, { maxDepth })
  } catch {
    return undefined
  }
}

/** Returns the value itself when nothing in it changes. */
function cleanValue(value: Json, redactor: Redactor, tally: Tally, nested: number): Json {
  if (typeof value === 'string') return cleanString(value, redactor, tally, nested)
  if (typeof value === 'number') {
    const text = String(value)
    const clean = redactor(text, tally)
    return clean === text ? value : clean
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(item => cleanValue(item, redactor, tally, nested))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  let changed = false
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const entry: [string, Json] = [redactor(key, tally), cleanValue(item, redactor, tally, nested)]
    changed ||= entry[0] !== key || entry[1] !== item
    return entry
  })
  // fromEntries defines members instead of assigning them, so `__proto__` stays data.
  return changed ? Object.fromEntries(entries) : value
}

function cleanString(text: string, redactor: Redactor, tally: Tally, nested: number): string {
  const clean = redactor(text, tally)
  if (nested === 0 || !/^\s*[{[]/.test(clean)) return clean
  const value = parsed(clean)
  if (value === undefined) return clean
  const inner = cleanValue(value, redactor, tally, nested - 1)
  return inner === value ? clean : JSON.stringify(inner)
}
