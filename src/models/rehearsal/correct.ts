// A call that was refused for its arguments, corrected by what the refusal says of each argument that it names.
import { type Json, parseObject } from '../../lib/json/index.ts'

const LITERAL = /(?:one of|exactly|such as|for example)[:,]?\s*("[^"]*"|-?[\d.]+)/u
const BOUND = /(<=?|>=?|at most|at least)\s*(-?\d+(?:\.\d+)?)/u

/** Undefined when nothing of the refusal is understood. */
export function correctedText(text: string, refusal: string): string | undefined {
  // Empty for free text and for a call that was cut.
  const before = parseObject(text) ?? {}
  const after = { ...before }
  for (const line of refusal.split(/\n|(?<=[.;])\s/u))
    for (const name of line.split(/[^\p{L}\d_-]+/u))
      if (Object.hasOwn(after, name)) after[name] = correctedValue(after[name]!, line)
  const corrected = JSON.stringify(after)
  return corrected === JSON.stringify(before) ? undefined : corrected
}

function correctedValue(value: Json, line: string): Json {
  const literal = LITERAL.exec(line)?.[1]
  if (literal !== undefined) return literal.startsWith('"') ? literal.slice(1, -1) : Number(literal)
  const [, bound = '', digits] = BOUND.exec(line) ?? []
  if (bound === '' || typeof value !== 'number') return value
  const limit = Number(digits) + (bound === '<' ? -1 : bound === '>' ? 1 : 0)
  return bound.startsWith('<') || bound === 'at most' ? Math.min(value, limit) : Math.max(value, limit)
}
