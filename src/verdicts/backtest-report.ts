// What a backtest found: how many calls the draft would allow, ask about and deny, where a person had decided otherwise, and how many
// questions it saves.
import type { VerdictWord } from '../language/policy.ts'
import type { BacktestedCall } from './backtest.ts'

/**
 * A person's decision and the draft's verdict that goes against it:
 * - `unasked`: it would have run with nobody asked, and the person refused it, or allowed it only with other arguments;
 * - `denied`: it would have been denied, and the person allowed it.
 */
export type Conflict = {
  is: 'unasked' | 'denied'
  person: 'rejected' | 'changed' | 'allowed'
  by: string
  call: BacktestedCall
}

/** Calls of one tool whose verdict changes in the same way. */
export type VerdictChange = {
  tool: string
  then: BacktestedCall['then']
  draft: { verdict: string; rule?: string }
  calls: number
  /** The first of them. */
  example: { session: string; callId: string }
}

type Counts = Record<VerdictWord, number>

export type BacktestReport = {
  /** No person had decided otherwise, no rule failed, and there was a call to judge. */
  ok: boolean
  sessions: number
  /** Calls that were judged. */
  calls: number
  from?: number
  to?: number
  then: Counts
  draft: Counts & { invalid: number }
  asks: { then: number; draft: number; saved: number; added: number }
  conflicts: Conflict[]
  /** The most frequent first. */
  changes: VerdictChange[]
  /** Calls that could not be judged, by the cause. */
  unjudged: Partial<Record<NonNullable<BacktestedCall['draft']['why']>, number>>
  /** Tools that are not known here: their calls were judged by the name. */
  assumed: Record<string, number>
  /** Rules that threw, which denies the call. */
  failures: { rule: string; error: string; calls: number }[]
}

export class BacktestFold {
  readonly #sessions = new Set<string>()
  readonly #then: Counts = { allow: 0, ask: 0, deny: 0 }
  readonly #draft = { allow: 0, ask: 0, deny: 0, invalid: 0 }
  readonly #asks = { saved: 0, added: 0 }
  readonly #conflicts: Conflict[] = []
  readonly #changes = new Map<string, VerdictChange>()
  readonly #unjudged: BacktestReport['unjudged'] = {}
  readonly #assumed: BacktestReport['assumed'] = {}
  readonly #failures = new Map<string, BacktestReport['failures'][number]>()
  #times: { from: number; to: number } | undefined

  take(call: BacktestedCall): void {
    const { then, draft, session, at } = call
    this.#sessions.add(session)
    if (draft.verdict === undefined) {
      const { why = 'no-tool' } = draft
      this.#unjudged[why] = (this.#unjudged[why] ?? 0) + 1
      return
    }
    const { from, to } = this.#times ?? { from: at, to: at }
    this.#times = { from: Math.min(from, at), to: Math.max(to, at) }
    this.#then[then.verdict] += 1
    this.#draft[draft.verdict] += 1
    if (draft.isAssumed) this.#assumed[call.tool] = (this.#assumed[call.tool] ?? 0) + 1
    if (then.verdict === 'ask' && draft.verdict !== 'ask') this.#asks.saved += 1
    if (then.verdict !== 'ask' && draft.verdict === 'ask') this.#asks.added += 1
    if (then.verdict !== draft.verdict) this.#addChange(call)
    const conflict = findConflict(call)
    if (conflict) this.#conflicts.push(conflict)
  }

  /** A rule that throws denies the call. */
  fail(rule: string, error: string): void {
    const key = JSON.stringify([rule, error])
    const known = this.#failures.get(key)
    if (known) known.calls += 1
    else this.#failures.set(key, { rule, error, calls: 1 })
  }

  report(): BacktestReport {
    const calls = this.#then.allow + this.#then.ask + this.#then.deny
    const failures = [...this.#failures.values()]
    const conflicts = this.#conflicts.sort((a, b) => a.call.at - b.call.at)
    return {
      ok: calls > 0 && conflicts.length === 0 && failures.length === 0,
      sessions: this.#sessions.size,
      calls,
      ...this.#times,
      then: this.#then,
      draft: this.#draft,
      asks: { then: this.#then.ask, draft: this.#draft.ask, ...this.#asks },
      conflicts,
      changes: [...this.#changes.values()].sort((a, b) => b.calls - a.calls),
      unjudged: this.#unjudged,
      assumed: this.#assumed,
      failures,
    }
  }

  #addChange({ tool, then, draft, session, callId }: BacktestedCall): void {
    const { verdict = '', rule } = draft
    const key = JSON.stringify([tool, then.verdict, then.rule, verdict, rule])
    const known = this.#changes.get(key)
    if (known) {
      known.calls += 1
      return
    }
    const now = { verdict, ...(rule !== undefined && { rule }) }
    this.#changes.set(key, { tool, then, draft: now, calls: 1, example: { session, callId } })
  }
}

function findConflict(call: BacktestedCall): Conflict | undefined {
  const { decision, draft } = call
  if (!decision) return undefined
  const { granted, by, changed } = decision
  if (draft.verdict === 'allow' && !granted) return { is: 'unasked', person: 'rejected', by, call }
  if (draft.verdict === 'allow' && changed) return { is: 'unasked', person: 'changed', by, call }
  const isRefused = draft.verdict === 'deny' || draft.verdict === 'invalid'
  return isRefused && granted ? { is: 'denied', person: 'allowed', by, call } : undefined
}
