// Sends changed rows of the session list to its watchers. It sends no past changes, and makes no row without a watcher.
import { settingsWithoutSeals } from '../../language/seals.ts'
import { Batches } from '../../lib/async/batches.ts'
import type { ListedSession, SessionChange } from '../ports/boundary.ts'
import type { ListedRow } from '../ports/index.ts'
import { sessionFacts, summariseForList } from '../rules/state.ts'
import type { LoggedSession } from './logged-session.ts'

/** Changes that a watcher has not read. The stream of one that is this far behind ends; it reads the list again. */
const mostUnread = 10_000

export class ListChanges {
  readonly watchers = new Set<Batches<SessionChange>>()

  watch(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    const leave = (): void => {
      this.watchers.delete(watcher)
      watcher.end()
      signal?.removeEventListener('abort', leave)
    }
    const watcher = new Batches<SessionChange>(leave)
    this.watchers.add(watcher)
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted) leave()
    return watcher
  }

  changed(session: LoggedSession): void {
    if (this.watchers.size > 0) this.#tell({ type: 'changed', row: listedRow(session) })
  }

  removed(owner: string, session: string): void {
    this.#tell({ type: 'removed', owner, session })
  }

  /** No more changes come from this engine. */
  end(): void {
    for (const watcher of this.watchers) watcher.end()
    this.watchers.clear()
  }

  #tell(change: SessionChange): void {
    for (const watcher of this.watchers) {
      watcher.push(change)
      if (watcher.unread <= mostUnread) continue
      watcher.end()
      this.watchers.delete(watcher)
    }
  }
}

const noSettings = { tools: null, options: {}, clientTools: [] }

/** A row of the store as readers may see it. */
export function listedSession({ summary, ...row }: ListedRow): ListedSession {
  const { agent = row.agent } = summary ?? {}
  return {
    ...row,
    agent,
    summary: { ...summary, settings: settingsWithoutSeals(summary?.settings ?? noSettings) },
  }
}

function listedRow({ state, bytes, blobBytes }: LoggedSession): ListedSession {
  const { status } = state
  return structuredClone(
    listedSession({
      id: state.id,
      owner: state.owner,
      agent: state.agent,
      status,
      createdAt: state.createdAt,
      updatedAt: state.updatedAt,
      head: state.seq,
      bytes,
      blobBytes,
      recoveries: 0,
      facts: sessionFacts(state, status),
      summary: summariseForList(state),
    }),
  )
}
