// Recognisers for the grammars that custom tools declare: a whole text either matches or gets a Mismatch that says where
// it fails. Both syntaxes use the same parser: a regex grammar is a grammar of one terminal. Other folders import only
// this file of the folder. Nothing here knows tools or models.

import { Automaton } from './automaton.ts'
import { recognise } from './earley.ts'
import { GrammarError } from './grammar-error.ts'
import { parseLark } from './lark-parser.ts'
import { budgetSpent, type Mismatch, noMatch, tooLong } from './mismatch.ts'
import { END, type Productions, toProductions } from './productions.ts'
import { wholePattern } from './regex-dialect.ts'
import { patternLabel } from './terminals.ts'

export { GrammarError, type Mismatch }

type GrammarSyntax = 'lark' | 'regex'

/** Contract: synchronous, never throws, and ends within the budget. Null means that the whole text matches. */
export type Grammar = { match(text: string): Mismatch | null }

type GrammarBudget = {
  /** Largest definition, in UTF-8 bytes. */
  maxGrammarBytes?: number
  /** Most steps for one text. A step takes a few dozen nanoseconds. */
  maxSteps?: number
  /** Largest text, in UTF-8 bytes. */
  maxInputBytes?: number
}

type Limits = Required<GrammarBudget>

const DEFAULTS: Limits = { maxGrammarBytes: 65_536, maxSteps: 10_000_000, maxInputBytes: 1_048_576 }
const CACHED_GRAMMARS = 32
/** The most numbers that the automata of one grammar keep between texts. */
const KEPT_NUMBERS = 250_000

/** Least recently used first. */
const cache = new Map<string, Grammar>()

/** Throws a GrammarError if the definition cannot be used. */
export function compileGrammar(
  syntax: GrammarSyntax,
  definition: string,
  budget: GrammarBudget = {},
): Grammar {
  const limits = { ...DEFAULTS, ...budget }
  const bytes = Buffer.byteLength(definition)
  if (bytes > limits.maxGrammarBytes) {
    throw new GrammarError(
      `it has ${bytes} bytes and at most ${limits.maxGrammarBytes} are allowed; shorten it`,
    )
  }
  const key = JSON.stringify([syntax, limits.maxSteps, limits.maxInputBytes, definition])
  const grammar = cache.get(key) ?? matcher(toGrammar(syntax, definition), limits)
  cache.delete(key)
  cache.set(key, grammar)
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED_GRAMMARS) break
    cache.delete(oldest)
  }
  return grammar
}

function toGrammar(syntax: GrammarSyntax, definition: string): Productions {
  return syntax === 'lark' ? toProductions(parseLark(definition)) : regexProductions(definition)
}

function regexProductions(definition: string): Productions {
  const terminal = {
    label: patternLabel(definition, ''),
    automaton: new Automaton(wholePattern(definition).source),
  }
  return {
    expects: Int32Array.of(0, END),
    heads: [[0]],
    terminals: [terminal],
    root: 0,
  }
}

function matcher(productions: Productions, limits: Limits): Grammar {
  return {
    match(text) {
      const bytes = Buffer.byteLength(text)
      if (bytes > limits.maxInputBytes) return tooLong(bytes, limits.maxInputBytes)
      const outcome = recognise(productions, text, limits.maxSteps)
      forgetStates(productions)
      if (outcome.kind === 'accepted') return null
      if (outcome.kind === 'spent') return budgetSpent(text, outcome.offset, limits.maxSteps)
      const labels = outcome.terminals.map(number => productions.terminals[number]?.label ?? '')
      return noMatch(text, outcome.offset, labels, outcome.mayEnd)
    },
  }
}

/** Bounds the memory of a cached grammar. */
function forgetStates({ terminals }: Productions): void {
  let kept = 0
  for (const { automaton } of terminals) kept += automaton.size
  if (kept > KEPT_NUMBERS) for (const { automaton } of terminals) automaton.reset()
}
