// The sessions in memory, in the order of their last use. Idle ones are dropped, least recently used first; the next command or
// reader loads a dropped one again.

/** Idle sessions that stay in memory, and about the JSON of their logs. */
const mostIdle = 256
const mostIdleBytes = 64 * 1024 * 1024
/** Sessions at work that are looked at before dropping is left to the next use: there may be thousands. */
const mostLooks = 16

type Kept = { readonly id: string; readonly bytes: number; readonly isIdle: boolean; release(): void }

export class RecentSessions<Session extends Kept> {
  readonly #byId = new Map<string, { session: Session; bytes: number }>()
  /** Of all of them, each as of its last use. */
  #bytes = 0

  get(id: string): Session | undefined {
    return this.#byId.get(id)?.session
  }

  *values(): Generator<Session> {
    for (const { session } of this.#byId.values()) yield session
  }

  /** It is used now. Gives the idle sessions that are dropped to make room, which is never this one. */
  use(session: Session): Session[] {
    this.forget(session.id)
    this.#byId.set(session.id, { session, bytes: session.bytes })
    this.#bytes += session.bytes
    return this.#byId.size > mostIdle || this.#bytes > mostIdleBytes ? this.#dropIdle(session) : []
  }

  forget(id: string): void {
    this.#bytes -= this.#byId.get(id)?.bytes ?? 0
    this.#byId.delete(id)
  }

  #dropIdle(used: Session): Session[] {
    const dropped: Session[] = []
    let looks = 0
    for (const [id, kept] of this.#byId) {
      if (this.#byId.size <= mostIdle && this.#bytes <= mostIdleBytes) break
      const { session } = kept
      const isDropped = session !== used && session.isIdle
      if (!isDropped && ++looks > mostLooks) break
      this.forget(id)
      if (isDropped) {
        session.release()
        dropped.push(session)
      } else {
        // It is at work, which is a use.
        this.#byId.set(id, { session, bytes: session.bytes })
        this.#bytes += session.bytes
      }
    }
    return dropped
  }
}
