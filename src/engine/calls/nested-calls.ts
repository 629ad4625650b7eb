// The calls of one running call: made, found again, waited for. The loop of the session decides about them as about any
// call; this only records that they were made and tells their parent how they ended.
import type { ResultPart } from '../../language/content.ts'
import type { Event } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Delegated, NestedCalls, NestedResult, ToolContext, ToolOutput } from '../ports/index.ts'
import { decideHandOver } from '../rules/decide-delegated.ts'
import {
  decideNested,
  findNested,
  nestedCalls,
  waitsForOthers,
  withNestedSettled,
  workersOfEnding,
} from '../rules/nested.ts'
import { type CallState, findCall, hasNested } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { Delegation } from './delegate.ts'

/**
 * Before events that end calls are recorded: the open calls of those calls are settled first, and the sessions that work
 * for suspended ones are ended.
 */
export function settleNested(session: CallSession, events: readonly Event[]): readonly Event[] {
  const { state } = session
  for (const worker of workersOfEnding(state, events))
    void session.subSessions.cancel({ owner: state.owner, session: worker })
  return hasNested(state) ? withNestedSettled(state, events, session.context) : events
}

/** Stops calls that ended with their parent, and wakes a loop whose suspended call can go on. */
export function tellSettled(session: CallSession, events: readonly Event[]): void {
  for (const event of events) {
    if (event.type !== 'call.settled') continue
    if (event.outcome.kind === 'cancelled') session.driver.abortCall(event.callId)
    if (findCall(session.state, event.callId)?.parent !== undefined) session.driver.wake()
  }
}

type Waiter = { call: CallState; resolve: (result: Promise<NestedResult>) => void }

export class NestedRun implements NestedCalls {
  readonly #session: CallSession
  readonly #parent: CallState
  /** By the id of the call. */
  readonly #open = new Map<string, Waiter>()
  readonly #told: (() => void)[] = []
  readonly #leave: () => void
  #delegation: Delegation | undefined
  /** How many results its parent was given. */
  seen = 0

  constructor(session: CallSession, parent: CallState) {
    this.#session = session
    this.#parent = parent
    this.#leave = session.watchRecords(() => this.look())
  }

  get tools(): readonly ToolDeclaration[] {
    const own = this.#parent.part.name
    return this.#session.offer.callable.filter(({ name }) => name !== own)
  }

  get since(): number {
    return this.#session.state.turn?.startedAt ?? 0
  }

  get isWaiting(): boolean {
    return this.#open.size > 0 && [...this.#open.values()].every(({ call }) => this.#waits(call))
  }

  get hasMade(): boolean {
    return nestedCalls(this.#session.state, this.#parent.part.id).length > 0
  }

  async call(key: string, name: string, text: string): Promise<NestedResult> {
    const call = this.#find(key) ?? this.#make(key, name, text)
    if (call.outcome) {
      this.seen += 1
      return this.#nestedResult(call)
    }
    return new Promise(resolve => {
      this.#open.set(call.part.id, { call, resolve })
      queueMicrotask(() => this.look())
    })
  }

  async delegate(task: Delegated, context: ToolContext): Promise<ToolOutput> {
    this.#session.driver.giveWay(this.#parent.part.id)
    this.#delegation = new Delegation(this.#session, this.#parent, task, context)
    return this.#delegation.finish(settled => {
      this.seen = settled
    })
  }

  handOver(name: string): void {
    const { ports, state, context } = this.#session
    const agent = ports.agent(name)
    if (!agent) throw new Error(`There is no agent named "${name}".`)
    this.#session.record([decideHandOver(this.#parent, agent, state.settings, context)])
  }

  onWaiting(told: () => void): void {
    this.#told.push(told)
    this.look()
  }

  /** The parent is over, or suspended. */
  close(): void {
    this.#open.clear()
    this.#told.length = 0
    this.#leave()
  }

  /** Something was recorded: gives results to those who wait for them, and tells if nothing can go on by itself. */
  look(): void {
    for (const [id, { call, resolve }] of this.#open) {
      if (!call.outcome) continue
      this.#open.delete(id)
      this.seen += 1
      resolve(this.#nestedResult(call))
    }
    this.#delegation?.changed()
    if (this.#told.length > 0 && this.isWaiting) for (const told of this.#told) told()
  }

  /** While the loop stands still, a call that was not started waits too. */
  #waits(call: CallState): boolean {
    const { stopping, state } = this.#session
    const isStill = stopping || state.controlledBy !== undefined
    return waitsForOthers(call) || (isStill && (call.stage === 'proposed' || call.stage === 'approved'))
  }

  #find(key: string): CallState | undefined {
    return findNested(this.#session.state, this.#parent.part.id, key)
  }

  #make(key: string, name: string, text: string): CallState {
    const session = this.#session
    const { state, context } = session
    if (session.lost || this.#parent.stage !== 'started')
      throw new Error('The call that makes this one is over.')
    if (state.turn?.limit !== undefined)
      throw new Error(`The turn has reached its limit of ${state.turn.limit}.`)
    const form = session.offer.byName.get(name)?.tool.input.form ?? 'json'
    session.driver.giveWay(this.#parent.part.id)
    session.record([decideNested(this.#parent, key, { name, form, text }, context)])
    session.driver.wake()
    const made = this.#find(key)
    if (!made) throw new Error('The call was not recorded.')
    return made
  }

  async #nestedResult({ part, text, editedBy, outcome }: CallState): Promise<NestedResult> {
    if (!outcome) throw new Error(`The call ${part.id} has no outcome.`)
    const result: NestedResult = { callId: part.id, outcome }
    if (editedBy !== undefined && text !== part.text) result.edited = text
    const whole = outcome.cut && (await this.#session.ports.store.blob(this.#session.id, outcome.cut.blob))
    if (whole === undefined) return result
    // The gate wrote it, from parts that it had made.
    return { ...result, outcome: { ...outcome, parts: JSON.parse(whole) as ResultPart[] } }
  }
}
