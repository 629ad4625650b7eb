// Messages that are said while a turn is under way. They wait in the log, and are delivered with the events that make room for
// them: before the model is asked, and with the end of the turn. So a message that waits always has a turn that it waits for.
import type { Event } from '../../language/events.ts'
import type { Command } from '../ports/boundary.ts'
import type { AppContext } from '../ports/index.ts'
import type { Say } from '../rules/commands.ts'
import {
  decideInterruption,
  decideJoined,
  decideQueued,
  decideStartedBy,
  decideTakeBack,
  messageState,
  mustWait,
  nextMessage,
} from '../rules/decide-message.ts'
import { refuseIfFull } from '../rules/limits.ts'
import type { SessionState } from '../rules/state.ts'
import type { CommandedSession, Taken, TurnSession } from './turn-session.ts'

/** By the state of a session in memory: the context that callers of waiting messages gave for their tools, by message. */
const apps = new WeakMap<SessionState, Map<string, Partial<AppContext>>>()

type LaterSay = Say & { app?: Partial<AppContext>; during?: Extract<Command, { do: 'say' }>['during'] }

/** Undefined: the message can be said now. */
export function sayLater(
  session: CommandedSession,
  { app, during, ...say }: LaterSay,
): Promise<Taken> | undefined {
  const { state } = session
  if (!mustWait(state, during)) return undefined
  let id = ''
  const taken = session.accept(say.request, () => {
    refuseIfFull(session)
    const { context, driver, offer } = session
    const queued = decideQueued(state, say, during, context)
    id = queued.message
    const events: Event[] = [queued]
    const { request } = say
    if (request) {
      const { key, hash } = request
      events.unshift({ v: 1, at: context.now, type: 'request.accepted', key, hash, events: 1 })
    }
    if (app) keepApp(state, id, app)
    if (during !== 'interrupt') return events
    const find = (name: string) => offer.byName.get(name)
    return [...events, ...decideInterruption(state, queued, driver.cutStep(), find, context)]
  })
  return taken.then(given =>
    given.replayed ? given : { ...given, message: { id, state: messageState(state, id) } },
  )
}

function keepApp(state: SessionState, message: string, app: Partial<AppContext>): void {
  const kept = apps.get(state) ?? new Map<string, Partial<AppContext>>()
  apps.set(state, kept.set(message, app))
}

function takeApp(state: SessionState, message: string): Partial<AppContext> | undefined {
  const kept = apps.get(state)
  const app = kept?.get(message)
  kept?.delete(message)
  return app
}

export async function withdrawMessage(
  session: CommandedSession,
  command: Extract<Command, { do: 'withdraw' }>,
): Promise<void> {
  session.refuseIfGone()
  const taken = decideTakeBack(session.state, command, session.context)
  takeApp(session.state, command.message)
  await session.save([taken])
}

/** Before the model is asked: messages that steer join the turn. */
export function joinMessages(session: TurnSession): undefined {
  const { state } = session
  const joined = decideJoined(state, session.context)
  for (const event of joined) {
    if (event.type !== 'message.delivered') continue
    const app = takeApp(state, event.message)
    if (app) session.requestApp = { ...session.requestApp, ...app }
  }
  if (joined.length > 0) session.record(joined, true)
}

/** Before the end of a turn is recorded: a message that waits starts the next turn, in the same write. */
export function startNextTurn(session: TurnSession, events: readonly Event[]): readonly Event[] {
  // A message that abandoned the turn starts the next one. Those that wait come after it.
  if (events.some(({ type }) => type === 'turn.started')) return events
  const { state, context, ports } = session
  const gone = new Set(events.flatMap(event => (event.type === 'message.withdrawn' ? [event.message] : [])))
  const message = nextMessage((state.messages ?? []).filter(({ id }) => !gone.has(id)))
  if (!message) return events
  session.requestApp = takeApp(state, message.id)
  const trace = ports.observer?.startTurn?.(session, message.trace) ?? message.trace
  return [...events, ...decideStartedBy(state, message, trace, context)]
}
