// Callbacks for a session that is not in memory: called when it is loaded, or with the reason when it is gone.
export type SessionChanged = (gone?: unknown) => void

export class SessionChanges {
  readonly #waiting = new Map<string, Set<SessionChanged>>()

  on(session: string, changed: SessionChanged): () => void {
    const waiting = this.#waiting.get(session) ?? new Set()
    this.#waiting.set(session, waiting.add(changed))
    return () => {
      waiting.delete(changed)
      if (waiting.size === 0 && this.#waiting.get(session) === waiting) this.#waiting.delete(session)
    }
  }

  tell(session: string, gone?: unknown): void {
    for (const changed of [...(this.#waiting.get(session) ?? [])]) changed(gone)
  }

  tellAll(gone: unknown): void {
    for (const session of [...this.#waiting.keys()]) this.tell(session, gone)
  }
}
