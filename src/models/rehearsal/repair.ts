// A call that was refused as invalid, put right by what the refusal says. It reads the common ways of saying what
// is wrong with an argument; where it understands nothing it gives undefined rather than the same call again.
import type { CallPart, Outcome } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { argumentsFor } from './arguments.ts'
import { fillMember } from './fill.ts'
import { equal, flat, propertiesOf } from './schemas.ts'
import type { Source } from './slots.ts'

export function repaired(
  call: CallPart,
  outcome: Outcome,
  tool: ToolDeclaration,
  source: Source,
): string | undefined {
  const complaint = textOf(outcome.parts).slice(0, 4_000)
  if (tool.input.form === 'text') {
    const example = exampleIn(complaint)
    return typeof example === 'string' && example !== call.text ? example : undefined
  }
  const before = objectIn(call.text)
  const after = before === undefined ? undefined : mended(before, complaint, tool.input.schema, source)
  const text = after === undefined ? argumentsFor(tool, source) : JSON.stringify(after)
  return before !== undefined && equal(before, objectIn(text) ?? null) ? undefined : text
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function mended(before: JsonObject, complaint: string, root: JsonObject, source: Source): JsonObject {
  const declared = new Map(propertiesOf(flat(root, root)))
  const names = [...new Set([...declared.keys(), ...Object.keys(before)])]
  const after = new Map(Object.entries(before))
  const sentences = complaint.split(/\n|;\s|(?<=[.!?])\s+/u).filter(sentence => sentence.trim() !== '')
  for (const sentence of sentences) {
    const mentioned = names.filter(name => mentions(sentence, name))
    // A lone argument need not be named to be meant.
    const meant = mentioned.length === 0 && names.length === 1 ? names : mentioned
    for (const name of meant) {
      const schema = flat(declared.get(name), root)
      if (!declared.has(name) && /unknown|not allowed|unexpected|additional|not known/iu.test(sentence))
        after.delete(name)
      else after.set(name, better(after.get(name), sentence, name, schema, root, source))
    }
  }
  return Object.fromEntries(after)
}

function mentions(sentence: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)
  return new RegExp(String.raw`(?<![\p{L}\d_])${escaped}(?![\p{L}\d_])`, 'u').test(sentence)
}

function better(
  value: Json | undefined,
  sentence: string,
  name: string,
  schema: JsonObject,
  root: JsonObject,
  source: Source,
): Json {
  const listed = optionsIn(sentence, source)
  if (listed !== undefined) return listed
  if (typeof value === 'number') {
    const bounded = boundedBy(value, sentence)
    if (bounded !== value) return bounded
  }
  const example = exampleIn(sentence)
  if (example !== undefined) return example
  const typed = value === undefined ? undefined : retyped(value, sentence)
  return typed ?? fillMember(name, schema, root, source)
}

// ---- what refusals say -----------------------------------------------------------------------------------

function optionsIn(sentence: string, source: Source): Json | undefined {
  const list = /\b(?:one of|either|allowed values?(?: are)?|choose from)\b\s*:?\s*(.+)$/iu.exec(sentence)?.[1]
  if (list === undefined) return undefined
  const options = list
    .replace(/[.)\]]+\s*$/u, '')
    .split(/\s*(?:,|\||\bor\b|\band\b)\s*/u)
    .map(literal)
    .filter(option => option !== '')
  const heard = source.text.toLowerCase()
  return (
    options.find(option => typeof option === 'string' && heard.includes(option.toLowerCase())) ?? options[0]
  )
}

const BOUNDS: readonly [RegExp, (value: number, bound: number) => number][] = [
  [/(?:<=|≤|at most|no more than|maximum(?: of| is)?|up to|not exceed)\s*(-?\d+(?:\.\d+)?)/iu, Math.min],
  [/(?:>=|≥|at least|no less than|minimum(?: of| is)?)\s*(-?\d+(?:\.\d+)?)/iu, Math.max],
  [/(?:<|less than|below|under|before)\s*(-?\d+(?:\.\d+)?)/iu, (value, bound) => Math.min(value, bound - 1)],
  [
    /(?:>|(?:greater|more|larger) than|above|over)\s*(-?\d+(?:\.\d+)?)/iu,
    (value, bound) => Math.max(value, bound + 1),
  ],
  [/multiple of\s*(\d+(?:\.\d+)?)/iu, (value, step) => Math.max(1, Math.round(value / step)) * step],
]

function boundedBy(value: number, sentence: string): number {
  const range = /(?:between|from)\s*(-?\d+(?:\.\d+)?)\s*(?:and|to)\s*(-?\d+(?:\.\d+)?)/iu.exec(sentence)
  if (range !== null) return Math.min(Number(range[2]), Math.max(Number(range[1]), value))
  for (const [words, apply] of BOUNDS) {
    const bound = words.exec(sentence)?.[1]
    if (bound !== undefined) return apply(value, Number(bound))
  }
  return value
}

function exampleIn(sentence: string): Json | undefined {
  const match =
    /\b(?:such as|for example|for instance|e\.g\.?|exactly|example:|like)[,:]?\s+("[^"]*"|“[^”]*”|'[^']*'|[^\s,;]+)/iu.exec(
      sentence,
    )
  return match?.[1] === undefined ? undefined : literal(match[1])
}

/** A JSON literal, or a word with or without quotes. */
function literal(written: string): Json {
  const bare = written.trim().replace(/[.,;]+$/u, '')
  if (/^-?\d+(?:\.\d+)?$/u.test(bare)) return Number(bare)
  if (bare === 'null') return null
  if (bare === 'true' || bare === 'false') return bare === 'true'
  return bare.replace(/^["“'`]|["”'`]$/gu, '')
}

function retyped(value: Json, sentence: string): Json | undefined {
  const type = /\b(integer|number|string|text|boolean|array|list)\b/iu.exec(sentence)?.[1]?.toLowerCase()
  if (type === 'integer' || type === 'number') {
    const number = typeof value === 'string' ? Number(value) : value
    if (typeof number !== 'number' || Number.isNaN(number)) return undefined
    const whole = type === 'integer' ? Math.round(number) : number
    return whole === value ? undefined : whole
  }
  if ((type === 'string' || type === 'text') && typeof value !== 'string') return JSON.stringify(value)
  if ((type === 'array' || type === 'list') && !Array.isArray(value)) return [value]
  return type === 'boolean' && typeof value === 'string' ? /^(?:true|yes|on)$/iu.test(value) : undefined
}
