// Finds sessions of a store in memory. There is no index: what is asked is counted from the logs, of which each is read once.
import type {
  ActivityQuery,
  FindQuery,
  FoundRow,
  FoundSessions,
  ListedRow,
  SessionFinder,
} from '../engine/ports/index.ts'
import type { ActivityReport, SessionOrder } from '../language/activity.ts'
import { isFailure, type Recorded } from '../language/events.ts'
import { hasPhrases, searchPhrases } from '../lib/text/search-words.ts'
import { checkLimit } from './cursor.ts'
import {
  type ActivityRow,
  activityReport,
  type DigestState,
  digestLog,
  newDigestState,
} from './log-index/log-index.ts'
import { decodePlace, encodePlace, type Place } from './log-index/place.ts'

/** `ordinal`: grows by one with each creation. */
export type FindableSession = { ordinal: number; row: ListedRow; events: (after: number) => Recorded[] }
type Known = { seq: number; state: DigestState; words: { seq: number; words: string }[] }

export class MemoryFinder implements SessionFinder {
  readonly #sessions: () => FindableSession[]
  #known = new Map<string, Known>()
  readonly #activity: ActivityRow[] = []

  constructor(sessions: () => FindableSession[]) {
    this.#sessions = sessions
  }

  start(): void {}

  async find(query: FindQuery): Promise<FoundSessions> {
    checkLimit(query.limit)
    const sessions = this.#readAll()
    const phrases = query.words === undefined ? [] : searchPhrases(query.words)
    const found = sessions.flatMap(({ ordinal, row }) => {
      if (!isWanted(row, query)) return []
      const hits = (this.#known.get(row.id)?.words ?? []).filter(({ words }) => hasPhrases(words, phrases))
      const last = hits.at(-1)
      if (query.words !== undefined && !last && !hasPart(row, query.words.toLowerCase())) return []
      const place: Place = {
        key: query.order === 'created' ? ordinal : orders[query.order](row),
        position: ordinal,
        id: row.id,
      }
      return [
        {
          place,
          row: { ...row, ...(last && { hit: { seq: last.seq, count: hits.length } }) } satisfies FoundRow,
        },
      ]
    })
    found.sort((one, two) => comparePlaces(one.place, two.place) * (query.ascending ? 1 : -1))
    const after = query.after === undefined ? undefined : decodePlace(query.after)
    const rest = after
      ? found.filter(({ place }) => comparePlaces(place, after) * (query.ascending ? 1 : -1) > 0)
      : found
    const page = rest.slice(0, query.limit)
    const last = rest.length > query.limit ? page.at(-1) : undefined
    return {
      rows: page.map(({ row }) => row),
      ...(last && { next: encodePlace(last.place) }),
      ...(!after && { total: found.length, behind: 0 }),
    }
  }

  async activity(query: ActivityQuery): Promise<ActivityReport> {
    this.#readAll()
    const rows = this.#activity.filter(({ hour }) => hour >= query.since && hour < query.until)
    return activityReport(query, rows, 0)
  }

  #readAll(): FindableSession[] {
    const sessions = this.#sessions()
    const known = new Map<string, Known>()
    for (const { row, events } of sessions) {
      const each = this.#known.get(row.id) ?? { seq: 0, state: newDigestState(row.agent), words: [] }
      const { words, activity } = digestLog(each.state, events(each.seq))
      each.seq = row.head
      each.words.push(...words)
      this.#activity.push(...activity)
      known.set(row.id, each)
    }
    this.#known = known
    return sessions
  }
}

function isWanted(row: ListedRow, { owner, status, agent, model, from, to }: FindQuery): boolean {
  const { agent: own = row.agent, parent, settings } = row.summary ?? {}
  const uses = settings?.model ?? (model?.agents.includes(own) ? model.name : undefined)
  return (
    parent === undefined &&
    (owner === null || row.owner === owner) &&
    (status === undefined || row.status === (status === 'failed' ? 'idle' : status)) &&
    (status !== 'failed' || isFailure(row.facts?.stop)) &&
    (agent === undefined || own === agent) &&
    (model === undefined || uses === model.name) &&
    (from === undefined || row.updatedAt >= from) &&
    (to === undefined || row.createdAt < to)
  )
}

const orders: Readonly<Record<Exclude<SessionOrder, 'created'>, (row: ListedRow) => number>> = {
  changed: row => row.updatedAt,
  cost: row => row.facts?.cost ?? -1,
  tokens: row => row.facts?.tokens ?? 0,
  lasted: row => row.updatedAt - row.createdAt,
}

/** In its id or its opening. */
function hasPart({ id, summary }: ListedRow, part: string): boolean {
  return id.toLowerCase().includes(part) || (summary?.opening?.toLowerCase().includes(part) ?? false)
}

function comparePlaces(one: Place, two: Place): number {
  return one.key - two.key || one.position - two.position
}
