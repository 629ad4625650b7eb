// Budgets: what a turn, a session, an agent and an owner may spend. Which budget is reached, and what a person is asked
// then. Pure: the spending of agents and owners comes in, and is counted by `spending.ts`.
import type { Approvers } from '../../language/approvers.ts'
import { budgetToolName } from '../../language/calls.ts'
import type { BudgetDecided, BudgetLimit, BudgetName } from '../../language/events.ts'
import { budgetLimits, budgetNames } from '../../language/events.ts'
import type { CallQuestion } from '../../language/questions.ts'
import { isJsonObject, type Json, parseJson } from '../../lib/json/index.ts'
import { dollars } from '../../lib/text/dollars.ts'
import type { Budgets, Limits } from '../ports/index.ts'
import type { Spent } from '../ports/store.ts'
import type { Context } from './commands.ts'
import type { CallState, SessionState } from './state.ts'

/** A budget that is spent. `key`: names it among the raises of the session; a budget of a day has another key each day. */
export type Reached = {
  budget: BudgetName
  key: string
  limit: BudgetLimit
  spent: number
  /** What may be spent now, raises included. */
  of: number
  /** What one raise adds, if the person names no other amount. */
  more: number
  then: 'ask' | 'end'
  approvers?: Approvers
}

export type Periods = { day: string; month: string }

/** Days and months are those of UTC, so that all nodes agree. */
export function periodsAt(now: number): Periods {
  const day = new Date(now).toISOString().slice(0, 10)
  return { day, month: day.slice(0, 7) }
}

export function sessionSpent({ used, calls = 0 }: Pick<SessionState, 'used' | 'calls'>): Spent {
  return { tokens: used.tokens, money: used.cost ?? 0, calls }
}

/** With the sessions that worked for it. */
export function turnSpent({ turn }: Pick<SessionState, 'turn'>): Spent {
  const { tokens, money, calls } = turn ?? { tokens: 0, money: 0, calls: 0 }
  return { tokens, money, calls }
}

/** Undefined: it is not known, as nothing reads it. */
export type Spending = Readonly<Partial<Record<BudgetName, Spent>>>

/** The first that is spent. One that ends the turn comes before one that asks: no answer could make the turn go on. */
export function reachedBudget(
  budgets: Budgets,
  spending: Spending,
  { raised }: Pick<SessionState, 'raised'>,
  now: number,
): Reached | undefined {
  const found: Reached[] = []
  for (const budget of budgetNames) {
    const [allowed, spent] = [budgets[budget], spending[budget]]
    if (!allowed || !spent) continue
    for (const limit of budgetLimits) {
      const more = allowed[limit]
      if (more === undefined) continue
      const key = budgetKey(budget, limit, now)
      const of = raised?.[key] ?? more
      if (spent[limit] >= of)
        found.push({
          ...{ budget, key, limit, spent: spent[limit], of, more, then: allowed.then ?? 'end' },
          ...(allowed.approvers && { approvers: allowed.approvers }),
        })
    }
  }
  return found.find(({ then }) => then === 'end') ?? found[0]
}

function budgetKey(budget: BudgetName, limit: BudgetLimit, now: number): string {
  const { day, month } = periodsAt(now)
  const period = { turn: '', session: '', agentDay: `@${day}`, ownerDay: `@${day}`, ownerMonth: `@${month}` }
  return `${budget}.${limit}${period[budget]}`
}

/** What is left of the budgets of the turn and the session, as limits for a session that works for it. */
export function leftOfBudgets(
  budgets: Budgets,
  state: Pick<SessionState, 'turn' | 'used' | 'calls' | 'raised'>,
): Partial<Limits> {
  const left: Partial<Limits> = {}
  for (const [budget, spent] of [
    ['turn', turnSpent(state)],
    ['session', sessionSpent(state)],
  ] as const)
    for (const limit of budgetLimits) {
      const allowed = budgets[budget]?.[limit]
      if (allowed === undefined) continue
      const of = state.raised?.[`${budget}.${limit}`] ?? allowed
      const rest = Math.max(of - spent[limit], limit === 'money' ? Number.MIN_VALUE : 1)
      left[limit] = Math.min(rest, left[limit] ?? rest)
    }
  return left
}

/** A turn begins: what people let the one before spend does not hold for it. */
export function forgetTurnRaises(state: SessionState): void {
  const kept = Object.entries(state.raised ?? {}).filter(([key]) => !key.startsWith('turn.'))
  if (kept.length > 0) state.raised = Object.fromEntries(kept)
  else delete state.raised
}

// ---- the question ------------------------------------------------------------------------------------------------

/** The arguments of the call that asks, as they are in the log. */
export type BudgetCall = Pick<Reached, 'budget' | 'key' | 'limit' | 'spent' | 'of' | 'more'>

/** The limit of the budget whose approval this call of the loop waits for. */
export function askedLimit({ part, rule, mirrors }: CallState): BudgetLimit | undefined {
  if (mirrors || part.name !== budgetToolName || rule !== budgetToolName) return undefined
  const args: Json = parseJson(part.text)
  return budgetLimits.find(limit => isJsonObject(args) && args['limit'] === limit)
}

export function budgetWords(reached: BudgetCall, agent: string): string {
  return `${spentWords(reached, agent)} Go on for another ${showAmount(reached.limit, reached.more)}?`
}

export function budgetQuestion(reached: BudgetCall, agent: string): CallQuestion {
  const { limit, more } = reached
  const another = showAmount(limit, more)
  return {
    message: budgetWords(reached, agent),
    schema: {
      type: 'object',
      properties: {
        more: {
          type: limit === 'money' ? 'number' : 'integer',
          title: limit === 'money' ? 'How much more, in US dollars' : 'How much more',
          description: `Default: ${another}.`,
          minimum: limit === 'money' ? 0 : 1,
        },
      },
    },
  }
}

export function spentWords(
  { budget, limit, spent, of }: Omit<BudgetCall, 'key' | 'more'>,
  agent: string,
): string {
  const who = {
    turn: 'This turn has',
    session: 'This session has',
    agentDay: `Today the agent "${agent}" has`,
    ownerDay: 'Today your sessions have',
    ownerMonth: 'This month your sessions have',
  }
  const did = limit === 'money' ? 'cost' : limit === 'tokens' ? 'used' : 'made'
  const unit = limit === 'money' ? '' : ` ${limit}`
  return `${who[budget]} ${did} ${showAmount(limit, spent)} of ${showAmount(limit, of)}${unit}.`
}

function showAmount(limit: BudgetLimit, amount: number): string {
  return limit === 'money' ? dollars(amount) : amount.toLocaleString('en')
}

/** `more` undefined: the person does not want the turn to go on. */
export function decideBudget(
  callId: string,
  { budget, key, limit, spent, of }: BudgetCall,
  more: number | undefined,
  { now }: Pick<Context, 'now'>,
): BudgetDecided {
  const event: BudgetDecided = { v: 1, at: now, type: 'budget.decided', callId, budget, limit, key }
  if (more !== undefined) event.to = Math.max(spent, of) + more
  return event
}
