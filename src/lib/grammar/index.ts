// Recognisers for the grammars that custom tools declare: a whole text either matches or gets a Mismatch that says
// where it fails. Both syntaxes run on the same parser: a regex grammar is a grammar of one terminal. This door is
// all that others may import; no word of tools or models is known here.

import { Automaton } from './automaton.ts'
import { recognise } from './earley.ts'
import { GrammarError } from './grammar-error.ts'
import { parseLark } from './lark-parser.ts'
import { budgetSpent, type Mismatch, refused, tooLong } from './mismatch.ts'
import { END, type Productions, toProductions } from './productions.ts'
import { wholePattern } from './regex-dialect.ts'
import { patternLabel } from './terminals.ts'

export { GrammarError, type Mismatch }

export type GrammarSyntax = 'lark' | 'regex'

/** Contract: synchronous, never throws, and ends within the budget; null means that the whole text matches. */
export type Recogniser = { match(text: string): Mismatch | null }

export type GrammarBudget = {
  /** Largest definition, in UTF-8 bytes. */
  maxGrammarBytes?: number
  /** Most work for one text; a step is a few dozen nanoseconds. */
  maxSteps?: number
  /** Largest text, in UTF-8 bytes. */
  maxInputBytes?: number
}

type Limits = Required<GrammarBudget>

const DEFAULTS: Limits = { maxGrammarBytes: 65_536, maxSteps: 10_000_000, maxInputBytes: 1_048_576 }
const CACHED_RECOGNISERS = 32
/** Numbers that the automata of one recogniser may hold between texts. */
const KEPT_NUMBERS = 250_000

/** Least recently used first. */
const cache = new Map<string, Recogniser>()

/** Throws a GrammarError when the definition is not one that can be used. */
export function compileGrammar(
  syntax: GrammarSyntax,
  definition: string,
  budget: GrammarBudget = {},
): Recogniser {
  const limits = { ...DEFAULTS, ...budget }
  const bytes = Buffer.byteLength(definition)
  if (bytes > limits.maxGrammarBytes) {
    throw new GrammarError(
      `it has ${bytes} bytes and at most ${limits.maxGrammarBytes} are allowed; shorten it`,
    )
  }
  const key = JSON.stringify([syntax, limits.maxSteps, limits.maxInputBytes, definition])
  const recogniser = cache.get(key) ?? recogniserOf(compile(syntax, definition), limits)
  cache.delete(key)
  cache.set(key, recogniser)
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED_RECOGNISERS) break
    cache.delete(oldest)
  }
  return recogniser
}

function compile(syntax: GrammarSyntax, definition: string): Productions {
  return syntax === 'lark' ? toProductions(parseLark(definition)) : regexProductions(definition)
}

function regexProductions(definition: string): Productions {
  const terminal = {
    label: patternLabel(definition, ''),
    automaton: new Automaton(wholePattern(definition).source),
  }
  return {
    expects: Int32Array.of(0, END),
    owner: Int32Array.of(0, 0),
    heads: [[0]],
    terminals: [terminal],
    root: 0,
  }
}

function recogniserOf(productions: Productions, limits: Limits): Recogniser {
  return {
    match(text) {
      const bytes = Buffer.byteLength(text)
      if (bytes > limits.maxInputBytes) return tooLong(bytes, limits.maxInputBytes)
      const outcome = recognise(productions, text, limits.maxSteps)
      forgetStates(productions)
      if (outcome.kind === 'accepted') return null
      if (outcome.kind === 'spent') return budgetSpent(text, outcome.offset, limits.maxSteps)
      const labels = outcome.terminals.map(number => productions.terminals[number]?.label ?? '')
      return refused(text, outcome.offset, labels, outcome.mayEnd)
    },
  }
}

/** Keeps what a cached recogniser holds small, whatever texts it has seen. */
function forgetStates({ terminals }: Productions): void {
  let kept = 0
  for (const { automaton } of terminals) kept += automaton.size
  if (kept > KEPT_NUMBERS) for (const { automaton } of terminals) automaton.reset()
}
