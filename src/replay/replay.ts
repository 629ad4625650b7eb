// Replays a recorded session through today's code and configuration, with nothing outside: the recording says what people
// did, what models answered and what tools gave, and when. The engine, the gate and the encoders are the real ones. The replay
// walks along the recorded events; each one that came from outside is done again, and then the session comes to rest.
import {
  type Agent,
  type Command,
  emptyState,
  evolve,
  type GivenDecision,
  LocalEngine,
  openArguments,
  type ReconcileAnswer,
  type Session,
  type SessionState,
  type Vault,
} from '../engine/index.ts'
import type { Outcome } from '../language/calls.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Event, ModelAnswered } from '../language/events.ts'
import { summaryQuestion } from '../language/flow.ts'
import { type Json, parseJson } from '../lib/json/index.ts'
import { present } from '../lib/json/present.ts'
import { memoryStore } from '../stores/memory.ts'
import { checkRequest } from './check-request.ts'
import {
  addUp,
  callKey,
  compareLogs,
  type Difference,
  findNewCalls,
  isSameCalls,
  isSameWay,
  type NewCall,
  type ReplayTotals,
} from './compare.ts'
import { goOn } from './go-on.ts'
import { RecordedInputs } from './inputs.ts'
import { cancelReason, cutParts, describeCalls, recordedAnswer } from './recorded-answer.ts'
import { isByCaller, listCallParts, type Recording } from './recording.ts'
import { ReplayWorld } from './replay-world.ts'
import { type HeldCall, type HeldRequest, Stage } from './stage.ts'

export type ReplayOptions = {
  agents: readonly Agent[]
  /** Opens arguments that were sealed. Absent: they are replayed as they were redacted. */
  vault?: Vault
  /**
   * Models are asked really: at each step, and the recorded answers are only compared with theirs; or only from where the session
   * goes another way.
   */
  live?: boolean | 'once-left'
  /** Another thing from the event with this number on. `leave`: why nothing that was recorded after it answers. */
  change?: { at: number; make: () => void; leave?: string }
  /** Outcomes in place of the recorded ones, by the id of the call. */
  outcomes?: ReadonlyMap<string, Outcome>
  /** Ends it while models are asked. */
  signal?: AbortSignal
  /** The bodies of the requests as a replay without a change made them, by the number of the event that answered. */
  bodies?: ReadonlyMap<number, string>
  /** Decides about calls that the recording has no decision for. Default: allow, as no tool runs. */
  people?: 'allow' | 'reject'
  /** Gives the output of calls that are not in the recording, by the name of the tool. Others get a text that says so. */
  simulate?: Readonly<Record<string, Simulation>>
}

export type Simulation = (input: unknown) => unknown

export type ReplayReport = {
  session: string
  /** The requests to models: how many were compared, and of those how many by the digest of the bytes that were sent. */
  requests: { compared: number; byBytes: number }
  differences: Difference[]
  /** Where the session went another way than the recorded one. */
  left?: { seq: number; why: string }
  /** The calls that were made in place of recorded ones. */
  newCalls: NewCall[]
  then: ReplayTotals
  now: ReplayTotals
  /** The log of the replay. */
  log: readonly Event[]
  /** The bodies of the requests, by the number of the recorded event that answered them. */
  bodies: ReadonlyMap<number, string>
}

export async function replay(recording: Recording, options: ReplayOptions): Promise<ReplayReport> {
  const run = new Replay(recording, options)
  try {
    return await run.play()
  } finally {
    await run.close()
  }
}

/** Nothing that was sealed can be opened. */
const noVault: Vault = { seal: () => 'sealed', open: () => '' }

/** How often nothing may have happened before a session counts as at rest. */
const calmTicks = 4

const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export class Replay {
  readonly recording: Recording
  readonly options: ReplayOptions
  readonly world: ReplayWorld
  readonly stage: Stage
  readonly differences: Difference[] = []
  left: ReplayReport['left']
  /** The session as it was recorded, up to the event before the current one. */
  readonly then: SessionState
  readonly #engine: LocalEngine
  readonly #inputs: RecordedInputs
  #session: Session | undefined
  #at = 0
  #compared = 0
  #byBytes = 0
  readonly #bodies = new Map<number, string>()
  #refused: unknown
  /** The request whose interrupted answer was shown. */
  #shown: HeldRequest | undefined

  constructor(recording: Recording, options: ReplayOptions) {
    this.recording = recording
    this.options = options
    this.outcomes = new Map(options.outcomes)
    this.world = new ReplayWorld(recording)
    this.then = emptyState(recording.session)
    this.#inputs = new RecordedInputs(recording, (callId, text) => this.exactText(callId, text))
    this.stage = new Stage(
      callId => this.outcomes.get(callId) ?? this.#recordedOutcome(callId),
      call => this.#started(call),
      callId => this.#found(callId),
    )
    const agents = new Map(options.agents.map(agent => [agent.name, this.stage.agent(agent)]))
    this.#engine = new LocalEngine({
      store: memoryStore(),
      world: this.world,
      vault: options.vault ?? noVault,
      agent: name => agents.get(name),
      hooks: { beforeCall: ({ callId }) => this.#hookAnswer(callId) },
      log: () => {},
    })
  }

  /** The outcomes of calls that are not recorded, but for the same arguments as one that is, and those that are changed. */
  readonly outcomes: Map<string, Outcome>

  get session(): Session {
    if (!this.#session) throw new TurnwireError('internal', 'The replay has no session yet.')
    return this.#session
  }

  /** The number of the recorded event that is replayed now. */
  get seq(): number {
    return this.#at + 1
  }

  async play(): Promise<ReplayReport> {
    await this.#create()
    const { events } = this.recording
    for (this.#at = 1; this.#at < events.length && !this.left; this.#at++) {
      const event = events[this.#at]!
      this.world.moveTo(event.at)
      const change = this.options.change?.at === this.seq ? this.options.change : undefined
      change?.make()
      await this.#take(event)
      evolve(this.then, event)
      if (change?.leave !== undefined) this.leave(change.leave)
    }
    if (this.left) await goOn(this)
    await this.session.flushed()
    const log = (await this.#engine.events(this.#ref, 0, Number.MAX_SAFE_INTEGER)).map(({ event }) => event)
    this.differences.push(...compareLogs(this.recording, log, this.left?.seq))
    return {
      session: this.recording.session,
      requests: { compared: this.#compared, byBytes: this.#byBytes },
      differences: this.differences.sort((a, b) => a.seq - b.seq),
      ...present({ left: this.left }),
      newCalls: findNewCalls(this.recording, log),
      then: addUp(events),
      now: addUp(log),
      log,
      bodies: this.#bodies,
    }
  }

  async close(): Promise<void> {
    // The engine waits for calls that run, and these wait for the replay.
    for (const call of [...this.stage.calls.values()]) call.finish()
    await this.#engine.stop(0)
  }

  get #ref(): { owner: string; session: string } {
    return { owner: this.recording.created.owner, session: this.recording.session }
  }

  async #create(): Promise<void> {
    const { owner, agent, wire, settings, seed } = this.recording.created
    evolve(this.then, this.recording.created)
    // Options that were secret are not needed: no tool runs. A session that worked for another one is replayed by itself.
    this.#session = await this.#engine.sessions.create({
      owner,
      agent,
      wire,
      settings,
      seed,
      clientOnly: true,
    })
  }

  /** What a hook or a person in control did to a call before the gate judged it. The hooks themselves are not run. */
  #hookAnswer(callId: string): { input: Json } | { refuse: string } | undefined {
    const { change } = this.recording.calls.get(callId) ?? {}
    if (!change || 'refuse' in change) return change
    return { input: parseJson(this.exactText(callId, change)) }
  }

  // ---- the walk ------------------------------------------------------------------------------------------

  async #take(event: Event): Promise<void> {
    if (event.type === 'model.answered') await this.#answer(event)
    else if (event.type === 'call.settled') await this.#settle(event)
    else if (event.type === 'turn.ended') await this.#end(event)
    else if (event.type === 'history.compacted') await this.#compact(event)
    else if (event.type === 'approval.expired' || event.type === 'question.expired') this.world.fireDue()
    else if ('callId' in event && this.#tellCall(event)) await this.rest()
    else if (event.type === 'call.nested' && !event.mirrors) this.#makeNested(event)
    const command = this.#inputs.command(this.#at, this.session.state)
    if (command) await this.command(command)
  }

  /** What a running call did. False: nothing of it is done by the call itself. */
  #tellCall(event: Extract<Event, { callId: string }>): boolean {
    const call = this.stage.calls.get(event.callId)
    if (!call) return false
    if (event.type === 'question.asked') call.ask(event)
    else if (event.type === 'call.suspended' && !this.#isDelegated(event.callId)) call.suspend()
    else if (event.type === 'agent.changed') call.handOver(event.agent)
    else if (event.type === 'call.postponed')
      call.finish({ parts: [], later: { expiresInMs: event.expiresAt - event.at } })
    else return false
    return true
  }

  #isDelegated(callId: string): boolean {
    return this.then.batch.some(({ part, delegated }) => part.id === callId && delegated)
  }

  #makeNested({ parent, key, call: { id, name, text } }: Extract<Event, { type: 'call.nested' }>): void {
    const held = this.stage.calls.get(parent)
    if (!held) return
    this.world.expect('call', [id])
    held.makeCall(key, name, text)
  }

  /** As it was found then. The outcome that was found takes the place of the first one. */
  #found(callId: string): ReconcileAnswer {
    // Before it is settled, its recorded outcome has what was found.
    if (this.#stageOf(callId) === 'started') return 'unknown'
    const found = this.recording.events.findLast(
      event => event.type === 'call.reconciled' && event.callId === callId,
    )
    if (found?.type !== 'call.reconciled') return 'unknown'
    if (found.found !== 'ran') return found.found
    if (found.outcome) this.outcomes.set(callId, found.outcome)
    return { ran: { parts: [] } }
  }

  /** A call runs again after a suspension: it makes the calls again that it made before, and gets the same ones. */
  #started({ callId }: HeldCall): void {
    if (this.left) return
    const made = this.then.batch.filter(({ parent, mirrors }) => parent === callId && !mirrors)
    for (const { key = '', part } of made) this.stage.calls.get(callId)?.makeCall(key, part.name, part.text)
  }

  #callNow(callId: string): SessionState['batch'][number] | undefined {
    return this.session.state.batch.find(({ part }) => part.id === callId)
  }

  #stageOf(callId: string): string | undefined {
    return this.#callNow(callId)?.stage
  }

  #recordedOutcome(callId: string): Outcome | undefined {
    return this.#isUneditedNow(callId) ? undefined : this.recording.calls.get(callId)?.outcome
  }

  /** A person had given the call other arguments, and now it runs with those of the model: what was recorded is of another call. */
  #isUneditedNow(callId: string): boolean {
    const recorded = this.recording.calls.get(callId)
    const call = this.#callNow(callId)
    if (!recorded?.wasEdited || !call || call.editedBy !== undefined) return false
    return callKey(recorded.part) !== callKey({ ...recorded.part, text: recorded.text })
  }

  // ---- the model -----------------------------------------------------------------------------------------

  async #answer(event: ModelAnswered): Promise<void> {
    if (isByCaller(event) || event.stop === 'cancelled') return
    await this.rest()
    const held = this.stage.request
    if (!held) {
      this.leave(`The model answered here. Now the session ${this.stage.describeRest(this.session.state)}.`)
      return
    }
    const known = this.options.bodies?.get(this.seq)
    const place = { view: this.then.view, seq: this.seq, ...present({ known }) }
    const checked = checkRequest(held, event, place)
    if (checked.body !== undefined) this.#bodies.set(this.seq, checked.body)
    this.#compared += 1
    if (checked.byBytes) this.#byBytes += 1
    if (checked.difference) this.differences.push(checked.difference)
    const isOnWay = isSameWay(this.then.view, held.request.history)
    if (!isOnWay) this.leave('The calls before this step came to something else than they did.')
    if (this.options.live === true) await this.#askLive(event)
    else if (isOnWay) {
      this.world.expect(
        'call',
        listCallParts(event).map(({ id }) => id),
      )
      held.answer(recordedAnswer(event, held.model.id, part => this.exactText(part.id, part)))
    }
    await this.rest()
  }

  async #askLive(event: ModelAnswered): Promise<void> {
    const held = this.stage.request
    if (!held) return
    const ids = listCallParts(event).map(({ id }) => id)
    await held.askModel(answer => {
      if (this.left) return
      if (isSameCalls(event, answer)) this.world.expect('call', ids)
      else this.leave(`The model made other calls: ${describeCalls(answer)}.`)
    })
  }

  /** The arguments as they were given, if they were sealed and can be opened. */
  exactText(callId: string, { text, sealed }: { text: string; sealed?: string }): string {
    const { vault = noVault } = this.options
    return (sealed !== undefined && openArguments(vault, { callId, sealed })) || text
  }

  async #compact(event: Extract<Event, { type: 'history.compacted' }>): Promise<void> {
    if (!this.stage.request) await this.command({ do: 'compact' })
    const at = event.entries.findIndex(
      ({ role, ...entry }) =>
        role === 'user' && 'parts' in entry && JSON.stringify(entry.parts).includes(summaryQuestion),
    )
    const summary = event.entries[at + 1]
    const parts = summary?.role === 'assistant' ? summary.parts.filter(part => part.type === 'text') : []
    this.stage.request?.answer({ parts, stop: 'end', ...present({ usage: event.usage }) })
    await this.rest()
  }

  // ---- calls and turns -----------------------------------------------------------------------------------

  async #settle({ callId, outcome }: Extract<Event, { type: 'call.settled' }>): Promise<void> {
    await this.rest()
    const { kind } = outcome
    // They come with a message, or with the end of their turn or their parent.
    if (kind === 'abandoned' || (kind === 'cancelled' && this.#endsWithMore(callId))) return
    if (this.#stageOf(callId) === 'asking' && kind !== 'cancelled') await this.decide(callId)
    const held = this.stage.calls.get(callId)
    const stage = this.#stageOf(callId)
    if (kind === 'cancelled' && stage !== 'settled' && stage !== undefined) {
      const by = outcome.from.source === 'person' ? outcome.from.by : 'replay'
      const reason = cancelReason(outcome)
      await this.command({ do: 'cancel-call', callId, by, ...present({ reason }) })
    } else if (held && this.#isUneditedNow(callId))
      this.leave(
        `${held.tool.name} runs with the model's arguments now. What was recorded is of those that a person had given it.`,
      )
    else if (held) held.finish()
    else if (stage === 'handed')
      await this.command({ do: 'respond', results: [{ callId, parts: [] }], decisions: [] })
    else if (stage === 'postponed') await this.#complete(callId)
    await this.rest()
  }

  async #complete(callId: string): Promise<void> {
    this.world.fireDue()
    await this.rest()
    if (this.#stageOf(callId) === 'postponed')
      await this.command({ do: 'complete', callId, output: { parts: [] } })
  }

  /** Whether the call was cancelled together with its turn, its parent, or by a message that interrupted. */
  #endsWithMore(callId: string): boolean {
    const rest = this.recording.events.slice(this.#at + 1)
    const next = rest.find(({ type }) => type !== 'call.settled' && type !== 'question.withdrawn')
    if (next?.type === 'turn.ended') return true
    return this.then.batch.some(({ part, parent }) => part.id === callId && parent !== undefined)
  }

  /** Today a person is asked about this call. `known`: what the recording has of a decision. */
  async decide(callId: string, known?: Omit<GivenDecision, 'callId'>): Promise<void> {
    const assumed = { granted: this.options.people !== 'reject', by: 'replay' }
    const decisions = [{ ...(known ?? assumed), callId }]
    await this.command({ do: 'respond', results: [], decisions })
  }

  async #end({ stop, error, turn }: Extract<Event, { type: 'turn.ended' }>): Promise<void> {
    await this.rest()
    if (this.session.state.turn?.id !== turn || stop === 'abandoned') return
    if (stop === 'error' && this.stage.request && error)
      this.stage.request.fail(new TurnwireError(error.code, error.message))
    else if (stop === 'cancelled' || stop === 'limit') await this.command({ do: 'cancel' })
    await this.rest()
    if (this.session.state.turn?.id === turn)
      this.leave(
        `The turn ended here (${stop}). Now the session ${this.stage.describeRest(this.session.state)}.`,
      )
  }

  // ---- the session ---------------------------------------------------------------------------------------

  /** Carries the command out and waits until the session rests. What refuses it is reported. */
  async command(command: Command): Promise<void> {
    await this.rest()
    this.#refused = undefined
    this.#engine.command(this.#ref, command).catch(error => {
      this.#refused = error
    })
    await this.rest()
    if (this.#refused === undefined) return
    this.leave(`"${command.do}" is refused now: ${wordsOf(this.#refused)}`)
  }

  /** Until nothing happens any more without the replay. */
  async rest(): Promise<void> {
    let seen = -1
    for (let calm = 0; calm < calmTicks; ) {
      await tick()
      const { state, lost } = this.session
      if (lost)
        throw this.session.lostBecause ?? new TurnwireError('internal', 'The replayed session was lost.')
      const isCalm = state.seq === seen && this.stage.isHeld(state)
      calm = isCalm ? calm + 1 : 0
      seen = state.seq
      this.#showCut()
    }
  }

  /** A model that was interrupted had shown something: it is shown again before the interruption comes. */
  #showCut(): void {
    const held = this.stage.request
    if (!held || this.#shown === held || this.left) return
    this.#shown = held
    for (const { type, text } of cutParts(this.recording.events.slice(this.#at))) held.watch({ type, text })
  }

  leave(why: string): void {
    this.left ??= { seq: this.seq, why }
  }
}
