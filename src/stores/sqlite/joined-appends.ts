// Appends of one session that follow each other before the transaction is written become one: one row, one step of
// the session's head. They succeed or fail together, which the contract demands of consecutive appends anyway.
import type { Append } from '../../engine/ports.ts'
import type { Event } from '../../language/events.ts'
import type { Group } from './group.ts'
import { Places } from './places.ts'
import type { Statements } from './statements/index.ts'
import { appendWrite } from './writes.ts'

type Joined = Append & { events: Event[]; done: Promise<void> }

export type JoinedAppends = {
  append(batch: Append): Promise<void>
  /** Something else was asked for this session: appends from here on come after it. */
  part(session: string): void
}

export function joinedAppends(group: Group<Statements>): JoinedAppends {
  const waiting = new Map<string, Joined>()
  const places = new Places()
  const append = (batch: Append): Promise<void> => {
    const before = waiting.get(batch.session)
    if (before?.epoch === batch.epoch && before.seq + before.events.length === batch.seq) {
      before.events.push(...batch.events)
      before.status = batch.status
      if (batch.card) before.card = batch.card
      return before.done
    }
    const joined: Joined = { ...batch, events: [...batch.events], done: Promise.resolve() }
    const { session, epoch } = joined
    const close = (): void => {
      if (waiting.get(session) === joined) waiting.delete(session)
    }
    joined.done = group.ask({
      kind: 'append',
      session,
      epoch,
      run(sql) {
        // From here on it is being written: what comes later is another append.
        close()
        appendWrite(joined, places).run(sql)
      },
    })
    // One that fell with another was not run.
    joined.done.catch(close)
    waiting.set(session, joined)
    return joined.done
  }
  const part = (session: string): void => {
    waiting.delete(session)
    places.forget(session)
  }
  return { append, part }
}
