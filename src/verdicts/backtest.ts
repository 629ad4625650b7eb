// Judges recorded calls by other rules, through the real gate, and compares the verdicts with those of the log. Each call is judged
// as its session stood then, at the time of then. Nothing runs, nothing is recorded and nobody is asked.
import {
  type Agent,
  emptyState,
  evolve,
  findCall,
  type JudgedCall,
  RecordedSession,
  type SessionRef,
  type SessionState,
  type Vault,
  VerdictFold,
} from '../engine/index.ts'
import { budgetToolName } from '../language/calls.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, Recorded } from '../language/events.ts'
import type { VerdictWord } from '../language/policy.ts'
import type { CaseVerdict } from './cases.ts'
import { inTimeOrder } from './time-order.ts'

/** The log of a session. It is read in pages, and only while its calls are judged. */
export type RecordedLog = {
  session: string
  createdAt: number
  /** Of its newest event. */
  updatedAt: number
  pages(): AsyncIterable<readonly Recorded[]>
}

export type BacktestOptions = {
  /** With the rules that are tried. */
  agents: readonly Agent[]
  /** Opens arguments that were sealed. Absent: such calls are not judged. */
  vault?: Vault
  /** Earlier calls are not judged; later ones still see them. */
  since?: number
  /** Called after each session. */
  step?(done: number, total: number): void
}

/** `verdict`: absent if the call could not be judged; `why` says the cause. */
export type DraftVerdict = {
  verdict?: CaseVerdict
  rule?: string
  reason?: string
  why?: 'sealed' | 'client' | 'no-agent' | 'no-tool'
  /** The tool is not known here; it was judged by its name. */
  isAssumed?: true
}

export type BacktestedCall = {
  session: string
  seq: number
  callId: string
  at: number
  agent: string
  tool: string
  then: { verdict: VerdictWord; rule: string }
  draft: DraftVerdict
  /** What a person decided. `changed`: they allowed it with other arguments. */
  decision?: { granted: boolean; by: string; reason?: string; changed?: true }
}

/** Gives `take` each call once its session has been read. */
export async function backtest(
  logs: readonly RecordedLog[],
  options: BacktestOptions,
  take: (call: BacktestedCall) => void,
): Promise<void> {
  const byId = new Map(logs.map(log => [log.session, log]))
  const parent = (ref: SessionRef, now: number): Promise<SessionState> => stateAt(byId, ref, now)
  const { since = 0 } = options
  const recent = logs.filter(({ updatedAt }) => updatedAt >= since)
  let done = 0
  const walk = async function* (log: RecordedLog): AsyncGenerator<DueCall, void, undefined> {
    const walked = new WalkedSession(log, options, parent)
    yield* walked.walk()
    for (const call of walked.calls.values()) take(call)
    done += 1
    options.step?.(done, recent.length)
  }
  // Rates count calls of several sessions, in the order of their times.
  if (options.agents.some(countsCalls)) {
    for await (const due of inTimeOrder(recent, walk)) await due.judge()
  } else for (const log of recent) for await (const due of walk(log)) await due.judge()
}

function countsCalls({ gate }: Agent): boolean {
  const { rules = [] } = gate.rules?.() ?? {}
  return rules.some(({ rule }) => rule['rate'] !== undefined)
}

/** A call that is to be judged before its session is read on. */
export type DueCall = { at: number; judge(): Promise<void> }

class WalkedSession {
  readonly calls = new Map<string, BacktestedCall>()
  readonly #log: RecordedLog
  readonly #options: BacktestOptions
  readonly #state: SessionState
  readonly #recorded: RecordedSession
  readonly #verdicts = new VerdictFold()
  #now = 0

  constructor(
    log: RecordedLog,
    options: BacktestOptions,
    parent: (ref: SessionRef, now: number) => Promise<SessionState>,
  ) {
    this.#log = log
    this.#options = options
    this.#state = emptyState(log.session)
    this.#recorded = new RecordedSession(this.#state, {
      agent: name => options.agents.find(agent => agent.name === name),
      vault: options.vault,
      parent: ref => parent(ref, this.#now),
      assumesTools: true,
    })
  }

  async *walk(): AsyncGenerator<DueCall, void, undefined> {
    const { since = 0 } = this.#options
    for await (const page of this.#log.pages())
      for (const { seq, event } of page) {
        const then = this.#verdicts.take(event)
        if (then?.type === 'verdict' && then.at >= since && this.#isOfGate(then.callId)) {
          const { at, agent, callId, tool, verdict, rule } = then
          const call = { session: this.#log.session, seq, callId, at, agent, tool, then: { verdict, rule } }
          yield { at, judge: () => this.#judge(call) }
        }
        this.#takeDecision(event)
        evolve(this.#state, event)
      }
  }

  /** The first verdict counts. A call that mirrors one of another session is judged there; budgets ask by a call of their own. */
  #isOfGate(callId: string): boolean {
    const call = findCall(this.#state, callId)
    return (
      call !== undefined &&
      call.mirrors === undefined &&
      call.part.name !== budgetToolName &&
      !this.calls.has(callId)
    )
  }

  /** The state is that before the verdict. */
  async #judge(call: Omit<BacktestedCall, 'draft'>): Promise<void> {
    this.#now = call.at
    const found = findCall(this.#state, call.callId)
    const judged = found ? await this.#recorded.judge(found, call.at) : { is: 'no-tool' as const }
    this.calls.set(call.callId, { ...call, draft: readDraft(judged) })
  }

  #takeDecision(event: Event): void {
    if (event.type === 'call.edited') {
      const call = this.calls.get(event.callId)
      if (call) call.decision = { granted: true, by: event.by, changed: true }
    } else if (event.type === 'approval.decided') {
      const call = this.calls.get(event.callId)
      if (!call) return
      const { granted, by, reason } = event
      const isChanged = granted && call.decision?.changed
      call.decision = {
        granted,
        by,
        ...(reason !== undefined && { reason }),
        ...(isChanged && { changed: true }),
      }
    }
  }
}

function readDraft(judged: JudgedCall): DraftVerdict {
  if (judged.is === 'invalid') return { verdict: 'invalid', reason: judged.reason }
  if (judged.is !== 'judged') return { why: judged.is }
  const { verdict, isAssumed } = judged
  return {
    verdict: verdict.verdict,
    rule: verdict.rule,
    ...('reason' in verdict && verdict.reason !== undefined && { reason: verdict.reason }),
    ...(isAssumed && { isAssumed }),
  }
}

/** Of a session whose call this one worked for, as it stood at the time. */
async function stateAt(
  logs: ReadonlyMap<string, RecordedLog>,
  { session }: SessionRef,
  now: number,
): Promise<SessionState> {
  const log = logs.get(session)
  if (!log) throw new TurnwireError('not_found', `The session ${session} is not among those that are read.`)
  const state = emptyState(session)
  for await (const page of log.pages())
    for (const { event } of page) {
      if (event.at > now) return state
      evolve(state, event)
    }
  return state
}
