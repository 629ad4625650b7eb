// The loop of a turn: it asks `next` what to do, does it through the ports and records what came of it, until only a
// person or the application can go on. There is one loop for every wire, vendor and output mode.

import type { Outcome } from '../../language/calls.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { charsToTokens, estimateTokens } from '../../language/estimate-tokens.ts'
import type { Event, ModelAnswered } from '../../language/events.ts'
import { toolHash } from '../../language/tools.ts'
import { Abort } from '../../lib/async/abort.ts'
import { judgeAll, type Starting } from '../calls/judge.ts'
import { checkUnclear, runCall } from '../calls/run-call.ts'
import { RunningCalls } from '../calls/running-calls.ts'
import { newStep, type Step } from '../log/step.ts'
import { decideStart } from '../rules/decide-call.ts'
import {
  type CutStep,
  decideAnswer,
  type decideCancel,
  decideCutAnswer,
  decideEnd,
  decideFailure,
  decideInterrupted,
  decideOutOfTime,
  withRetries,
  withShown,
} from '../rules/decide-turn.ts'
import type { Action } from '../rules/next.ts'
import type { Offered } from '../rules/offer.ts'
import type { CallState } from '../rules/state.ts'
import { askModel } from './ask-model.ts'
import { preparations } from './features.ts'
import { logWarnings } from './log-warnings.ts'
import type { TurnLoop, TurnSession } from './turn-session.ts'

export class Driver implements TurnLoop {
  readonly #session: TurnSession
  readonly #running: RunningCalls
  readonly #clock: TurnClock
  /** Calls whose tools are asked what became of them. */
  #checking: Set<string> | undefined
  #performing = false
  #step: Step | undefined
  /** Aborts with the turn, so that policy or a summary that never ends does not block the next turn. */
  #turn = new Abort()
  #active = false
  #loop: Promise<void> = Promise.resolve()
  #poke: (() => void) | undefined
  /** Set while calls are judged: ends the wait for that. */
  #leaveJudging: (() => void) | undefined

  constructor(session: TurnSession) {
    this.#session = session
    this.#running = new RunningCalls(session.ports.callSlots, session.agent.callsAtOnce)
    this.#clock = new TurnClock(session, () => this.outOfTime())
  }

  /** Something changed: continues if there is anything to do. */
  wake(): void {
    if (this.#poke) {
      const poke = this.#poke
      this.#poke = undefined
      poke()
    } else if (!this.#active) this.#loop = this.#drive()
  }

  /** A call asked a person something. */
  asked(): void {
    if (!this.#isBusy) this.#running.quiet()
    this.wake()
  }

  /** A call is running that does not wait for a person. */
  get #isBusy(): boolean {
    return this.#running.size > 0 && this.#session.state.status === 'running'
  }

  /** Resolves when the loop has come to rest and no call is running, but for calls that wait for a person's answer. */
  async settle(): Promise<void> {
    while (this.#active || this.#isBusy) {
      await this.#loop
      if (this.#isBusy) await this.#running.whenQuiet()
    }
  }

  /** Resolves when every started call has returned, including aborted ones. A tool may never return. */
  returned(): Promise<void> {
    return this.#running.whenReturned()
  }

  get callsRunning(): number {
    return this.#running.size
  }

  async #drive(): Promise<void> {
    const session = this.#session
    this.#active = true
    let stopClock = this.#clock.start()
    try {
      for (;;) {
        if (session.lost || session.stopping || session.state.controlledBy !== undefined) return
        const { turn } = session.state
        if (turn && turn.id !== this.#clock.worked.turn) {
          stopClock()
          stopClock = this.#clock.start()
        }
        const action = session.next()
        if (action.do === 'rest' || action.do === 'wait') return
        const left = action.do === 'await' ? this.#leftOver(action.calls) : []
        if (left.length > 0) await this.repeat(left)
        else if (action.do === 'await') await this.#untilPoked()
        else {
          const doing = action.do === 'judge' ? this.#judgeAndRun(action.calls) : this.perform(action)
          if (doing) await doing
        }
      }
    } catch (error) {
      if (!session.lost) session.lose(error)
    } finally {
      stopClock()
      this.#active = false
      session.flush()
    }
  }

  #untilPoked(): Promise<void> {
    return new Promise(resolve => {
      this.#poke = resolve
    })
  }

  /** Does one action. Gives a promise only if there is something to wait for. */
  perform(action: Action): Promise<void> | undefined {
    switch (action.do) {
      case 'judge':
        return this.#judge(action.calls)
      case 'run':
        return this.#start(action.calls)
      case 'ask-model':
        return this.#ask()
      case 'end':
        this.#session.record(decideEnd(this.#session.state, action, this.#session.context))
        return undefined
      case 'await':
        return this.repeat(this.#leftOver(action.calls))
      case 'wait':
      case 'rest':
        return undefined
    }
  }

  /** Calls of an earlier process that recovery did not repeat: the session was under manual control, or they asked. */
  #leftOver(calls: readonly CallState[]): CallState[] {
    return calls.filter(call => !this.#running.has(call.part.id) && !call.mirrors)
  }

  get performing(): boolean {
    return this.#performing
  }

  /** One action under manual control, with everything that it starts. Only one at a time. */
  async performAlone(action: Action): Promise<void> {
    if (this.#performing) throw new TurnwireError('busy', 'An action is being performed. Wait for it.')
    this.#performing = true
    const stopClock = this.#clock.start()
    try {
      await this.perform(action)
      await this.settle()
    } finally {
      stopClock()
      this.#performing = false
    }
  }

  // ---- calls ---------------------------------------------------------------------------------------------

  #start(calls: readonly CallState[]): Promise<void> | undefined {
    const changed = calls.filter(call => !this.#asShown(call))
    if (changed.length > 0) return this.#judge(changed)
    const room = this.#running.room.take(calls.length, this.#running.counted)
    return room > 0 ? this.#startAll(calls.slice(0, room)) : this.#untilRoom()
  }

  /** Until a call of this turn or of another session has ended, or there is something else to do. */
  async #untilRoom(): Promise<void> {
    const forget = this.#running.room.whenFree(() => this.wake())
    await this.#untilPoked()
    forget()
  }

  /**
   * Calls that were started before a crash and may be repeated. They keep their keys. An answer that came during the recovery
   * may have woken the loop, which has started them then.
   */
  async repeat(calls: readonly CallState[]): Promise<void> {
    const left = calls.filter(call => !this.#running.has(call.part.id))
    this.#running.room.force(left.length)
    return this.#startAll(left)
  }

  /** Their tools are asked what became of these calls. They count as running from now on, so that nobody starts them. */
  check(calls: readonly CallState[], unclear: () => Outcome): void {
    const { byName } = this.#session.offer
    for (const call of calls) {
      const offered = byName.get(call.part.name)
      if (offered?.side !== 'server') continue
      this.#running.room.force(1)
      const stop = this.#running.add(call.part.id)
      this.#running.entered()
      this.#checking ??= new Set()
      this.#checking.add(call.part.id)
      checkUnclear(this.#session, call, offered.tool, stop, unclear(), () => {
        this.#checking?.delete(call.part.id)
        this.#running.left()
        this.#ran(call.part.id, stop)
      })
    }
  }

  isChecking(callId: string): boolean {
    return this.#checking?.has(callId) === true
  }

  /** Records the start, then runs. There is room for them. */
  async #startAll(calls: readonly CallState[]): Promise<void> {
    if (calls.length === 0) return
    const session = this.#session
    session.ports.world.crashPoint?.('intent-decided')
    const { context } = session
    session.record(calls.map(call => decideStart(call, context)))
    return this.#runOnceDurable(calls)
  }

  /** Their starts are recorded. From here on they count as running, so that nobody else starts them. */
  async #runOnceDurable(calls: readonly CallState[]): Promise<void> {
    const session = this.#session
    const stops = calls.map(call => this.#running.add(call.part.id))
    await session.flushed()
    const { byName } = session.offer
    for (let index = 0; index < calls.length; index++) {
      const call = calls[index]!
      const stop = stops[index]!
      if (session.lost || call.stage !== 'started' || stop.aborted) this.#ran(call.part.id, stop)
      else this.#run(call, byName.get(call.part.name), stop)
    }
  }

  #run(call: CallState, offered: Offered | undefined, stop: Abort): void {
    this.#running.entered()
    runCall(this.#session, call, offered, stop, () => {
      this.#running.left()
      this.#ran(call.part.id, stop)
    })
  }

  #ran(callId: string, stop: Abort): void {
    this.#running.over(callId, stop)
    // While other calls run there is nothing new to do. A decision that changes this wakes the loop itself.
    if (this.#running.counted === 0 || this.#running.room.isWanted) this.wake()
    else if (!this.#isBusy) this.asked()
  }

  /** How long the loop has worked on the current turn. */
  get workedMs(): number {
    return this.#clock.workedMs
  }

  /** The call makes calls of its own, and holds no place while they run. */
  giveWay(callId: string): void {
    this.#running.giveWay(callId)
  }

  /** Nobody waits for this call any more. */
  abortCall(callId: string): void {
    if (!this.#running.has(callId)) this.#leaveJudging?.()
    this.#running.abort(callId, new TurnwireError('stopping', 'The call was cancelled.'))
  }

  /** Calls that may run are started with the verdict. */
  #judgeAndRun(calls: readonly CallState[]): Promise<void> | undefined {
    const starting: Starting = {
      calls: [],
      take: () => this.#running.room.take(1, this.#running.counted + starting.calls.length) > 0,
    }
    const judging = this.#judge(calls, starting)
    if (starting.calls.length === 0) return judging
    const running = this.#runOnceDurable(starting.calls)
    return judging ? Promise.all([judging, running]).then(() => {}) : running
  }

  #judge(calls: readonly CallState[], starting?: Starting): Promise<void> | undefined {
    const judging = judgeAll(this.#session, calls, starting)
    return judging && this.#untilJudged(judging)
  }

  /** Until they are judged, the turn is ended, or one of them is cancelled: the others are then judged anew. */
  async #untilJudged(judging: Promise<void>): Promise<void> {
    const turn = this.#turn
    const left = Promise.withResolvers<void>()
    this.#leaveJudging = left.resolve
    try {
      await Promise.race([turn.until(judging), left.promise])
    } catch (error) {
      if (!turn.aborted) throw error
    } finally {
      if (this.#leaveJudging === left.resolve) this.#leaveJudging = undefined
    }
  }

  /** An approval holds for the tool that was shown: a tool that changed or went away since is judged again. */
  #asShown(call: CallState): boolean {
    const offered = this.#session.offer.byName.get(call.part.name)
    return call.stage === 'approved' && offered !== undefined && toolHash(offered.tool) === call.toolHash
  }

  // ---- the model -----------------------------------------------------------------------------------------

  async #ask(): Promise<void> {
    const session = this.#session
    const { state, agent, feed, ports } = session
    const step = newStep(new Abort())
    this.#step = step
    const number = (state.turn?.steps ?? 0) + 1
    try {
      for (const { isUsed, do: prepare } of preparations) {
        const preparing = isUsed(session) && prepare(session, step.stop)
        if (preparing && (await preparing) === true) return
      }
      if (step.over) return
      // They were about the calls of the last answer.
      session.admissions = undefined
      feed.delta({ type: 'step.started', step: number })
      ports.world.crashPoint?.('model-asked')
      const model = agent.model(state.settings)
      step.model = model.id
      const answer = await askModel(session, model, step, number)
      if (step.over) return
      ports.world.crashPoint?.('model-answered')
      if (answer.warnings) logWarnings(ports, model.id, answer.warnings)
      const answered = decideAnswer(answer, answer.model ?? model.id, step.calls, session.context)
      if (step.withheld) answered.withheld = step.withheld
      if (step.retries) answered.retries = step.retries
      session.record([answered], true)
    } catch (error) {
      if (!step.over) this.#fail(error, step)
    } finally {
      step.over = true
      if (this.#step === step) this.#step = undefined
    }
  }

  get turnSignal(): AbortSignal {
    return this.#turn.signal
  }

  #fail(error: unknown, step: Step): void {
    const session = this.#session
    const { state, ports } = session
    if (!state.turn) return
    ports.log('error', 'The model step failed.', {
      session: state.id,
      code: error instanceof TurnwireError ? error.code : 'internal',
      error: wordsOf(error),
    })
    const failed = withShown(decideFailure(state, error, session.context), this.#cut(step).shown)
    session.record(step.retries ? withRetries(failed, step.retries) : failed)
  }

  // ---- interruption --------------------------------------------------------------------------------------

  /** Stops the model step and all calls. Gives the partial answer of the step and the end of the turn, to record. */
  interrupt(decideRest: typeof decideCancel): Event[] {
    const { state, context } = this.#session
    const step = this.#step
    this.abort(new TurnwireError('stopping', 'The turn was ended.'))
    const end = decideRest(state, context)
    return step ? decideInterrupted(this.#counted(step), end, context) : end
  }

  /** Stops the model step and nothing else. Gives its partial answer, to record. */
  cutStep(): ModelAnswered[] {
    const step = this.#step
    if (!step || step.over) return []
    step.over = true
    step.stop.abort(new TurnwireError('stopping', 'A message has interrupted the model.'))
    return decideCutAnswer(this.#counted(step), this.#session.context)
  }

  #cut({ model, said, isUnseen }: Step): CutStep {
    return { model, said, shown: isUnseen ? [] : said.filter(({ text }) => text !== '') }
  }

  /** With about what it has used. A model that has given nothing has used nothing that could be counted. */
  #counted(step: Step): CutStep {
    const { written } = step
    if (written === 0) return this.#cut(step)
    const cut = { input: estimateTokens(this.#session.request()), output: charsToTokens(written) }
    return { ...this.#cut(step), cut }
  }

  abort(reason: unknown): void {
    this.#turn.abort(reason)
    this.#turn = new Abort()
    if (this.#step) {
      this.#step.over = true
      this.#step.stop.abort(reason)
    }
    this.#running.abortAll(reason)
    // The loop has nothing left to wait for.
    if (this.#poke) this.wake()
  }

  /** Stops the model step and records nothing: the model is asked again when the session is recovered. */
  dropStep(reason: unknown): void {
    // Calls that wait for room are not started any more.
    if (this.#running.room.isWanted) this.wake()
    if (!this.#step) return
    this.#step.over = true
    this.#step.stop.abort(reason)
  }

  /** The turn has used its time: everything that runs is stopped, and the turn ends with a valid history. */
  outOfTime(): void {
    const session = this.#session
    if (session.lost || !session.state.turn || session.state.status !== 'running') return
    session.record(this.interrupt(decideOutOfTime))
    this.wake()
  }
}

/** How long the loop may work on a turn. Time in which it waits for people or the application does not count. */
class TurnClock {
  readonly #session: Pick<TurnSession, 'ports' | 'limits' | 'state'>
  readonly #outOfTime: () => void
  /** The turn that it was last started for, and how long it ran for it. */
  worked = { turn: '', ms: 0 }
  #began: number | undefined

  constructor(session: Pick<TurnSession, 'ports' | 'limits' | 'state'>, outOfTime: () => void) {
    this.#session = session
    this.#outOfTime = outOfTime
  }

  /** How long the loop has worked on the current turn. */
  get workedMs(): number {
    const { state, ports } = this.#session
    if (this.worked.turn !== state.turn?.id) return 0
    return this.worked.ms + (this.#began === undefined ? 0 : Math.max(ports.world.elapsed() - this.#began, 0))
  }

  /** Limits the turn to the time it has left. Gives a function that stops the clock and adds up the time used. */
  start(): () => void {
    const { ports, limits, state } = this.#session
    const turn = state.turn?.id ?? ''
    if (this.worked.turn !== turn) this.worked = { turn, ms: 0 }
    const worked = this.worked
    const began = ports.world.elapsed()
    this.#began = began
    const stop = ports.world.timer(Math.max(limits.time - worked.ms, 0), this.#outOfTime)
    return () => {
      stop()
      this.#began = undefined
      worked.ms += Math.max(ports.world.elapsed() - began, 0)
    }
  }
}
