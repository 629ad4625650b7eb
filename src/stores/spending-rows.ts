// How the stores keep spending: one sum for each owner and day, and one for each agent and day. An append adds to them.
import type { Spending, Spent, Store } from '../engine/ports/index.ts'

/** `kind` and `name`: whose it is. */
export type SpendingRow = Spent & { kind: 'owner' | 'agent'; name: string; day: string }

export function spendingRows(spending: readonly Spending[]): SpendingRow[] {
  return spending.flatMap(({ day, owner, agent, own, workers }) => [
    { kind: 'owner' as const, name: owner, day, ...own },
    { kind: 'agent' as const, name: agent, day, ...addSpent(own, workers) },
  ])
}

export function addSpent(one: Spent, two: Spent): Spent {
  return {
    tokens: one.tokens + two.tokens,
    money: one.money + two.money,
    calls: one.calls + two.calls,
  }
}

export function spender(of: Parameters<NonNullable<Store['spent']>>[0]): Pick<SpendingRow, 'kind' | 'name'> {
  return 'owner' in of ? { kind: 'owner', name: of.owner } : { kind: 'agent', name: of.agent }
}
