// How long sessions are kept, by agent: deletes those that nobody has used for some days, and the oldest beyond a
// number of bytes. It walks through the list of all sessions in small steps with pauses, so that it never delays other
// work. Stored responses are sessions too.
import { setTimeout as pause } from 'node:timers/promises'
import type { ListedRow, LocalEngine, SessionRow, Store } from '../engine/index.ts'
import { hasCode, TurnwireError, wordsOf } from '../language/errors.ts'
import { group, must } from '../lib/checks/fields.ts'
import type { Log } from '../log.ts'
import type { PaymentStore } from '../payments/port.ts'

export type Retention = {
  /** Sessions that were not used for so many days are deleted. */
  days?: number
  /** All sessions of the agent together, with the results kept beside them: beyond this, the oldest at rest are deleted. */
  bytes?: number
}

export type RetentionWork = {
  store: Pick<Store, 'list'>
  payments?: PaymentStore | undefined
  remove(ref: { owner: string; session: string }): Promise<void>
  /** By the name of the agent that a session began with. */
  rules: ReadonlyMap<string, Retention>
  now(): number
  /** Resolves after this time. Rejects when the work is to stop. */
  pause(ms: number): Promise<void>
  log: Log
}

const rowsPerStep = 100
/** Between two pages, and after each deletion. */
const stepMs = 50
const passMs = 10 * 60_000
const dayMs = 24 * 60 * 60_000

const amount = must(value => typeof value === 'number' && value > 0, 'must be a number above 0.')
export const checkRetention = group<Retention>(
  { days: amount, bytes: amount },
  'must be an object such as { days: 30, bytes: 10_000_000_000 }.',
)

/** The part of a runtime that it needs. */
type Retaining = {
  config: { agents: readonly { name: string; retention?: Retention }[] }
  local(): Promise<LocalEngine | undefined>
  payments?: PaymentStore | undefined
  log: Log
}

/** For the server of a data folder: nobody else deletes what is old in it. Gives a function that ends it. */
export async function startRetention(runtime: Retaining): Promise<() => void> {
  const { config, log } = runtime
  const rules = new Map(
    config.agents.flatMap(({ name, retention }) => (retention ? [[name, retention] as const] : [])),
  )
  const engine = rules.size > 0 ? await runtime.local() : undefined
  const ending = new AbortController()
  if (engine)
    void keepRetention({
      store: engine.sessions.ports.store,
      payments: runtime.payments,
      remove: ref => engine.remove(ref),
      rules,
      now: Date.now,
      pause: ms =>
        pause(ms, undefined, { signal: ending.signal, ref: false }).catch(() => {
          throw new RetentionStopped()
        }),
      log,
    })
  return () => ending.abort()
}

/** Walks through all sessions again and again, until `pause` rejects. */
async function keepRetention(work: RetentionWork): Promise<void> {
  try {
    for (;;) {
      await work.pause(1_000)
      const deleted = await retainOnce(work)
      if (deleted > 0)
        work.log('info', 'Sessions were deleted: their time or their room is over.', { deleted })
      await work.pause(passMs)
    }
  } catch (error) {
    if (!isStopped(error)) work.log('error', 'Old sessions are no longer deleted.', { error: wordsOf(error) })
  }
}

export class RetentionStopped extends Error {}

function isStopped(error: unknown): boolean {
  return error instanceof RetentionStopped
}

/** One walk, newest first. Gives how many sessions it deleted. */
export async function retainOnce(work: RetentionWork): Promise<number> {
  /** Bytes of the newer sessions of each agent. */
  const newer = new Map<string, number>()
  let deleted = 0
  let after: string | undefined
  do {
    const page = await pageAfter(work, after)
    for (const row of page.rows) {
      if (!isOver(row, work.rules.get(row.agent), newer, work.now())) continue
      if (await removed(work, row)) deleted += 1
      await work.pause(stepMs)
    }
    after = page.next
    await work.pause(stepMs)
  } while (after !== undefined)
  if (work.payments) await forgetAnswers(work, work.payments)
  return deleted
}

/** Payments stay, but the requests and answers in them that had no session are removed. */
async function forgetAnswers(work: RetentionWork, payments: PaymentStore): Promise<void> {
  let after: string | undefined
  do {
    const page = await payments.list({ limit: rowsPerStep, ...(after !== undefined && { after }) })
    for (const kept of page.rows) {
      const { agent, worker, open, reservedAt = 0 } = kept.record
      const { days = Infinity } = work.rules.get(agent) ?? {}
      if (!worker || open || reservedAt >= work.now() - days * dayMs) continue
      // One that someone else changes now is looked at again in the next walk.
      await payments.record(kept, { request: null, answer: null, worker: '' }).catch(() => {})
      await work.pause(stepMs)
    }
    after = page.next
    await work.pause(stepMs)
  } while (after !== undefined)
}

/** A store that fails is asked again later. */
async function pageAfter(work: RetentionWork, after: string | undefined): ReturnType<Store['list']> {
  for (;;) {
    try {
      return await work.store.list(null, { limit: rowsPerStep, ...(after !== undefined && { after }) })
    } catch (error) {
      if (!(error instanceof TurnwireError && error.retry)) throw error
      await work.pause(passMs)
    }
  }
}

function isOver(
  row: ListedRow,
  rule: Retention | undefined,
  newer: Map<string, number>,
  now: number,
): boolean {
  // A session at work is never deleted.
  if (!rule || row.status === 'running' || row.facts?.atWork) return false
  const isOld = rule.days !== undefined && row.updatedAt < now - rule.days * dayMs
  if (isOld) return true
  const bytes = (newer.get(row.agent) ?? 0) + row.bytes + row.blobBytes
  // One that waits for someone goes by its age only.
  const isBeyond = rule.bytes !== undefined && bytes > rule.bytes && row.status === 'idle'
  if (!isBeyond) newer.set(row.agent, bytes)
  return isBeyond
}

async function removed(work: RetentionWork, { owner, id }: SessionRow): Promise<boolean> {
  try {
    await work.remove({ owner, session: id })
    return true
  } catch (error) {
    // Another node has it and deletes it itself, or it was deleted meanwhile.
    if (hasCode(error, 'moved', 'session_not_found')) return false
    // The store fails now: the next walk sees it again.
    work.log('warn', 'An old session could not be deleted.', { session: id, error: wordsOf(error) })
    return false
  }
}
