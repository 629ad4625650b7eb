// What stands beside the loop, in the order in which it is done: each feature names the events that concern it, so that a
// turn without such an event does not enter it. session.ts and driver.ts go through these lists and know no feature.
import type { Event } from '../../language/events.ts'
import type { Abort } from '../../lib/async/abort.ts'
import { hideArguments } from '../calls/hidden-arguments.ts'
import { tellTurnEnded } from '../calls/hooks.ts'
import { settleNested, tellSettled } from '../calls/nested-calls.ts'
import { offerReader } from '../calls/read-output.ts'
import { compactIfDue } from './compact.ts'
import { type Deadlines, watchDeadlines } from './deadlines.ts'
import type { TurnSession } from './turn-session.ts'

type Recording = TurnSession & { readonly deadlines: Deadlines }
type Types = ReadonlySet<Event['type']>
type Change = (session: Recording, events: readonly Event[]) => readonly Event[]
type Tell = (session: Recording, events: readonly Event[]) => void

const types = (...names: Event['type'][]): Types => new Set(names)

/** When a session was opened. */
export const openings: readonly ((session: TurnSession) => void)[] = [offerReader]

/** Before events are recorded: what is recorded in their place. The state is still the one before them. */
const changes: readonly [Types, Change][] = [
  [types('call.settled'), settleNested],
  [types('model.answered', 'call.nested', 'call.edited', 'question.answered'), hideArguments],
]

/** After events were recorded. */
const tells: readonly [Types, Tell][] = [
  [types('turn.ended'), tellTurnEnded],
  [types('approval.requested', 'question.asked', 'call.postponed'), watchDeadlines],
  [types('call.settled'), tellSettled],
  [types('call.settled'), offerReader],
]

/** Before the model is asked. A promise only if there is something to wait for. */
export const preparations: readonly ((session: TurnSession, stop: Abort) => Promise<void> | undefined)[] = [
  compactIfDue,
]

export function changeEvents(session: Recording, events: readonly Event[]): readonly Event[] {
  let changed = events
  for (const [concerned, change] of changes)
    for (const { type } of changed)
      if (concerned.has(type)) {
        changed = change(session, changed)
        break
      }
  return changed
}

export function tellEvents(session: Recording, events: readonly Event[]): void {
  for (const [concerned, tell] of tells)
    for (const { type } of events)
      if (concerned.has(type)) {
        tell(session, events)
        break
      }
}
