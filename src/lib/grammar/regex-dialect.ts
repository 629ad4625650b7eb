// Translates a grammar author's regular expression into RE2's syntax, and bounds its compiled size before RE2 sees it. A
// terminal always matches its whole span, so ^ and $ at its edges are redundant and are dropped. Elsewhere an assertion
// would depend on text outside the span, and is refused.

import { advance, GrammarError, GrammarTooHeavy, type Position } from './grammar-error.ts'
import { compileProgram, PatternError } from './re2-program.ts'
import { type RegexToken, tokenizeRegex } from './regex-tokens.ts'

/** `size` estimates the compiled program, `effort` the work of parsing the source. A repetition multiplies only `size`. */
export type Pattern = { source: string; size: number; effort: number }

export const MAX_WEIGHT = 100_000
const MAX_GROUP_DEPTH = 100

/** A `/.../flags` literal of a Lark grammar, not yet checked by RE2. `at` is the position of its opening slash. */
export function terminalPattern(source: string, flags: string, at: Position, maxWeight: number): Pattern {
  const bad = /[^imsxu]/.exec(flags)
  if (bad) {
    throw new GrammarError(`the flag "${bad[0]}" is not supported; i, m, s, x and u are`, at)
  }
  const body = advance(at, '/')
  const tokens = tokenizeRegex(source, flags.includes('x'), body)
  const place = (token: RegexToken) => advance(body, source.slice(0, token.offset))
  const weights = weigh(tokens, place, maxWeight)
  const text = dropEdgeAssertions(tokens, place)
    .map(token => token.text)
    .join('')
  const scope = [...new Set(flags)].filter(flag => 'ims'.includes(flag)).join('')
  return { source: `(?${scope}:${text})`, ...weights }
}

/** The definition of a `regex` grammar. It spans the whole text, so all assertions are allowed. */
export function wholePattern(source: string, maxWeight: number): Pattern {
  const start: Position = { line: 1, column: 1 }
  const tokens = tokenizeRegex(source, false, start)
  const weights = weigh(tokens, token => advance(start, source.slice(0, token.offset)), maxWeight)
  const pattern = { source: `(?:${tokens.map(token => token.text).join('')})`, ...weights }
  checkPattern(pattern, start)
  return pattern
}

/** About how large RE2's program for a pattern becomes. A pattern that cannot be read has the weight of its text. */
export function patternWeight(source: string): number {
  const start: Position = { line: 1, column: 1 }
  try {
    const { size, effort } = weigh(tokenizeRegex(source, false, start), () => start, MAX_WEIGHT)
    return size + effort
  } catch (error) {
    return error instanceof GrammarTooHeavy ? MAX_WEIGHT : source.length
  }
}

export function isTooHeavy({ size, effort }: { size: number; effort: number }, maxWeight: number): boolean {
  return size + effort > maxWeight
}

export function tooHeavy(at: Position): GrammarError {
  return new GrammarTooHeavy(
    'the regular expressions are too large once their repetitions are counted; use smaller counts, or rules',
    at,
  )
}

/** Throws if RE2 does not accept the pattern. The cost is proportional to size and effort. */
export function checkPattern(pattern: Pattern, at: Position): void {
  try {
    compileProgram(pattern.source)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new GrammarError(`the regular expression is not in RE2's dialect: ${error.message}`, at)
  }
}

type Locate = (token: RegexToken) => Position

/** Estimates the compiled size. Each counted repetition multiplies the size of the repeated part. */
function weigh(tokens: RegexToken[], place: Locate, maxWeight: number): { size: number; effort: number } {
  const outer: { size: number; last: number }[] = []
  let group = { size: 0, last: 0 }
  let effort = 0
  for (const token of tokens) {
    if (token.kind === 'open') {
      outer.push(group)
      if (outer.length > MAX_GROUP_DEPTH) {
        throw new GrammarError(`groups are nested more than ${MAX_GROUP_DEPTH} deep`, place(token))
      }
      group = { size: 0, last: 0 }
    } else if (token.kind === 'close') {
      const parent = outer.pop()
      if (!parent) throw new GrammarError('this ) closes no group; write \\) for the character', place(token))
      group = { size: parent.size + group.size + 1, last: group.size + 1 }
    } else if (token.kind === 'quantifier') {
      const added = group.last * Math.max(0, token.weight - 1) + 1
      group = { size: group.size + added, last: group.last + added }
    } else {
      group = { size: group.size + 1, last: 1 }
      effort += token.weight
    }
    if (isTooHeavy({ size: group.size, effort }, maxWeight)) throw tooHeavy(place(token))
  }
  const unclosed = outer.length > 0 ? tokens.findLast(token => token.kind === 'open') : undefined
  if (unclosed) throw new GrammarError('this group is not closed; end it with )', place(unclosed))
  return { size: group.size, effort }
}

function dropEdgeAssertions(tokens: RegexToken[], place: Locate): RegexToken[] {
  const partners = pairGroups(tokens)
  return tokens.filter((token, index) => {
    if (token.kind !== 'assertion') return true
    const opening = token.text === '^' || token.text === '\\A'
    const closing = token.text === '$' || token.text === '\\z'
    const repeated = tokens[index + 1]?.kind === 'quantifier'
    if (!repeated && opening && isEdge(tokens, partners, index, -1)) return false
    if (!repeated && closing && isEdge(tokens, partners, index, 1)) return false
    throw new GrammarError(
      `the assertion ${token.text} may stand only at the edge of a terminal (^ first, $ last); use a rule`,
      place(token),
    )
  })
}

/** For each token the index of the enclosing group, and for each end of a group its other end. */
type Partners = { enclosing: number[]; other: Map<number, number> }

function pairGroups(tokens: RegexToken[]): Partners {
  const enclosing: number[] = []
  const other = new Map<number, number>()
  const open: number[] = []
  tokens.forEach((token, index) => {
    if (token.kind === 'close') {
      const start = open.pop() ?? -1
      other.set(start, index)
      other.set(index, start)
    }
    enclosing.push(open.at(-1) ?? -1)
    if (token.kind === 'open') open.push(index)
  })
  return { enclosing, other }
}

/** Whether there are only assertions and group marks between the token and that end of the pattern. */
function isEdge(tokens: RegexToken[], partners: Partners, from: number, step: -1 | 1): boolean {
  let index = from
  for (;;) {
    let next = index + step
    while (tokens[next]?.kind === 'assertion' || tokens[next]?.kind === 'flags') next += step
    const token = tokens[next]
    if (token === undefined) return true
    if (token.kind !== 'or' && token.kind !== (step < 0 ? 'open' : 'close')) return false
    const open = partners.enclosing[index] ?? -1
    if (open < 0) return true
    const close = partners.other.get(open) ?? tokens.length
    if (tokens[close + 1]?.kind === 'quantifier') return false
    index = step < 0 ? open : close
  }
}
