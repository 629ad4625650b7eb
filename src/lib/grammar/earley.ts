// Earley's recogniser over code points. A terminal that is being read is an item too (slot, goal, automaton state), so a
// terminal may have any length and equal states are kept once. Leo's rule makes right recursion linear. Nothing here
// recurses, so nesting costs memory but no stack. Every step is charged to a budget.

import { type Charge, DEAD } from './automaton.ts'
import { IntRows, TripleTable } from './int-tables.ts'
import { END, type Productions } from './productions.ts'

type Recognition =
  | { kind: 'accepted' }
  /** `terminals` were possible at `offset`. `mayEnd`: the text could also have ended there. */
  | { kind: 'refused'; offset: number; terminals: number[]; mayEnd: boolean }
  | { kind: 'spent'; offset: number }

const COMPLETED = -1
const NONE = -1

// Columns of a goal: a symbol that is expected from some item set on.
const SYMBOL = 0
const SET = 1
const LAST_WAITER = 2
const WAITER_COUNT = 3
/** The goal at the end of its Leo chain, NONE while unknown. */
const TOP = 4
/** 1 once the goal was met with no text. */
const EMPTY = 5

// Columns of a waiter: an item that advances when its goal is met.
const SLOT = 0
const GOAL = 1
const BEFORE = 2

const GOAL_COST = 3

class BudgetSpent extends Error {}

/** `steps`: how many it took. */
export function recognise(
  productions: Productions,
  text: string,
  maxSteps: number,
): Recognition & { steps: number } {
  const recogniser = new Recogniser(productions, text, maxSteps)
  try {
    const outcome = recogniser.run()
    return { ...outcome, steps: maxSteps - recogniser.stepsLeft }
  } catch (error) {
    if (error instanceof BudgetSpent) return { kind: 'spent', offset: recogniser.offset, steps: maxSteps }
    throw error
  }
}

class Recogniser {
  readonly #productions: Productions
  readonly #text: string
  readonly #charge: Charge
  offset = 0
  stepsLeft: number
  /** The number of the current item set: code points read so far. */
  #set = 0
  #accepted = false

  /** The current item set, in the order of processing: (slot, goal it belongs to), and (COMPLETED, goal). */
  readonly #items = new TripleTable()
  /** Terminals that are being read: (slot, goal, automaton state). */
  #scans = new TripleTable()
  #nextScans = new TripleTable()

  readonly #goals = new IntRows(6)
  readonly #waiters = new IntRows(3)
  /** The newest goal of each symbol. */
  readonly #newestGoal: Int32Array

  constructor(productions: Productions, text: string, maxSteps: number) {
    this.#productions = productions
    this.#text = text
    this.#newestGoal = new Int32Array(productions.heads.length).fill(NONE)
    this.stepsLeft = maxSteps
    this.#charge = cost => {
      this.stepsLeft -= cost
      if (this.stepsLeft < 0) throw new BudgetSpent()
    }
  }

  run(): Recognition {
    this.#goalFor(this.#productions.root)
    for (;;) {
      const codePoint = this.#text.codePointAt(this.offset) ?? -1
      this.#closeSet(codePoint)
      if (codePoint < 0 && this.#accepted) return { kind: 'accepted' }
      if (this.#nextScans.size === 0) return this.#refusal()
      this.#nextSet(codePoint > 0xffff ? 2 : 1)
    }
  }

  #nextSet(units: number): void {
    const spare = this.#scans
    this.#scans = this.#nextScans
    this.#nextScans = spare
    spare.clear()
    this.#items.clear()
    this.offset += units
    this.#set += 1
    this.#accepted = false
  }

  #closeSet(codePoint: number): void {
    const items = this.#items
    const scans = this.#scans
    for (let entry = 0; entry < scans.size; entry++) {
      this.#scan(scans.first(entry), scans.second(entry), scans.third(entry), codePoint)
    }
    for (let entry = 0; entry < items.size; entry++) {
      const slot = items.first(entry)
      const goal = items.second(entry)
      if (slot === COMPLETED) this.#complete(goal)
      else this.#advance(slot, goal, codePoint)
    }
  }

  #add(slot: number, goal: number): void {
    this.#charge(1)
    this.#items.add(slot, goal, 0)
  }

  #advance(slot: number, goal: number, codePoint: number): void {
    const expects = this.#productions.expects[slot] ?? END
    if (expects === END) this.#add(COMPLETED, goal)
    else if (expects < 0) this.#predict(~expects, slot, goal)
    else {
      const start = this.#productions.terminals[expects]?.automaton.start ?? DEAD
      this.#scan(slot, goal, start, codePoint)
    }
  }

  /** A terminal in this state may end here, and may continue with the next code point. */
  #scan(slot: number, goal: number, state: number, codePoint: number): void {
    const automaton = this.#productions.terminals[this.#productions.expects[slot] ?? 0]?.automaton
    if (automaton === undefined || state === DEAD) return
    if (automaton.accepts(state)) this.#add(slot + 1, goal)
    if (codePoint < 0) return
    this.#charge(1)
    const next = automaton.step(state, codePoint, this.#charge)
    if (next !== DEAD) this.#nextScans.add(slot, goal, next)
  }

  #predict(symbol: number, slot: number, goal: number): void {
    const wanted = this.#goalFor(symbol)
    const waiter = this.#waiters.add()
    this.#waiters.set(waiter, SLOT, slot)
    this.#waiters.set(waiter, GOAL, goal)
    this.#waiters.set(waiter, BEFORE, this.#goals.get(wanted, LAST_WAITER))
    this.#goals.set(wanted, LAST_WAITER, waiter)
    this.#goals.set(wanted, WAITER_COUNT, this.#goals.get(wanted, WAITER_COUNT) + 1)
    // If the goal has already been met by an empty text, the items that waited then were advanced. This one was not.
    if (this.#goals.get(wanted, EMPTY) === 1) this.#add(slot + 1, goal)
  }

  /** The goal for the symbol from the current item set on. */
  #goalFor(symbol: number): number {
    const newest = this.#newestGoal[symbol] ?? NONE
    if (newest !== NONE && this.#goals.get(newest, SET) === this.#set) return newest
    this.#charge(GOAL_COST)
    const goal = this.#goals.add()
    this.#goals.set(goal, SYMBOL, symbol)
    this.#goals.set(goal, SET, this.#set)
    this.#goals.set(goal, LAST_WAITER, NONE)
    this.#goals.set(goal, TOP, NONE)
    this.#newestGoal[symbol] = goal
    for (const head of this.#productions.heads[symbol] ?? []) this.#add(head, goal)
    return goal
  }

  #complete(goal: number): void {
    if (this.#goals.get(goal, SYMBOL) === this.#productions.root) {
      this.#accepted = true
    } else if (this.#goals.get(goal, SET) === this.#set) {
      this.#goals.set(goal, EMPTY, 1)
      this.#wake(goal)
    } else {
      const top = this.#findTop(goal)
      if (top === goal) this.#wake(goal)
      else this.#add(COMPLETED, top)
    }
  }

  #wake(goal: number): void {
    let waiter = this.#goals.get(goal, LAST_WAITER)
    while (waiter !== NONE) {
      this.#add(this.#waiters.get(waiter, SLOT) + 1, this.#waiters.get(waiter, GOAL))
      waiter = this.#waiters.get(waiter, BEFORE)
    }
  }

  /**
   * Leo's rule. If a single item waits for a goal, with the goal's symbol as the last of its production, then meeting
   * the goal only meets that item's own goal. The chain of such steps is followed once and its end is kept. Only goals
   * of earlier item sets are passed here, so their lists of waiters are final.
   */
  #findTop(goal: number): number {
    const path: number[] = []
    let top = goal
    for (;;) {
      const known = this.#goals.get(top, TOP)
      if (known !== NONE) {
        top = known
        break
      }
      path.push(top)
      const next = this.#onlyConsequence(top)
      if (next === NONE) break
      top = next
    }
    this.#charge(path.length)
    for (const step of path) this.#goals.set(step, TOP, top)
    return top
  }

  #onlyConsequence(goal: number): number {
    if (this.#goals.get(goal, WAITER_COUNT) !== 1) return NONE
    const waiter = this.#goals.get(goal, LAST_WAITER)
    const after = this.#waiters.get(waiter, SLOT) + 1
    return this.#productions.expects[after] === END ? this.#waiters.get(waiter, GOAL) : NONE
  }

  #refusal(): Recognition {
    const wanted = new Set<number>()
    const { expects, terminals } = this.#productions
    for (let entry = 0; entry < this.#scans.size; entry++) {
      const terminal = expects[this.#scans.first(entry)] ?? 0
      if (terminals[terminal]?.automaton.continues(this.#scans.third(entry))) wanted.add(terminal)
    }
    for (let entry = 0; entry < this.#items.size; entry++) {
      const slot = this.#items.first(entry)
      const terminal = slot === COMPLETED ? END : (expects[slot] ?? END)
      if (terminal >= 0 && terminal !== END) wanted.add(terminal)
    }
    return { kind: 'refused', offset: this.offset, terminals: [...wanted], mayEnd: this.#accepted }
  }
}
