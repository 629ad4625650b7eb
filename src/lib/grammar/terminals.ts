// Compiles terminals: each becomes one RE2 pattern. Ignored text is part of these patterns: it may come before any
// terminal and at the end, never inside a terminal. Rules are compiled in productions.ts.

import { Automaton } from './automaton.ts'
import { GrammarError, type Position } from './grammar-error.ts'
import type { Expression, LarkGrammar } from './lark-parser.ts'
import { PatternError } from './re2-program.ts'
import { checkPattern, isTooHeavy, type Pattern, terminalPattern, tooHeavy } from './regex-dialect.ts'

/** `label` names the terminal in messages. */
export type GrammarTerminal = { label: string; automaton: Automaton }

const MAX_REFERENCE_DEPTH = 50
const MAX_LABEL = 80

export class TerminalBook {
  readonly terminals: GrammarTerminal[] = []
  readonly #grammar: LarkGrammar
  readonly #maxWeight: number
  readonly #named = new Map<string, Pattern>()
  readonly #open: string[] = []
  readonly #numbers = new Map<string, number>()
  readonly #ignored: Pattern | null
  readonly #written = new Map<string, Pattern>()
  #used = { size: 0, effort: 0 }
  #read = { size: 0, effort: 0 }

  /** `maxWeight`: of all terminals together. */
  constructor(grammar: LarkGrammar, maxWeight: number) {
    this.#grammar = grammar
    this.#maxWeight = maxWeight
    for (const definition of grammar.terminals.values()) this.#byName(definition.name, definition.at)
    const skipped = grammar.ignored.map(expression => this.#pattern(expression))
    this.#ignored = skipped.length === 0 ? null : choice(skipped)
  }

  /** The number of a terminal that a rule uses. Ignored text may come before it. */
  use(expression: Expression): number {
    const pattern = this.#pattern(expression)
    return this.#number(this.#afterIgnored(pattern), terminalLabel(expression), expression.at)
  }

  /** The number of the ignored text at the end of the input, or null if the grammar ignores nothing. */
  trailing(): number | null {
    if (this.#ignored === null) return null
    const at: Position = this.#grammar.ignored[0]?.at ?? { line: 1, column: 1 }
    return this.#number(repeat(this.#ignored, 0, Number.POSITIVE_INFINITY), '', at)
  }

  #afterIgnored(pattern: Pattern): Pattern {
    if (this.#ignored === null) return pattern
    return sequence([repeat(this.#ignored, 0, Number.POSITIVE_INFINITY), pattern])
  }

  #number(pattern: Pattern, label: string, at: Position): number {
    const key = `${label}\n${pattern.source}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#used = totalWeight([this.#used, pattern])
    if (isTooHeavy(this.#used, this.#maxWeight)) throw tooHeavy(at)
    this.terminals.push({ label, automaton: buildAutomaton(pattern, at) })
    const number = this.terminals.length - 1
    this.#numbers.set(key, number)
    return number
  }

  #pattern(expression: Expression): Pattern {
    const pattern = this.#unchecked(expression)
    if (isTooHeavy(pattern, this.#maxWeight)) throw tooHeavy(expression.at)
    return pattern
  }

  #unchecked(expression: Expression): Pattern {
    switch (expression.kind) {
      case 'terminal':
        return this.#byName(expression.name, expression.at)
      case 'rule':
        throw new GrammarError(
          `a terminal cannot contain the rule ${expression.name}; rename it in UPPER case, or make this a rule`,
          expression.at,
        )
      case 'string':
        return literal(expression.text, expression.insensitive)
      case 'range':
        return { source: `[${escapeText(expression.from)}-${escapeText(expression.to)}]`, size: 1, effort: 1 }
      case 'pattern':
        return this.#literalPattern(expression.source, expression.flags, expression.at)
      case 'repeat':
        return repeat(this.#pattern(expression.item), expression.min, expression.max)
      case 'sequence':
        return sequence(expression.items.map(item => this.#pattern(item)))
      case 'choice':
        return choice(expression.options.map(option => this.#pattern(option)))
    }
  }

  #literalPattern(source: string, flags: string, at: Position): Pattern {
    const key = `${flags}/${source}`
    const known = this.#written.get(key)
    if (known) return known
    const pattern = terminalPattern(source, flags, at, this.#maxWeight)
    this.#read = totalWeight([this.#read, pattern])
    if (isTooHeavy(this.#read, this.#maxWeight)) throw tooHeavy(at)
    checkPattern(pattern, at)
    this.#written.set(key, pattern)
    return pattern
  }

  #byName(name: string, at: Position): Pattern {
    const known = this.#named.get(name)
    if (known) return known
    const definition = this.#grammar.terminals.get(name)
    if (!definition) {
      throw new GrammarError(
        `the terminal ${name} is not defined; define it, or import it with %import common.${name}`,
        at,
      )
    }
    if (this.#open.includes(name)) {
      throw new GrammarError(
        `the terminal ${name} contains itself; terminals cannot recurse, use a rule (lower case)`,
        definition.at,
      )
    }
    if (this.#open.length >= MAX_REFERENCE_DEPTH) {
      throw new GrammarError(
        `terminals refer to one another more than ${MAX_REFERENCE_DEPTH} deep`,
        definition.at,
      )
    }
    this.#open.push(name)
    const pattern = this.#pattern(definition.body)
    this.#open.pop()
    this.#named.set(name, pattern)
    return pattern
  }
}

function terminalLabel(expression: Expression): string {
  switch (expression.kind) {
    case 'terminal':
      return expression.name
    case 'string':
      return `${JSON.stringify(expression.text)}${expression.insensitive ? 'i' : ''}`
    case 'pattern':
      return patternLabel(expression.source, expression.flags)
    case 'range':
      return `${JSON.stringify(expression.from)}..${JSON.stringify(expression.to)}`
    default:
      return expression.kind
  }
}

export function patternLabel(source: string, flags: string): string {
  return `/${source.length > MAX_LABEL ? `${source.slice(0, MAX_LABEL)}…` : source}/${flags}`
}

function buildAutomaton(pattern: Pattern, at: Position): Automaton {
  try {
    return new Automaton(pattern.source)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new GrammarError(
      `this terminal is not in RE2's dialect: ${error.message}; use smaller counts or fewer nested groups`,
      at,
    )
  }
}

function literal(text: string, insensitive: boolean): Pattern {
  const source = Array.from(text, escapeText).join('')
  return {
    source: insensitive ? `(?i:${source})` : `(?:${source})`,
    size: text.length + 1,
    effort: text.length,
  }
}

function escapeText(char: string): string {
  if (/^[A-Za-z0-9]$/.test(char)) return char
  return `\\x{${(char.codePointAt(0) ?? 0).toString(16)}}`
}

function sequence(parts: Pattern[]): Pattern {
  return { source: `(?:${parts.map(part => part.source).join('')})`, ...totalWeight(parts) }
}

function choice(parts: Pattern[]): Pattern {
  return { source: `(?:${parts.map(part => part.source).join('|')})`, ...totalWeight(parts) }
}

function repeat(part: Pattern, min: number, max: number): Pattern {
  const bounded = max !== Number.POSITIVE_INFINITY
  const count = bounded ? (min === max ? `{${min}}` : `{${min},${max}}`) : min > 1 ? `{${min},}` : ''
  const suffix = count === '' ? (min === 0 ? '*' : '+') : count
  const copies = bounded ? max : Math.max(1, min + 1)
  return {
    source: `(?:${part.source}${suffix})`,
    size: part.size * Math.max(1, copies) + 1,
    effort: part.effort,
  }
}

function totalWeight(parts: { size: number; effort: number }[]): { size: number; effort: number } {
  return parts.reduce((all, part) => ({ size: all.size + part.size, effort: all.effort + part.effort }), {
    size: 1,
    effort: 0,
  })
}
