// Stops the sessions of an engine. A session is given up as soon as nothing runs in it any more, so that another process can
// go on with it while calls of others still finish.
import type { World } from '../ports/index.ts'
import type { Session } from './session.ts'

export type StopOptions = {
  /** How long running calls may take to finish. */
  graceMs: number
  world: World
  reason: unknown
  /** Called with each session once it is given up. */
  left?: ((session: Session) => void) | undefined
}

export async function stopSessions(sessions: readonly Session[], options: StopOptions): Promise<void> {
  const { graceMs, world, reason, left } = options
  for (const session of sessions) {
    session.stopping = true
    session.driver.dropStep(reason)
    session.prove()
    session.tellWatching()
  }
  const grace = Promise.withResolvers<void>()
  const stopClock = world.timer(graceMs, grace.resolve)
  const byId = new Map(sessions.map(session => [session.id, session]))
  const leaving = new Map<string, Promise<void>>()
  const leave = (session: Session): Promise<void> => {
    const known = leaving.get(session.id)
    if (known) return known
    const over = leaveOne(session)
    leaving.set(session.id, over)
    return over
  }
  const leaveOne = async (session: Session): Promise<void> => {
    await Promise.race([session.driver.settle(), grace.promise])
    // The call that it works for still watches it.
    const parent = session.state.parent && byId.get(session.state.parent.session)
    if (parent) await leave(parent)
    if (session.signer?.isDue) await session.signer.sign()
    await session.flushed().catch(() => {})
    if (session.lost) return
    session.lose(reason)
    left?.(session)
  }
  await Promise.all(sessions.map(leave))
  stopClock()
}
