// Recognisers for the grammars that custom tools declare: a whole text either matches or gets a Mismatch that says where
// it fails. Both syntaxes use the same parser: a regex grammar is a grammar of one terminal. Other folders import only
// this file of the folder. Nothing here knows tools or models.

import { type Budget, tryOnLoop } from '../checks/budget.ts'
import { Automaton } from './automaton.ts'
import { recognise } from './earley.ts'
import { GrammarError, GrammarTooHeavy } from './grammar-error.ts'
import { parseLark } from './lark-parser.ts'
import { budgetSpent, type Mismatch, noMatch, tooLong } from './mismatch.ts'
import { END, type Productions, toProductions } from './productions.ts'
import { MAX_WEIGHT, patternWeight, wholePattern } from './regex-dialect.ts'
import { patternLabel } from './terminals.ts'

export { GrammarError, type Mismatch, patternWeight }

export type GrammarSyntax = 'lark' | 'regex'

/** Contract: synchronous, never throws, and ends within the budget. Null means that the whole text matches. */
export type Grammar = {
  match(text: string): Mismatch | null
  /** The same with so many steps at most. Undefined: they did not suffice. */
  tryMatch(text: string, maxSteps: number): { mismatch: Mismatch | null; steps: number } | undefined
}

type GrammarBudget = {
  /** Largest definition, in UTF-8 bytes. */
  maxGrammarBytes?: number
  /** Most steps for one text. A step takes a few dozen nanoseconds. */
  maxSteps?: number
  /** Largest text, in UTF-8 bytes. */
  maxInputBytes?: number
  /** Most that the regular expressions may weigh (regex-dialect.ts). */
  maxWeight?: number
}

type Limits = Required<GrammarBudget>

const DEFAULTS: Limits = {
  maxGrammarBytes: 65_536,
  maxSteps: 10_000_000,
  maxInputBytes: 1_048_576,
  maxWeight: MAX_WEIGHT,
}
const CACHED_GRAMMARS = 32
/** The most numbers that the automata of one grammar keep between texts. */
const KEPT_NUMBERS = 250_000

/** Least recently used first. */
const cache = new Map<string, Grammar>()

// ---- on the event loop -----------------------------------------------------------------------------------------

/** Measured, in microseconds on a slow machine. */
const COMPILE_MICROS = 10_000
const STEP_MICROS = 0.1
/** A grammar that is larger is not compiled on the event loop. */
const LOOP_GRAMMAR_CHARS = 4_096
const LOOP_WEIGHT = 600

/** Compiles and matches within the event loop's budget for checks. Undefined: it costs more. Throws GrammarError. */
export function matchOnLoop(
  syntax: GrammarSyntax,
  definition: string,
  text: string,
): Mismatch | null | undefined {
  return tryOnLoop(budget => {
    const grammar = lightGrammar(syntax, definition, budget)
    if (grammar === undefined) return undefined
    const found = grammar.tryMatch(text, Math.floor(budget.left / STEP_MICROS))
    budget.spend(found === undefined ? budget.left : found.steps * STEP_MICROS)
    return found?.mismatch
  })?.value
}

/** The GrammarError of the definition; null if it can be used, undefined if the check costs more than is left. */
export function grammarErrorOnLoop(
  syntax: GrammarSyntax,
  definition: string,
): GrammarError | null | undefined {
  return tryOnLoop(budget => {
    try {
      return lightGrammar(syntax, definition, budget) === undefined ? undefined : null
    } catch (error) {
      if (error instanceof GrammarError) return error
      throw error
    }
  })?.value
}

/** Undefined: compiling it costs too much for the event loop. Throws GrammarError and BudgetSpent. */
function lightGrammar(syntax: GrammarSyntax, definition: string, budget: Budget): Grammar | undefined {
  const known = cache.get(grammarKey(syntax, definition, DEFAULTS))
  if (known !== undefined) return known
  if (definition.length > LOOP_GRAMMAR_CHARS) return undefined
  budget.spend(COMPILE_MICROS)
  try {
    return compileGrammar(syntax, definition, { maxWeight: LOOP_WEIGHT })
  } catch (error) {
    if (error instanceof GrammarTooHeavy) return undefined
    throw error
  }
}

// ---- anywhere --------------------------------------------------------------------------------------------------

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
  const key = grammarKey(syntax, definition, limits)
  const grammar = cache.get(key) ?? matcher(toGrammar(syntax, definition, limits.maxWeight), limits)
  cache.delete(key)
  cache.set(key, grammar)
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED_GRAMMARS) break
    cache.delete(oldest)
  }
  return grammar
}

/** The weight limits only the compilation. */
function grammarKey(syntax: GrammarSyntax, definition: string, limits: Limits): string {
  return JSON.stringify([syntax, limits.maxSteps, limits.maxInputBytes, definition])
}

function toGrammar(syntax: GrammarSyntax, definition: string, maxWeight: number): Productions {
  return syntax === 'lark'
    ? toProductions(parseLark(definition), maxWeight)
    : regexProductions(definition, maxWeight)
}

function regexProductions(definition: string, maxWeight: number): Productions {
  const terminal = {
    label: patternLabel(definition, ''),
    automaton: new Automaton(wholePattern(definition, maxWeight).source),
  }
  return {
    expects: Int32Array.of(0, END),
    heads: [[0]],
    terminals: [terminal],
    root: 0,
  }
}

type GrammarAttempt = { mismatch: Mismatch | null; steps: number } | { spentAt: number }

function matcher(productions: Productions, limits: Limits): Grammar {
  const run = (text: string, maxSteps: number): GrammarAttempt => {
    const bytes = Buffer.byteLength(text)
    if (bytes > limits.maxInputBytes) return { mismatch: tooLong(bytes, limits.maxInputBytes), steps: 0 }
    const outcome = recognise(productions, text, maxSteps)
    forgetStates(productions)
    const { steps } = outcome
    if (outcome.kind === 'accepted') return { mismatch: null, steps }
    if (outcome.kind === 'spent') return { spentAt: outcome.offset }
    const labels = outcome.terminals.map(number => productions.terminals[number]?.label ?? '')
    return { mismatch: noMatch(text, outcome.offset, labels, outcome.mayEnd), steps }
  }
  return {
    match(text) {
      const found = run(text, limits.maxSteps)
      return 'spentAt' in found ? budgetSpent(text, found.spentAt, limits.maxSteps) : found.mismatch
    },
    tryMatch(text, maxSteps) {
      const found = run(text, Math.min(maxSteps, limits.maxSteps))
      return 'spentAt' in found ? undefined : found
    },
  }
}

/** Bounds the memory of a cached grammar. */
function forgetStates({ terminals }: Productions): void {
  let kept = 0
  for (const { automaton } of terminals) kept += automaton.size
  if (kept > KEPT_NUMBERS) for (const { automaton } of terminals) automaton.reset()
}
