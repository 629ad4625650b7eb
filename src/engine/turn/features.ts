// The features beside the loop, as lists in the order in which they run. Each feature names its events and says when a
// session uses it; other turns do not enter it. session.ts and driver.ts go through these lists and know no feature.
import type { Event } from '../../language/events.ts'
import type { Abort } from '../../lib/async/abort.ts'
import { offerCheck } from '../calls/check-call.ts'
import { hideArguments } from '../calls/hidden-arguments.ts'
import { tellTurnEnded } from '../calls/hooks.ts'
import { settleNested, tellSettled } from '../calls/nested-calls.ts'
import { offerBudgetTool } from '../calls/raise-budget.ts'
import { offerReader } from '../calls/read-output.ts'
import { offerUndo } from '../calls/undo.ts'
import { hasNested } from '../rules/state.ts'
import { checkBudgets } from './check-budgets.ts'
import { compactIfDue } from './compact.ts'
import { type Deadlines, watchDeadlines } from './deadlines.ts'
import { joinMessages, startNextTurn } from './messages.ts'
import type { TurnSession } from './turn-session.ts'

type Recording = TurnSession & { readonly deadlines: Deadlines }
type Types = ReadonlySet<Event['type']>
type Feature<Done> = {
  of: Types
  /** Asked only if one of its events is there. Absent: always. */
  isUsed?: (session: Recording, events: readonly Event[]) => boolean
  do: (session: Recording, events: readonly Event[]) => Done
}

const types = (...names: Event['type'][]): Types => new Set(names)

/** Run when a session was opened. */
export const openings: readonly ((session: TurnSession) => void)[] = [offerOwnTools]

/** Run before events are recorded. Each gives the events to record instead. The state is still the one before them. */
const changes: readonly Feature<readonly Event[]>[] = [
  {
    of: types('call.settled'),
    isUsed: ({ state }) => state.workers !== undefined || hasNested(state),
    do: settleNested,
  },
  {
    of: types('model.answered', 'call.nested', 'call.edited', 'question.answered'),
    isUsed: ({ offer }) => offer.hidesArguments,
    do: hideArguments,
  },
  { of: types('turn.ended'), isUsed: ({ state }) => state.messages !== undefined, do: startNextTurn },
]

/** Run after events were recorded. */
const tells: readonly Feature<void>[] = [
  {
    of: types('turn.ended'),
    isUsed: ({ ports }) => ports.hooks?.turnEnded !== undefined,
    do: tellTurnEnded,
  },
  { of: types('approval.requested', 'question.asked', 'call.postponed'), do: watchDeadlines },
  {
    of: types('call.settled'),
    isUsed: ({ state }, events) => hasNested(state) || events.some(isCancelled),
    do: tellSettled,
  },
  {
    of: types('call.settled', 'call.reconciled'),
    isUsed: ({ state: { kept, doubts, reconciled } }) => (kept ?? doubts ?? reconciled) !== undefined,
    do: offerOwnTools,
  },
]

/**
 * Run before the model is asked. Gives a promise only if there is something to wait for, and true if there is something else to
 * do first: then the model is not asked now.
 */
export const preparations: readonly {
  isUsed: (session: TurnSession) => boolean
  do: (session: TurnSession, stop: Abort) => Promise<unknown> | undefined
}[] = [
  // One row for what an agent has by configuration: each row is asked before every step of every turn.
  { isUsed: ({ agent }) => agent.budgets !== undefined || agent.ready !== undefined, do: prepareAgent },
  { isUsed: ({ agent }) => agent.compaction !== undefined, do: compactIfDue },
  // Last, right before the model is asked: a turn that the budgets end leaves what waits to the next one, and what comes while
  // the history is compacted still joins.
  { isUsed: ({ state }) => state.messages !== undefined, do: joinMessages },
]

const changesByType = byType(changes)
const tellsByType = byType(tells)

function byType<Done>(features: readonly Feature<Done>[]): ReadonlyMap<Event['type'], Feature<Done>[]> {
  const found = new Map<Event['type'], Feature<Done>[]>()
  for (const feature of features)
    for (const type of feature.of) found.set(type, [...(found.get(type) ?? []), feature])
  return found
}

/** Most types of events have no feature, and most sessions use none of the others. */
export function changeEvents(session: Recording, events: readonly Event[]): readonly Event[] {
  for (const { type } of events)
    for (const { isUsed } of changesByType.get(type) ?? nothing)
      if (!isUsed || isUsed(session, events)) return changeByAll(session, events)
  return events
}

export function tellEvents(session: Recording, events: readonly Event[]): void {
  for (const { type } of events)
    for (const { isUsed } of tellsByType.get(type) ?? nothing)
      if (!isUsed || isUsed(session, events)) {
        tellAll(session, events)
        return
      }
}

const nothing: readonly [] = []

/** Each feature is asked about the events as those before it have left them. */
function changeByAll(session: Recording, events: readonly Event[]): readonly Event[] {
  let changed = events
  for (const feature of changes)
    if (concerns(feature, session, changed)) changed = feature.do(session, changed)
  return changed
}

function tellAll(session: Recording, events: readonly Event[]): void {
  for (const feature of tells) if (concerns(feature, session, events)) feature.do(session, events)
}

function concerns({ of, isUsed }: Feature<unknown>, session: Recording, events: readonly Event[]): boolean {
  return events.some(({ type }) => of.has(type)) && (!isUsed || isUsed(session, events))
}

function prepareAgent(session: TurnSession): Promise<unknown> | undefined {
  const { agent } = session
  const check = (): Promise<unknown> | undefined =>
    agent.budgets === undefined ? undefined : checkBudgets(session)
  const waits = agent.ready?.()
  return waits ? waits.then(check) : check()
}

/** The tools that a session has beside those of its agent. One function, as every session that is opened comes here. */
function offerOwnTools(session: TurnSession): void {
  const { state, agent } = session
  if (agent.budgets) offerBudgetTool(session)
  if (state.kept) offerReader(session)
  if (state.doubts || state.reconciled) offerCheck(session)
  if (state.turn?.ask?.undoes !== undefined) offerUndo(session)
}

function isCancelled(event: Event): boolean {
  return event.type === 'call.settled' && event.outcome.kind === 'cancelled'
}
