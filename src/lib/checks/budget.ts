// The cost of a check, in microseconds on a slow machine. It is an estimate that grows with the work: the same check
// costs the same everywhere. `tryOnLoop` also limits the cost of all checks of one turn of the event loop together.

export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent'
}

export class Budget {
  #left: number

  constructor(micros: number) {
    this.#left = micros
  }

  get left(): number {
    return this.#left
  }

  /** Throws BudgetSpent. */
  spend(micros: number): void {
    this.#left -= micros
    if (this.#left < 0) throw new BudgetSpent()
  }
}

/** The most that one check may cost on the event loop. */
export const CHECK_MICROS = 12_000
/** The most that all checks of one turn of the loop may cost together. */
const TURN_MICROS = 24_000
/** A check that costs less is not counted, and always runs. The checks of most calls cost less. */
const LEAST_MICROS = 200

let left = TURN_MICROS
let isRefilling = false

/**
 * Runs a check on the event loop within the budget that is left in this turn of the loop. Undefined: the budget did not
 * suffice, and the check has to run elsewhere.
 */
export function tryOnLoop<T>(check: (budget: Budget) => T): { value: T } | undefined {
  const granted = Math.max(LEAST_MICROS, Math.min(CHECK_MICROS, left))
  const budget = new Budget(granted)
  try {
    return { value: check(budget) }
  } catch (error) {
    if (error instanceof BudgetSpent) return undefined
    throw error
  } finally {
    const cost = granted - Math.max(0, budget.left)
    if (cost >= LEAST_MICROS) takeFromTurn(cost)
  }
}

function takeFromTurn(micros: number): void {
  left -= micros
  if (isRefilling) return
  isRefilling = true
  setImmediate(() => {
    isRefilling = false
    left = TURN_MICROS
  })
}
