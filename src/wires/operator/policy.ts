// What the gate decided in the last days, for operators: how often each rule did, and where shadow rules would have decided
// otherwise. Counted from the logs. What was read of a session is kept, so that a page that asks again reads only what is new.
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Engine,
  type EngineDescription,
  type ListedSession,
  type RecordedShadow,
  type RecordedVerdict,
  VerdictFold,
} from '../../engine/index.ts'
import type { OperatorPolicy, RuleHits, ShadowDifference } from './schema.ts'

export const mostDays = 90
/** Sessions that one request looks at, newest first. */
const mostSessions = 1_000
const mostDifferences = 200
const pageBytes = 256 * 1024
/** Verdicts that are kept of one session. Those before them are not counted. */
const mostKept = 5_000

type Kept = { seq: number; fold: VerdictFold; found: (RecordedVerdict | RecordedShadow)[] }
type Counted = Pick<OperatorPolicy, 'since' | 'hits' | 'shadow' | 'scanned'>

export class PolicyCounts {
  #kept = new Map<string, Kept>()

  async count(engine: Engine, since: number): Promise<Counted> {
    const { rows, complete } = await listSince(engine, since)
    const kept = new Map<string, Kept>()
    const counter = new Counter(since)
    for (const row of rows) {
      const read = await this.#read(engine, row)
      kept.set(row.id, read)
      for (const each of read.found) counter.take(each, row)
      // A store may answer without waiting. Others get their turn between two sessions.
      await nextTurn()
    }
    this.#kept = kept
    return { since, ...counter.counted(), scanned: { sessions: rows.length, complete } }
  }

  async #read(engine: Engine, { id, owner, head }: ListedSession): Promise<Kept> {
    const kept = this.#kept.get(id) ?? { seq: 0, fold: new VerdictFold(), found: [] }
    while (kept.seq < head) {
      // It may have been deleted since it was listed.
      const page = await engine.events({ owner, session: id }, kept.seq, pageBytes).catch(() => [])
      if (page.length === 0) break
      for (const { event } of page) {
        const found = kept.fold.take(event)
        if (found) kept.found.push(found)
      }
      kept.seq = page.at(-1)!.seq
    }
    if (kept.found.length > mostKept) kept.found.splice(0, kept.found.length - mostKept)
    return kept
  }
}

async function listSince(
  engine: Engine,
  since: number,
): Promise<{ rows: ListedSession[]; complete: boolean }> {
  const rows: ListedSession[] = []
  let after: string | undefined
  for (;;) {
    const limit = Math.min(200, mostSessions - rows.length)
    const page = await engine.list(null, { limit, ...(after !== undefined && { after }) })
    rows.push(...page.rows.filter(({ updatedAt }) => updatedAt >= since))
    after = page.next
    if (after === undefined) return { rows, complete: true }
    if (rows.length >= mostSessions) return { rows, complete: false }
    await nextTurn()
  }
}

class Counter {
  readonly #since: number
  readonly #hits = new Map<string, RuleHits>()
  readonly #differences: ShadowDifference[] = []
  #judged = 0

  constructor(since: number) {
    this.#since = since
  }

  take(found: RecordedVerdict | RecordedShadow, { id: session, owner }: ListedSession): void {
    const { type, at, agent, callId, tool, verdict, rule } = found
    if (at < this.#since) return
    if (type === 'shadow') {
      const { given, reason } = found
      const why = reason === undefined ? {} : { reason }
      this.#differences.push({ at, session, owner, agent, callId, tool, given, verdict, rule, ...why })
      return
    }
    if (found.shadow !== undefined) this.#judged += 1
    const key = JSON.stringify([agent, rule])
    const hits = this.#hits.get(key) ?? { agent, rule, last: 0, allow: 0, ask: 0, deny: 0 }
    hits[verdict] += 1
    hits.last = Math.max(hits.last, at)
    this.#hits.set(key, hits)
  }

  counted(): Pick<Counted, 'hits' | 'shadow'> {
    const newest = this.#differences.toSorted((one, two) => two.at - one.at)
    return {
      hits: [...this.#hits.values()],
      shadow: {
        judged: this.#judged,
        differing: newest.length,
        differences: newest.slice(0, mostDifferences),
      },
    }
  }
}

export function describePolicies({ agents }: EngineDescription): OperatorPolicy['agents'] {
  return agents.map(({ name, policy, tools }) => ({
    agent: name,
    ...(policy && { policy }),
    tools: tools.flatMap(tool => (tool.verdict ? [{ name: tool.name, verdict: tool.verdict }] : [])),
  }))
}
