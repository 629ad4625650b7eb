// What may be spent before a turn ends or a person is asked, as an operator writes it.
import type { Approvers } from './approvers.ts'
import type { BudgetName } from './events.ts'

/**
 * What may be spent, and what happens then: `end` (the default) ends the turn, `ask` asks a person. `approvers`: only these may
 * let the turn go on; they are asked to approve it. Absent: anyone who reaches the session.
 */
export type Budget = {
  tokens?: number
  /** US dollars. */
  money?: number
  calls?: number
  then?: 'ask' | 'end'
  approvers?: Approvers
}

/**
 * `turn`: of one turn, within the agent's limits. `session`: of one session, for life. `agentDay`: of all sessions of the agent in a
 * day. `ownerDay`, `ownerMonth`: of all sessions of the owner. Days and months are those of UTC.
 */
export type Budgets = Partial<Record<BudgetName, Budget>>
