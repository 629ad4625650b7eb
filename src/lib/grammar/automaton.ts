// Runs an RE2 program one code point at a time, as a DFA whose states are created on demand and kept. A state is a small
// number, so that a parser can track many terminals and compare them cheaply. Assertions (^, $, \b) refer to the matched
// span, not to the whole text. Each new state is charged to the caller's budget.

import { compileProgram, type Instruction, OP, type Program } from './re2-program.ts'

/** Called with the cost of new work; throws when the budget is spent. */
export type Charge = (cost: number) => void

export const DEAD = -1
const UNKNOWN = -2
const ASCII = 128
// The cost in steps, for time and memory, of a new transition, a new state, and each program counter in either.
const TRANSITION_COST = 10
const STATE_COST = 200
const COUNTER_COST = 4

// The kind of character before a position, as far as assertions can tell.
const EDGE = 0
const NEWLINE = 1
const WORD = 2
const OTHER = 3

// re2js's bits for the conditions of an assertion.
const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const END_TEXT = 8
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32

type DfaState = {
  readonly counters: readonly number[]
  readonly before: number
  readonly accepts: boolean
  readonly ascii: Int32Array
  readonly wide: Map<number, number>
}

export class Automaton {
  readonly #program: Program
  readonly #hasAssertions: boolean
  #states: DfaState[] = []
  #ids = new Map<string, number>()
  #size = 0

  constructor(source: string) {
    this.#program = compileProgram(source)
    this.#hasAssertions = this.#program.instructions.some(({ op }) => op === OP.emptyWidth)
    this.reset()
  }

  /** The memory of the kept states, counted in numbers. */
  get size(): number {
    return this.#size
  }

  /** Drops all states but the first. State numbers from before are invalid. */
  reset(): void {
    this.#states = []
    this.#ids = new Map()
    this.#size = 0
    this.#intern([this.#program.start], this.#hasAssertions ? EDGE : OTHER, () => {})
  }

  /** The state before the first character. DEAD if no text can match. */
  get start(): number {
    return this.#states.length > 0 ? 0 : DEAD
  }

  accepts(state: number): boolean {
    return this.#states[state]?.accepts ?? false
  }

  /** Whether more text may follow in this state. */
  continues(state: number): boolean {
    const counters = this.#states[state]?.counters ?? []
    return counters.some(counter => this.#at(counter).op !== OP.match)
  }

  /** The state after one more code point, or DEAD. */
  step(id: number, codePoint: number, charge: Charge): number {
    const state = this.#states[id]
    if (state === undefined) return DEAD
    const known = codePoint < ASCII ? state.ascii[codePoint] : state.wide.get(codePoint)
    if (known !== undefined && known !== UNKNOWN) return known
    charge(TRANSITION_COST + COUNTER_COST * state.counters.length)
    const next = this.#advance(state, codePoint, charge)
    if (codePoint < ASCII) state.ascii[codePoint] = next
    else {
      state.wide.set(codePoint, next)
      this.#size += 2
    }
    return next
  }

  #advance(state: DfaState, codePoint: number, charge: Charge): number {
    const kind = this.#hasAssertions ? characterKind(codePoint) : OTHER
    const reached: number[] = []
    for (const counter of this.#closure(state.counters, conditions(state.before, kind))) {
      const instruction = this.#at(counter)
      if (isRune(instruction) && instruction.matchRune(codePoint)) reached.push(instruction.out)
    }
    return this.#intern(reached, kind, charge)
  }

  #at(counter: number): Instruction {
    const instruction = this.#program.instructions[counter]
    if (instruction === undefined) throw new Error('a program counter left its program')
    return instruction
  }

  #intern(reached: readonly number[], before: number, charge: Charge): number {
    const counters = this.#hasAssertions ? [...new Set(reached)] : this.#closure(reached, 0)
    if (counters.length === 0) return DEAD
    counters.sort((a, b) => a - b)
    const key = `${before}:${counters.join()}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    charge(STATE_COST + COUNTER_COST * counters.length)
    this.#size += ASCII + 2 * counters.length
    const final = this.#hasAssertions ? this.#closure(counters, conditions(before, EDGE)) : counters
    const accepts = final.some(counter => this.#at(counter).op === OP.match)
    const id = this.#states.length
    this.#states.push({
      counters,
      before,
      accepts,
      ascii: new Int32Array(ASCII).fill(UNKNOWN),
      wide: new Map(),
    })
    this.#ids.set(key, id)
    return id
  }

  /** The rune and match instructions that are reachable without reading, given the assertions in `met`. */
  #closure(from: readonly number[], met: number): number[] {
    const seen = new Set<number>(from)
    const found: number[] = []
    // Iterating over a Set also visits the members that are added meanwhile.
    for (const counter of seen) {
      const { op, out, arg } = this.#at(counter)
      if (op === OP.alt || op === OP.altMatch) seen.add(out).add(arg)
      else if (op === OP.capture || op === OP.nop) seen.add(out)
      else if (op === OP.emptyWidth) {
        if ((arg & ~met) === 0) seen.add(out)
      } else if (op !== OP.fail) found.push(counter)
    }
    return found
  }
}

function isRune({ op }: Instruction): boolean {
  return op >= OP.rune && op <= OP.runeAnyNotNewline
}

function characterKind(codePoint: number): number {
  if (codePoint === 10) return NEWLINE
  const word =
    (codePoint >= 48 && codePoint <= 57) ||
    (codePoint >= 65 && codePoint <= 90) ||
    codePoint === 95 ||
    (codePoint >= 97 && codePoint <= 122)
  return word ? WORD : OTHER
}

/** The assertions that hold between these two kinds of character. */
function conditions(before: number, after: number): number {
  let met = (before === WORD) === (after === WORD) ? NO_WORD_BOUNDARY : WORD_BOUNDARY
  if (before === EDGE) met |= BEGIN_TEXT
  if (before === EDGE || before === NEWLINE) met |= BEGIN_LINE
  if (after === EDGE) met |= END_TEXT
  if (after === EDGE || after === NEWLINE) met |= END_LINE
  return met
}
