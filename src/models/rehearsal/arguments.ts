// The text of one call, as a model would write it: JSON for a schema, free text for a text tool.
import type { Grammar, ToolDeclaration } from '../../language/tools.ts'
import { fillArguments } from './fill.ts'
import { sampleOf } from './pattern.ts'
import { passes } from './schemas.ts'
import { remainder, type Source, take, unused } from './slots.ts'

export function argumentsFor(tool: ToolDeclaration, source: Source): string {
  if (tool.input.form === 'json') return JSON.stringify(fillArguments(tool.input.schema, source))
  return textFor(tool.input.grammar, source)
}

function textFor(grammar: Grammar | undefined, source: Source): string {
  const quoted = unused(source, ['quoted'], true)
  const told = /:\s+(.+)$/su.exec(source.free)?.[1]?.trim()
  const candidates = [...quoted.map(fact => fact.text), ...(told === undefined ? [] : [told])]
  const rest = remainder(source)
  const found =
    grammar === undefined ? undefined : bound(grammar, [...candidates, ...wordsAnd(source), rest], source)
  const text = found ?? candidates[0] ?? rest
  take(
    quoted.find(fact => fact.text === text),
    source,
  )
  return text
}

function wordsAnd(source: Source): string[] {
  return [...source.facts.map(fact => fact.text), ...source.text.split(/\s+/u)]
}

/** A regular expression can be tried; of a Lark grammar only the literals are understood. */
function bound(grammar: Grammar, candidates: readonly string[], source: Source): string | undefined {
  if (grammar.syntax === 'regex') {
    const whole = `^(?:${grammar.definition})$`
    const sample = sampleOf(grammar.definition)
    return [...candidates, ...(sample === undefined ? [] : [sample])].find(text =>
      passes('pattern', whole, text),
    )
  }
  const literals = [...grammar.definition.matchAll(/"((?:[^"\\\n]|\\.)+)"/gu)].map(match => match[1]!)
  const start = /^\s*start\s*:\s*([^\n]*)/mu.exec(grammar.definition)?.[1] ?? ''
  if (!/^(?:\s*\|?\s*"(?:[^"\\]|\\.)+")+\s*$/u.test(start)) return undefined
  const heard = source.text.toLowerCase()
  return literals.find(literal => heard.includes(literal.toLowerCase())) ?? literals[0]
}
