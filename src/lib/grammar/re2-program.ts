// The only file of this folder that uses re2js: it parses a pattern and returns the compiled program (an NFA as a list of
// instructions), which automaton.ts runs. re2js's own matcher is not used, because it tests one end position at a time
// and has no budget.

import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

/** The pattern is not in RE2's dialect. The caller adds the position. */
export class PatternError extends Error {}

export type Instruction = {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: ArrayLike<number> & Iterable<number>
  matchRune(codePoint: number): boolean
}

export type Program = { readonly start: number; readonly instructions: readonly Instruction[] }

/** The numbers of re2js's instruction set. re2-program.test.ts pins them. */
export const OP = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  runeAnyNotNewline: 11,
} as const

type Loaded = { RE2JS: typeof RE2JS }

let loaded: Loaded | undefined

/** Loaded with the first pattern, because most servers have no grammar. */
function load(): Loaded {
  loaded ??= createRequire(import.meta.url)('re2js') as Loaded // `require` is untyped; re2js declares this
  return loaded
}

export function compileProgram(source: string): Program {
  const { RE2JS: parser } = load()
  let compiled: RE2JS
  try {
    compiled = parser.compile(source)
  } catch (error) {
    throw new PatternError(error instanceof Error ? error.message : String(error))
  }
  const program: unknown = compiled.re2().prog
  if (!isProgram(program)) throw new Error('re2js has changed the form of its programs')
  return { start: program.start, instructions: program.inst }
}

function isProgram(value: unknown): value is { start: number; inst: Instruction[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'start' in value &&
    typeof value.start === 'number' &&
    'inst' in value &&
    Array.isArray(value.inst)
  )
}
