// The check of an operator's budgets. The engine counts against them.
import type { Budgets, Limits } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { budgetLimits, budgetNames } from '../language/events.ts'
import { nearest } from '../lib/text/nearest.ts'
import { readApprovers } from './approvers.ts'

/** Those of the agent replace those of the configuration with the same name. Undefined: there are none. */
export function checkBudgets(budgets: Budgets): Budgets | undefined {
  const checked: Budgets = {}
  for (const [name, budget] of Object.entries(budgets)) {
    refuseUnknown(name, budgetNames, 'budget')
    if (typeof budget !== 'object' || budget === null)
      throw wrong(`The budget "${name}" must be an object such as { money: 5, then: 'ask' }.`)
    for (const [limit, value] of Object.entries(budget)) checkLimit(name, limit, value)
    if (budgetLimits.every(limit => budget[limit] === undefined))
      throw wrong(`The budget "${name}" limits nothing. Say one of: ${budgetLimits.join(', ')}.`)
    const { approvers, then = 'end' } = budget
    checked[name] = approvers
      ? { ...budget, approvers: readApprovers(approvers, then, `budgets.${name}.approvers`) }
      : budget
  }
  return Object.keys(checked).length > 0 ? checked : undefined
}

/** The budget of a turn is within the limits of the turn, which nobody can raise. Otherwise it would never be reached. */
export function checkTurnBudget({ turn }: Budgets, limits: Limits): void {
  for (const limit of budgetLimits) {
    const most = turn?.[limit]
    if (most !== undefined && most > limits[limit])
      throw wrong(
        `The budget "turn" has ${limit}: ${most}, but the limits end a turn at ${limits[limit]}. Raise limits.${limit}, or lower the budget.`,
      )
  }
}

function checkLimit(budget: string, limit: string, value: unknown): void {
  if (limit === 'approvers') return
  if (limit === 'then') {
    if (value === undefined || value === 'ask' || value === 'end') return
    throw wrong(`"then" of the budget "${budget}" must be 'ask' or 'end', not ${JSON.stringify(value)}.`)
  }
  refuseUnknown(limit, budgetLimits, `limit of the budget "${budget}"`)
  const allowed =
    limit === 'money'
      ? typeof value === 'number' && Number.isFinite(value) && value > 0
      : Number.isSafeInteger(value) && Number(value) >= 1
  if (value === undefined || allowed) return
  const form = limit === 'money' ? 'number above 0' : 'whole number from 1 up'
  throw wrong(`"${limit}" of the budget "${budget}" must be a ${form}, not ${JSON.stringify(value)}.`)
}

function refuseUnknown<Name extends string>(
  given: string,
  known: readonly Name[],
  what: string,
): asserts given is Name {
  if ((known as readonly string[]).includes(given)) return
  const near = nearest(given, known)
  const hint = near === undefined ? `There are: ${known.join(', ')}.` : `Did you mean "${near}"?`
  throw wrong(`There is no ${what} named ${JSON.stringify(given)}. ${hint}`)
}

function wrong(message: string): TurnwireError {
  return new TurnwireError('config_invalid', message)
}
