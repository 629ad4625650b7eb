// Drops idle sessions from memory, least recently used first. The next command or reader loads a dropped one again.
import type { Session } from './session.ts'

/** Idle sessions that stay in memory, and about the JSON of their logs. */
export const mostIdle = 256
const mostIdleBytes = 64 * 1024 * 1024

/** `open` is in the order of use. Drops idle sessions, but not the one that is being opened. Gives those dropped. */
export function dropIdle(open: Map<string, Session>, opening: Session): Session[] {
  const dropped: Session[] = []
  let bytes = 0
  for (const session of open.values()) bytes += session.bytes
  for (const [id, session] of open) {
    if (open.size <= mostIdle && bytes <= mostIdleBytes) break
    if (session === opening || !session.isIdle) continue
    open.delete(id)
    bytes -= session.bytes
    session.release()
    dropped.push(session)
  }
  return dropped
}
