// A call that an agent carries out in a session of its own. This follows that session: its usage counts for the turn of
// the call, a call that waits there is shown and decided here as a nested call, and its last text is the result. All
// of its state is in the two logs, so it can be run again at any point.
import { joinText } from '../../language/content.ts'
import { wordsOf } from '../../language/errors.ts'
import type { Event, Recorded } from '../../language/events.ts'
import { hashJson } from '../../lib/json/hash.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import type { FollowItem, GivenDecision, GivenResult, SessionRef } from '../ports/boundary.ts'
import { type Delegated, Suspended, type ToolContext, type ToolOutput } from '../ports/index.ts'
import { decideSettled } from '../rules/decide-call.ts'
import { decideDelegated, decideMirror, decideUsed } from '../rules/decide-delegated.ts'
import { isSpent, remainingBudget } from '../rules/limits.ts'
import { findNested, nestedCalls, waitsForOthers } from '../rules/nested.ts'
import type { CallState, SessionState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { exactText } from './hidden-arguments.ts'

const deepest = 5

export class Delegation {
  readonly #session: CallSession
  readonly #call: CallState
  readonly #task: Delegated
  readonly #context: Pick<ToolContext, 'ask' | 'progress' | 'signal'>
  /** Questions of the other session that are asked here now. */
  readonly #asking = new Set<string>()
  #wake: (() => void) | undefined

  constructor(
    session: CallSession,
    call: CallState,
    task: Delegated,
    context: Pick<ToolContext, 'ask' | 'progress' | 'signal'>,
  ) {
    this.#session = session
    this.#call = call
    this.#task = task
    this.#context = context
  }

  /** `seen`: told how many nested calls were settled before it is suspended. */
  async finish(seen: (settled: number) => void): Promise<ToolOutput> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return failed(refusal)
    const ref = await this.#open()
    const { signal } = this.#context
    const stop = (): void => {
      // An engine that stops, or a session that was lost, goes on with both later.
      if (!this.#session.lost && !this.#session.stopping) void this.#home.cancel(ref)
    }
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await this.#work(ref, seen)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Something was recorded in the session of the call. */
  changed(): void {
    this.#wake?.()
  }

  get #home(): CallSession['subSessions'] {
    return this.#session.subSessions
  }

  #refusal(): string | undefined {
    if (this.#call.delegated) return undefined
    if ((this.#session.state.parent?.depth ?? 0) >= deepest)
      return `The agent was not asked: agents work for agents at most ${deepest} deep.`
    return isSpent(this.#session) ? 'The agent was not asked: the turn has used its budget.' : undefined
  }

  // ---- the session -----------------------------------------------------------------------------------------

  async #open(): Promise<SessionRef> {
    const session = this.#session
    const { owner, id, settings, parent } = session.state
    const callId = this.#call.part.id
    const { agent, text, clientTools } = this.#task
    const known = this.#call.delegated
    let ref: SessionRef = { owner, session: known?.session ?? '' }
    if (!known) {
      const shared = settings.clientTools.filter(
        ({ name }) => clientTools === true || clientTools?.includes(name),
      )
      ref = await this.#home.make(
        {
          owner,
          agent,
          wire: 'agent',
          settings: { tools: null, options: {}, clientTools: shared },
          seed: [],
          parent: { session: id, call: callId, depth: (parent?.depth ?? 0) + 1 },
          caps: remainingBudget(session, this.#task.limits),
        },
        `agent:${id}:${callId}`,
      )
      if (!this.#call.delegated && this.#call.stage === 'started')
        session.record([decideDelegated(this.#call, agent, ref.session, session.context)])
    }
    const parts = [{ type: 'text' as const, text }]
    const request = { key: 'task', hash: hashJson(text) }
    const { requesters } = session.state.turn ?? {}
    await this.#home.command(ref, {
      do: 'say',
      wire: 'agent',
      parts,
      request,
      ...(requesters && { requesters }),
    })
    return ref
  }

  async #work(ref: SessionRef, seen: (settled: number) => void): Promise<ToolOutput> {
    for (;;) {
      await this.#follow(ref)
      const state = await this.#home.state(ref)
      if (!state.turn) return delegatedOutput(state)
      if (await this.#tell(ref, state)) continue
      await this.#untilAnswered(seen)
    }
  }

  /** Until it rests or waits. */
  async #follow(ref: SessionRef): Promise<void> {
    const from = (this.#call.delegated?.upTo ?? 0) + 1
    for await (const batch of this.#home.follow(ref, from, this.#context.signal))
      for (const item of batch) await this.#take(ref, item)
  }

  async #take(ref: SessionRef, item: FollowItem): Promise<void> {
    if (item.type === 'lost') {
      // It goes on after the restart, and so does this call.
      if (this.#session.stopping || item.error.code === 'stopping') throw new Suspended()
      throw new Unanswered(`The session in which the agent works was lost. ${item.error.message}`)
    }
    if (item.type !== 'event') return
    this.#show(item.event)
    if (item.event.type === 'call.settled') this.#settle(item.event)
    const used = decideUsed(this.#call, item, this.#session.context)
    if (!used || item.seq <= (this.#call.delegated?.upTo ?? 0) || this.#call.stage !== 'started') return
    this.#session.record([used], true)
    if (isSpent(this.#session)) await this.#home.cancel(ref)
  }

  #show(event: Recorded['event']): void {
    if (event.type !== 'model.answered') return
    const names = event.parts.flatMap(part => (part.type === 'call' ? [part.name] : []))
    if (names.length > 0) this.#context.progress({ message: `${this.#task.agent} calls ${names.join(', ')}` })
  }

  #settle({ callId, outcome }: Extract<Event, { type: 'call.settled' }>): void {
    const mirror = findNested(this.#session.state, this.#call.part.id, callId)
    if (mirror && mirror.stage !== 'settled')
      this.#session.record([decideSettled(mirror, outcome, this.#session.context)])
  }

  // ---- what waits there -----------------------------------------------------------------------------------------

  /** Shows here what waits there, and tells there what was decided here. True: it was told something. */
  async #tell(ref: SessionRef, state: SessionState): Promise<boolean> {
    const decisions: GivenDecision[] = []
    const results: GivenResult[] = []
    for (const call of state.batch) {
      for (const question of call.questions ?? []) if (!question.closed) this.#ask(ref, question)
      if (call.stage !== 'asking' && call.stage !== 'handed') continue
      const mirror = findNested(this.#session.state, this.#call.part.id, call.part.id)
      if (!mirror) this.#session.record(decideMirror(this.#call, call, ref.session, this.#session.context))
      else if (mirror.outcome?.from.source === 'client') results.push(passResult(mirror, call))
      else if (mirror.decided || mirror.outcome) decisions.push(this.#passDecision(mirror, call))
    }
    if (decisions.length + results.length === 0) return false
    await this.#home.command(ref, { do: 'respond', results, decisions, skipAnswered: true })
    return true
  }

  #passDecision(mirror: CallState, { part: { id: callId } }: CallState): GivenDecision {
    const { granted, by, reason, remember, people } = mirror.decided ?? {
      granted: false,
      by: 'runtime',
      reason: 'it is over in the session that it worked for',
    }
    const text = mirror.editedBy === undefined ? undefined : exactText(this.#session.ports.vault, mirror)
    return {
      callId,
      granted,
      by,
      ...(reason !== undefined && { reason }),
      ...(remember && { remember }),
      ...(people && { people }),
      ...(granted && text !== undefined && { edit: text }),
    }
  }

  #ask(ref: SessionRef, question: NonNullable<CallState['questions']>[number]): void {
    const { id, message, schema, url } = question
    if (this.#asking.has(id)) return
    this.#asking.add(id)
    const asked =
      url === undefined
        ? { message, schema: schema ?? { type: 'object' as const, properties: {} } }
        : { message, url }
    this.#context
      .ask(asked, { key: id, signal: this.#context.signal })
      .then(async ({ action, ...answer }) => {
        const by = this.#session.state.owner
        const content = 'content' in answer && answer.content ? { content: answer.content } : {}
        const answers = [{ question: id, action, by, ...content }]
        await this.#home.command(ref, { do: 'respond', results: [], decisions: [], answers })
      })
      .catch(error => {
        this.#session.ports.log('warn', 'An answer did not reach the agent that asked.', {
          session: ref.session,
          error: wordsOf(error),
        })
      })
      .finally(() => {
        this.#asking.delete(id)
        this.#wake?.()
      })
  }

  /** Until something that was shown here is decided. Without a question that is asked from here, the call is suspended. */
  async #untilAnswered(seen: (settled: number) => void): Promise<void> {
    const mirrors = nestedCalls(this.#session.state, this.#call.part.id)
    const isWaiting = mirrors.every(call => call.stage === 'settled' || waitsForOthers(call))
    const waits = mirrors.some(waitsForOthers)
    if (this.#asking.size === 0 && isWaiting && waits) {
      seen(mirrors.filter(({ stage }) => stage === 'settled').length)
      throw new Suspended()
    }
    if (this.#asking.size === 0) return
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
    this.#wake = undefined
  }
}

function passResult({ outcome }: CallState, { part: { id: callId } }: CallState): GivenResult {
  return { callId, parts: outcome?.parts ?? [], ...(outcome?.kind !== 'ok' && { failed: true }) }
}

/** The text of its last answer. */
function delegatedOutput({ entries, lastStop }: SessionState): ToolOutput {
  const last = entries.findLast(entry => entry.role === 'assistant')
  const text = last?.role === 'assistant' ? joinText(last.parts) : ''
  const { stop = 'end', limit, error } = lastStop ?? {}
  if (stop === 'end') return { parts: [{ type: 'text', text: text || 'The agent ended without an answer.' }] }
  const reason = limit === undefined ? (error?.message ?? stop) : `its limit of ${limit}`
  return failed(`The agent did not finish: ${reason}.${text === '' ? '' : `\nIts last words: ${text}`}`)
}

function failed(text: string): ToolOutput {
  return { parts: [{ type: 'text', text }], failed: true }
}
