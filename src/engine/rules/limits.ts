// The limits of a turn: what is left of them, and the limits of a session that works for another session's call.
import { TurnwireError } from '../../language/errors.ts'
import { type LimitName, limitNames } from '../../language/events.ts'
import type { Agent, Limits } from '../ports/index.ts'
import { leftOfBudgets } from './budgets.ts'
import type { SessionState } from './state.ts'

type Spending = { readonly state: SessionState; readonly limits: Limits }

/** Those of the agent, within what the session was given when it was made. */
export function limitsFor({ limits }: Pick<Agent, 'limits'>, { caps }: Pick<SessionState, 'caps'>): Limits {
  return caps ? withinCaps(limits, caps) : limits
}

/** The smaller of each. */
function withinCaps(limits: Limits, caps: Partial<Limits>): Limits {
  const least = (name: LimitName): number => Math.min(limits[name], caps[name] ?? Number.POSITIVE_INFINITY)
  return Object.fromEntries(limitNames.map(name => [name, least(name)])) as Limits // Every name is there.
}

/** The limits for a session that works for this turn: what is left of the turn's, and never more than `most`. */
export function remainingBudget(
  {
    state,
    limits,
    driver,
    agent,
  }: Spending & { readonly driver: { readonly workedMs: number }; readonly agent: Pick<Agent, 'budgets'> },
  most: Partial<Limits> = {},
): Partial<Limits> {
  const { turn } = state
  if (!turn) return most
  const left: Partial<Limits> = {
    steps: Math.max(limits.steps - turn.steps, 1),
    calls: Math.max(limits.calls - turn.calls, 1),
    tokens: Math.max(limits.tokens - turn.tokens, 1),
    money: Math.max(limits.money - turn.money, Number.MIN_VALUE),
    bytes: Math.max(limits.bytes - turn.bytes, 1),
    time: Math.max(Math.ceil(limits.time - driver.workedMs), 1),
  }
  const ofBudgets: Partial<Limits> = agent.budgets ? leftOfBudgets(agent.budgets, state) : {}
  const names = limitNames.filter(name => left[name] !== undefined || most[name] !== undefined)
  const least = (name: LimitName): number =>
    Math.min(...[left, most, ofBudgets].map(each => each[name] ?? Number.POSITIVE_INFINITY))
  return Object.fromEntries(names.map(name => [name, least(name)]))
}

/** A session for life has a limit too. `more`: bytes that are to be added. */
export function refuseIfFull(
  { agent, bytes, blobBytes }: { readonly agent: Agent; readonly bytes: number; readonly blobBytes: number },
  more = 0,
): void {
  const { sessionBytes } = agent.limits
  if (bytes + blobBytes + more < sessionBytes) return
  throw new TurnwireError(
    'too_large',
    `The session has reached its limit of ${sessionBytes} bytes and takes no more. It can still be read. Start a new session.`,
  )
}

/** The turn can ask no model any more. */
export function isSpent({ state, limits }: Spending): boolean {
  const { turn } = state
  if (!turn) return true
  return (
    turn.limit !== undefined ||
    turn.steps >= limits.steps ||
    turn.calls > limits.calls ||
    turn.tokens > limits.tokens ||
    turn.money >= limits.money
  )
}
