// Before the model is asked: ends the turn, or asks a person, if a budget is spent. Sessions of agents without budgets do not
// come here.
import { TurnwireError } from '../../language/errors.ts'
import { callBudgetTool } from '../calls/raise-budget.ts'
import type { Agent, Budgets, EnginePorts, Store } from '../ports/index.ts'
import {
  periodsAt,
  reachedBudget,
  type Spending,
  sessionSpent,
  spentWords,
  turnSpent,
} from '../rules/budgets.ts'
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
  const own = { turn: turnSpent(state), session: sessionSpent(state) }
  const { agentDay, ownerDay, ownerMonth } = budgets
  if (!(agentDay || ownerDay || ownerMonth)) return own
  await session.flushed()
  const who = { agent: agent.name, owner: state.owner }
  return { ...own, ...(await sharedSpending(ports.store, budgets, who, context.now)) }
}

/** Before the model is asked without a session. There is nobody who could be asked, so each budget refuses. */
export async function refuseIfSpent(
  { store, world }: Pick<EnginePorts, 'store' | 'world'>,
  { name, budgets }: Agent,
  owner: string,
): Promise<void> {
  if (!budgets) return
  const now = world.now()
  const spending = await sharedSpending(store, budgets, { agent: name, owner }, now)
  const reached = reachedBudget(budgets, spending, {}, now)
  if (reached) throw new TurnwireError('budget_spent', spentWords(reached, name))
}

/** What the agent and the owner have spent, of which there is a budget. */
async function sharedSpending(
  store: Store,
  { agentDay, ownerDay, ownerMonth }: Budgets,
  { agent, owner }: { agent: string; owner: string },
  now: number,
): Promise<Spending> {
  const { day, month } = periodsAt(now)
  const [ofAgent, ofOwner, inMonth] = await Promise.all([
    agentDay && store.spent?.({ agent }, day),
    ownerDay && store.spent?.({ owner }, day),
    ownerMonth && store.spent?.({ owner }, month),
  ])
  return {
    ...(ofAgent && { agentDay: ofAgent }),
    ...(ofOwner && { ownerDay: ofOwner }),
    ...(inMonth && { ownerMonth: inMonth }),
  }
}
