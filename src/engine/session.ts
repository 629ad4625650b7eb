// One session in memory: the only place where its state changes. A command is decided and applied synchronously, so two
// commands never interleave; durability is awaited afterwards. If the store refuses a write, memory is ahead of the log:
// the session is dropped and read again when it is needed next.

import type { ResultPart } from '../language/content.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Ask, Event, Grant, Settings } from '../language/events.ts'
import type { Attachment } from './attachment.ts'
import type { RequestKey } from './boundary.ts'
import type { CompactionState } from './compact.ts'
import {
  awaited,
  type Context,
  type Decision,
  decideConfigure,
  decideGrant,
  decideRespond,
  decideRevoke,
  decideSay,
  type Respond,
  type Say,
} from './decide.ts'
import { decideCancel } from './decide-turn.ts'
import { Driver } from './driver.ts'
import { Feed } from './feed.ts'
import { IdenticalCalls } from './identical.ts'
import { Journal } from './journal.ts'
import { type Admissions, judgeEdit } from './judge.ts'
import { type Action, next, statusOf } from './next.ts'
import { type Offer, offerOf } from './offer.ts'
import type { Agent, EnginePorts, ModelMemory, ModelRequest, SessionStatus, Tool } from './ports.ts'
import { requestOf } from './request.ts'
import { findCall, type SessionState } from './state.ts'

/** A client's own results and a person's decisions, as a wire hands them over. */
export type Answers = {
  results: { callId: string; parts: ResultPart[]; failed?: boolean }[]
  decisions: (Omit<Decision, 'edit'> & { edit?: string })[]
  ask?: Ask
  settings?: Partial<Settings>
  request?: RequestKey
}

/**
 * `first` is the number of the first event of the request; `replayed`: it was accepted before, and nothing was done.
 * `turn` is the turn that it started or continued, which may be over by the time that it is durable.
 */
export type Recorded = { first: number; replayed: boolean; count: number; at: number; turn?: string }

export class Session {
  readonly state: SessionState
  readonly agent: Agent
  readonly feed: Feed
  readonly ports: EnginePorts
  readonly driver: Driver
  readonly #modelMemory: ModelMemory = {}
  /** Made when a call is judged; most open sessions wait for something. */
  admissions: Admissions | undefined
  readonly #id: Context['id']
  readonly #journal: Journal
  readonly #onLost: (session: Session, reason: unknown) => void
  #attached: readonly Tool[] = []
  /** What was last offered, and under which settings. */
  #offer: { settings: Settings; attached: readonly Tool[]; clientOnly: boolean; offer: Offer } | undefined
  readonly compaction: CompactionState = { busy: false, failedAt: 0 }
  #identical: { turn: string; calls: IdenticalCalls } | undefined
  stopping = false
  /** Readers, commands and attachments that need this copy to stay in memory. */
  uses = 0
  readonly attachments = new Set<Attachment>()

  constructor(
    ports: EnginePorts,
    agent: Agent,
    state: SessionState,
    epoch: number,
    onLost: (session: Session, reason: unknown) => void,
  ) {
    this.ports = ports
    this.agent = agent
    this.state = state
    this.#onLost = onLost
    this.feed = new Feed(state.seq, statusOf(state), error =>
      ports.log('error', 'A watcher failed and was removed.', {
        session: state.id,
        error: wordsOf(error),
      }),
    )
    this.#journal = new Journal(this, epoch)
    this.driver = new Driver(this)
    this.#id = prefix => ports.world.id(prefix)
  }

  get id(): string {
    return this.state.id
  }

  get status(): SessionStatus {
    return statusOf(this.state)
  }

  /** Nothing is happening in it and nobody needs this copy to stay. */
  get isIdle(): boolean {
    const { uses, status, feed, driver } = this
    return uses === 0 && status !== 'running' && !feed.watched && driver.callsRunning === 0 && this.clean
  }

  get lost(): boolean {
    return this.#journal.lost !== undefined
  }

  get context(): Context {
    return { agent: this.agent, now: this.ports.world.now(), id: this.#id }
  }

  get offer(): Offer {
    const { settings, turn } = this.state
    const clientOnly = turn?.ask?.clientOnly === true
    const known = this.#offer
    if (known?.settings === settings && known.attached === this.#attached && known.clientOnly === clientOnly)
      return known.offer
    const offer = offerOf(this.agent, settings, this.#attached, clientOnly)
    this.#offer = { settings, attached: this.#attached, clientOnly, offer }
    return offer
  }

  /**
   * Offers tools that live as long as a connection: an editor's files and terminals, servers that a client named. They pass
   * the same gate, and are gone after a restart until they are attached again.
   */
  attach(tools: readonly Tool[]): void {
    this.#attached = tools
  }

  get attached(): readonly Tool[] {
    return this.#attached
  }

  /** The repeated calls of the current turn. */
  get identicalCalls(): IdenticalCalls {
    const turn = this.state.turn?.id ?? ''
    if (this.#identical?.turn !== turn) this.#identical = { turn, calls: new IdenticalCalls() }
    return this.#identical.calls
  }

  /** What the model is asked next. */
  request(): ModelRequest {
    const { id, view, turn } = this.state
    const offered = { tools: this.offer.declarations, options: this.options() }
    const request = requestOf(this.agent, { session: id, history: view, ask: turn?.ask ?? {} }, offered)
    return { ...request, memory: this.#modelMemory }
  }

  next(): Action {
    return next(this.state, this.agent.limits)
  }

  /** With opened secrets and defaults. For tools and models only. */
  options(): Record<string, string> {
    const options: Record<string, string> = {}
    for (const { name, default: value } of this.agent.options) options[name] = value
    const chosen = this.state.settings.options
    for (const name of Object.keys(chosen)) {
      const value = chosen[name]!
      options[name] = typeof value === 'string' ? value : this.ports.vault.open(value.sealed)
    }
    return options
  }

  // ---- commands ------------------------------------------------------------------------------------------

  say(say: Say): Promise<Recorded> {
    return this.#accept(say.request, () => decideSay(this.state, say, this.context))
  }

  /** `afterStop`: refused while the turn still runs, although the calls wait already. */
  async respond(answers: Answers, afterStop = false): Promise<Recorded> {
    this.#refuseIfGone()
    // A repeated request finds its calls settled, so it is recognised before they are looked at.
    const replayed = this.#replayed(answers.request)
    if (replayed) return replayed
    if (afterStop) this.#refuseWhileRunning(answers)
    const { blobs, respond } = await this.#prepare(answers)
    for (const blob of blobs) await this.ports.store.putBlob(this.id, blob.name, blob.body)
    return this.#accept(answers.request, () => decideRespond(this.state, respond, this.context))
  }

  #refuseWhileRunning({ results, decisions }: Answers): void {
    if (this.status !== 'running') return
    const isOpen = ({ callId }: { callId: string }): boolean => {
      const stage = findCall(this.state, callId)?.stage
      return stage === 'handed' || stage === 'asking'
    }
    if ([...results, ...decisions].every(isOpen))
      throw new TurnwireError('busy', 'The turn is still running. Wait for it to stop, then answer.')
  }

  async configure(settings: Partial<Settings>): Promise<void> {
    this.#refuseIfGone()
    await this.save(decideConfigure(this.state, settings, this.context))
  }

  /** Remembers a permission, or a refusal, for calls to come. Gives its id. */
  async grant(grant: Omit<Grant, 'id'>): Promise<string> {
    this.#refuseIfGone()
    const given = decideGrant(grant, this.context)
    await this.save([given])
    return given.grant.id
  }

  async revoke(grantId: string, by: string): Promise<void> {
    this.#refuseIfGone()
    await this.save(decideRevoke(this.state, grantId, by, this.context))
  }

  /** Ends the turn now, whatever it is doing, and leaves a valid history. */
  async cancel(): Promise<boolean> {
    this.#refuseIfGone()
    if (!this.state.turn) {
      // The event that ended it may still be on its way to the store.
      await this.flushed()
      return false
    }
    const partial = this.driver.interruptStep()
    await this.save([...partial, ...decideCancel(this.state, this.context)])
    this.driver.wake()
    return true
  }

  /**
   * Replaces all but the newest entries that the model reads by a summary; the log stays whole. False: there was nothing
   * to replace.
   */
  async compact(): Promise<boolean> {
    this.#refuseIfGone()
    if (this.status === 'running')
      throw new TurnwireError('busy', 'A turn is running in this session. Wait for it to stop, or cancel it.')
    return this.driver.compact()
  }

  #accept(request: RequestKey | undefined, decide: () => Event[]): Promise<Recorded> {
    try {
      this.#refuseIfGone()
      const replayed = this.#replayed(request)
      if (replayed) return replayed
      const events = decide()
      const first = this.state.seq + 1
      const at = events[0]?.at ?? this.ports.world.now()
      this.ports.world.crashPoint('input-decided')
      this.record(events, true)
      const turn = this.state.turn?.id
      const durable = this.#journal.durable()
      this.driver.wake()
      const count = events.length
      return durable.then(() => ({ first, replayed: false, count, at, ...(turn !== undefined && { turn }) }))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** The answer that the same request got before, once that is durable; undefined for a new request. */
  #replayed(request: RequestKey | undefined): Promise<Recorded> | undefined {
    const before = request && this.state.requests.get(request.key)
    if (!before) return undefined
    if (before.hash !== request.hash)
      throw new TurnwireError('idempotency_conflict', 'This Idempotency-Key was used for another request.')
    return this.flushed().then(() => ({ first: before.seq, replayed: true, count: 0, at: 0 }))
  }

  async #prepare(answers: Answers): Promise<{ respond: Respond; blobs: { name: string; body: string }[] }> {
    const blobs: { name: string; body: string }[] = []
    const results = answers.results.map(({ callId, parts, failed }) => {
      const { outcome, blob } = this.agent.gate.finishClient(parts, failed === true, callId)
      // Kept only for an open call: an unknown id must leave no trace.
      if (blob && findCall(this.state, callId)?.stage === 'handed') blobs.push(blob)
      return { callId, outcome }
    })
    const decisions: Decision[] = []
    for (const { edit, ...decision } of answers.decisions) {
      if (edit === undefined || !decision.granted) decisions.push(decision)
      else decisions.push({ ...decision, edit: await this.#checkEdit(decision.callId, edit) })
    }
    const { ask, settings, request } = answers
    return {
      blobs,
      respond: {
        results,
        decisions,
        ...(ask && { ask }),
        ...(settings && { settings }),
        ...(request && { request }),
      },
    }
  }

  async #checkEdit(callId: string, text: string): Promise<{ text: string; argsHash: string }> {
    const call = awaited(this.state, callId, 'asking')
    const late = Promise.withResolvers<never>()
    late.promise.catch(() => {})
    const stopClock = this.ports.world.timer(this.agent.limits.time, () =>
      late.reject(new TurnwireError('invalid_edit', 'Policy has not judged the changed arguments in time.')),
    )
    try {
      const { argsHash } = await Promise.race([judgeEdit(this, call, text), late.promise])
      return { text, argsHash }
    } finally {
      stopClock()
    }
  }

  // ---- the log -------------------------------------------------------------------------------------------

  /** Applies events now and writes them soon. `deferrable`: they may wait up to the store's `lingerMs` for others. */
  record(events: readonly Event[], deferrable = false): void {
    this.#journal.record(events, deferrable)
  }

  /** Records events and waits until they are durable. */
  save(events: readonly Event[]): Promise<void> {
    this.#journal.record(events, false)
    return this.#journal.flushed()
  }

  /** Writes deferred events now: the loop rests. */
  flush(): void {
    this.#journal.flush()
  }

  /** Every event of the state is durable. */
  get clean(): boolean {
    return this.#journal.clean
  }

  /** Resolves when every event so far is durable. */
  flushed(): Promise<void> {
    return this.#journal.flushed()
  }

  /** This copy no longer counts: stops everything that runs for it and closes its feed. */
  lose(reason: unknown): void {
    if (this.lost) return
    const why = reason ?? new TurnwireError('internal', 'The session was lost.')
    this.#journal.lose(why)
    this.driver.abort(why)
    for (const attachment of this.attachments) attachment.close()
    this.#onLost(this, why)
    this.feed.close(why)
  }

  #refuseIfGone(): void {
    if (this.lost) throw this.#journal.lost
    if (this.stopping) throw new TurnwireError('stopping', 'Turnwire is stopping. Try again in a moment.')
  }
}
