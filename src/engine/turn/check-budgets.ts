// Before the model is asked: ends the turn, or asks a person, if a budget is spent. Sessions of agents without budgets do not
// come here.
import { callBudgetTool } from '../calls/raise-budget.ts'
import type { Budgets } from '../ports/index.ts'
import { periodsAt, reachedBudget, type Spending, sessionSpent } from '../rules/budgets.ts'
import { decideEnd } from '../rules/decide-turn.ts'
import type { TurnSession } from './turn-session.ts'

/** True: the model is not asked now. */
export async function checkBudgets(session: TurnSession): Promise<boolean> {
  const { budgets } = session.agent
  const { turn } = session.state
  if (!budgets || !turn) return false
  const spending = await readSpending(session, budgets)
  // The turn may have been cancelled meanwhile.
  if (session.lost || session.state.turn !== turn) return true
  const { context } = session
  const reached = reachedBudget(budgets, spending, session.state, context.now)
  if (!reached) return false
  if (reached.then === 'end' || !callBudgetTool(session, reached))
    session.record(decideEnd(session.state, { stop: 'limit', limit: reached.limit }, context))
  return true
}

/** Only what a budget is for is read. What this session has spent is durable first, so that it is counted too. */
async function readSpending(session: TurnSession, budgets: Budgets): Promise<Spending> {
  const { state, ports, agent, context } = session
  const { store } = ports
  const own = budgets.session && { session: sessionSpent(state) }
  const { agentDay, ownerDay, ownerMonth } = budgets
  if (!store.spent || !(agentDay || ownerDay || ownerMonth)) return { ...own }
  await session.flushed()
  const { day, month } = periodsAt(context.now)
  const [ofAgent, ofOwner, inMonth] = await Promise.all([
    agentDay && store.spent({ agent: agent.name }, day),
    ownerDay && store.spent({ owner: state.owner }, day),
    ownerMonth && store.spent({ owner: state.owner }, month),
  ])
  return {
    ...own,
    ...(ofAgent && { agentDay: ofAgent }),
    ...(ofOwner && { ownerDay: ofOwner }),
    ...(inMonth && { ownerMonth: inMonth }),
  }
}
