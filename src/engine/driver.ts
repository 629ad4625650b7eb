// The turn. It asks `next` what to do, does it through the ports, and records what came of it, until only a person
// or the application can go on. There is one loop for every wire, vendor and output mode.

import { publicError, TurnwireError, wordsOf } from '../language/errors.ts'
import type { Event } from '../language/events.ts'
import { toolHash } from '../language/tools.ts'
import { Abort } from '../lib/abort.ts'
import { compact, isCompactionDue, tryCompaction } from './compact.ts'
import { decideAnswer, decideOutOfTime, intent } from './decide.ts'
import { judgeAll } from './judge.ts'
import type { Action } from './next.ts'
import type { Offered } from './offer.ts'
import { runCall } from './run-call.ts'
import type { Session } from './session.ts'
import type { CallState } from './state.ts'
import { callIds, newStep, type Step, translate } from './step.ts'

export class Driver {
  readonly #session: Session
  /** How many calls have not returned yet, also those that were aborted and are no longer waited for. */
  #alive = 0
  #awaitingReturn: (() => void)[] | undefined
  readonly #running = new Map<string, Abort>()
  #awaitingQuiet: (() => void)[] | undefined
  /** How long the loop has worked at which turn: waiting for people does not count. */
  #worked = { turn: '', ms: 0 }
  #performing = false
  #step: Step | undefined
  /** Aborts with the turn: what may never end by itself must not hold up what comes after. */
  #turn = new Abort()
  #active = false
  #loop: Promise<void> = Promise.resolve()
  #poke: (() => void) | undefined

  constructor(session: Session) {
    this.#session = session
  }

  /** Something changed: go on if there is anything to do. */
  wake(): void {
    if (this.#poke) {
      const poke = this.#poke
      this.#poke = undefined
      poke()
    } else if (!this.#active) this.#loop = this.#drive()
  }

  /** Resolves when the loop has come to rest and no call is running. */
  async settle(): Promise<void> {
    while (this.#active || this.#running.size > 0) {
      await this.#loop
      if (this.#running.size > 0)
        await new Promise<void>(resolve => {
          this.#awaitingQuiet ??= []
          this.#awaitingQuiet.push(resolve)
        })
    }
  }

  /** No call is waited for any more. */
  #quiet(): void {
    const waiting = this.#awaitingQuiet
    this.#awaitingQuiet = undefined
    for (const resolve of waiting ?? []) resolve()
  }

  /** Resolves when every call that was started has returned, the aborted ones too. A tool may never do that. */
  async returned(): Promise<void> {
    if (this.#alive === 0) return
    await new Promise<void>(resolve => {
      this.#awaitingReturn ??= []
      this.#awaitingReturn.push(resolve)
    })
  }

  get callsRunning(): number {
    return this.#running.size
  }

  async #drive(): Promise<void> {
    const session = this.#session
    this.#active = true
    let stopClock = this.#startClock()
    try {
      for (;;) {
        if (session.lost || session.stopping || session.state.controlledBy !== undefined) return
        if (session.state.turn && session.state.turn.id !== this.#worked.turn) {
          stopClock()
          stopClock = this.#startClock()
        }
        const action = session.next()
        if (action.do === 'rest' || action.do === 'wait') return
        if (action.do === 'await') await this.#untilPoked()
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
      session.hurry()
    }
  }

  /** Gives what is left of the turn's time, and a function that stops the clock and remembers what was used. */
  #startClock(): () => void {
    const { ports, agent, state } = this.#session
    const turn = state.turn?.id ?? ''
    if (this.#worked.turn !== turn) this.#worked = { turn, ms: 0 }
    const worked = this.#worked
    const began = ports.world.now()
    const stop = ports.world.timer(Math.max(agent.limits.time - worked.ms, 0), () => this.outOfTime())
    return () => {
      stop()
      worked.ms += Math.max(ports.world.now() - began, 0)
    }
  }

  #untilPoked(): Promise<void> {
    return new Promise(resolve => {
      this.#poke = resolve
    })
  }

  /** Does one action and no more. Gives a promise only if there is something to wait for. */
  perform(action: Action): Promise<void> | undefined {
    switch (action.do) {
      case 'judge':
        return this.#judge(action.calls)
      case 'run':
        return this.#start(action.calls)
      case 'ask-model':
        return this.#ask()
      case 'end':
        this.#end(action)
        return undefined
      case 'await': {
        // Started by a process that is gone, and left to whoever holds the wheel.
        const left = action.calls.filter(call => !this.#running.has(call.part.id))
        return this.run(left)
      }
      case 'wait':
      case 'rest':
        return undefined
    }
  }

  get performing(): boolean {
    return this.#performing
  }

  /** One action by someone's hand, with all that it starts. Only one at a time. */
  async performAlone(action: Action): Promise<void> {
    if (this.#performing) throw new TurnwireError('busy', 'An action is being performed. Wait for it.')
    this.#performing = true
    const stopClock = this.#startClock()
    try {
      await this.perform(action)
      await this.settle()
    } finally {
      stopClock()
      this.#performing = false
    }
  }

  #end(action: Extract<Action, { do: 'end' }>): void {
    const { state, context } = this.#session
    if (!state.turn) return
    const ended = {
      v: 1,
      at: context.now,
      type: 'turn.ended',
      turn: state.turn.id,
      stop: action.stop,
    } as const
    this.#session.record([action.limit === undefined ? ended : { ...ended, limit: action.limit }])
  }

  // ---- calls ---------------------------------------------------------------------------------------------

  #start(calls: readonly CallState[]): Promise<void> | undefined {
    const changed = calls.filter(call => !this.#asShown(call))
    return changed.length > 0 ? this.#judge(changed) : this.run(calls)
  }

  /**
   * Records the intent, then runs. Also for calls that were started before a crash and may be repeated: they keep
   * their keys.
   */
  async run(calls: readonly CallState[]): Promise<void> {
    if (calls.length === 0) return
    const session = this.#session
    session.ports.world.crashPoint('intent-decided')
    const { context } = session
    session.record(calls.map(call => intent(call, context)))
    return this.#runOnceDurable(calls)
  }

  /** Their intents are recorded. From here on they count as running: nobody else may start them. */
  async #runOnceDurable(calls: readonly CallState[]): Promise<void> {
    const session = this.#session
    const stops = calls.map(call => {
      const stop = new Abort()
      this.#running.set(call.part.id, stop)
      return stop
    })
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
    this.#alive += 1
    runCall(this.#session, call, offered, stop, () => {
      this.#alive -= 1
      if (this.#alive === 0) this.#allReturned()
      this.#ran(call.part.id, stop)
    })
  }

  #allReturned(): void {
    const waiting = this.#awaitingReturn
    this.#awaitingReturn = undefined
    for (const resolve of waiting ?? []) resolve()
  }

  #ran(callId: string, stop: Abort): void {
    if (this.#running.get(callId) === stop) this.#running.delete(callId)
    // While others run there is nothing new to do: a decision that changes this wakes the loop itself.
    if (this.#running.size > 0) return
    this.#quiet()
    this.wake()
  }

  /** What may run is started with the verdict. */
  #judgeAndRun(calls: readonly CallState[]): Promise<void> | undefined {
    const starting: CallState[] = []
    const judging = this.#judge(calls, starting)
    if (starting.length === 0) return judging
    const running = this.#runOnceDurable(starting)
    return judging ? Promise.all([judging, running]).then(() => {}) : running
  }

  #judge(calls: readonly CallState[], starting?: CallState[]): Promise<void> | undefined {
    const judging = judgeAll(this.#session, calls, starting)
    const turn = this.#turn
    return (
      judging &&
      turn.until(judging).catch(error => {
        if (!turn.aborted) throw error
      })
    )
  }

  /** What was approved is what was shown: a tool that changed or went away since then is judged anew. */
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
      if (isCompactionDue(session)) await tryCompaction(session, step.stop.signal)
      if (step.over) return
      session.admissions = undefined
      feed.delta({ type: 'step.started', step: number })
      ports.world.crashPoint('model-asked')
      const model = agent.model(state.settings)
      step.model = model.id
      const answering = model.respond(
        session.request(),
        delta => {
          if (step.over) return
          const shown = translate(step, delta, number, ports.world)
          if (shown) feed.delta(shown)
        },
        step.stop.signal,
      )
      const answer = await step.stop.until(answering)
      if (step.over) return
      ports.world.crashPoint('model-answered')
      session.record([decideAnswer(answer, model.id, callIds(step), session.context)], true)
    } catch (error) {
      if (!step.over) this.#fail(error)
    } finally {
      step.over = true
      if (this.#step === step) this.#step = undefined
    }
  }

  /** By someone's wish, not by the loop's: it is stopped with the turn that begins meanwhile, and with the session. */
  async compact(): Promise<boolean> {
    const { ports, agent } = this.#session
    const late = new AbortController()
    const stopClock = ports.world.timer(agent.limits.time, () =>
      late.abort(new TurnwireError('model_timeout', 'The summary took longer than a turn may.')),
    )
    try {
      return await compact(this.#session, AbortSignal.any([this.#turn.signal, late.signal]))
    } finally {
      stopClock()
    }
  }

  #fail(error: unknown): void {
    const session = this.#session
    const { state, ports } = session
    if (!state.turn) return
    const { code, message } = publicError(error)
    ports.log('error', 'The model step failed.', {
      session: state.id,
      code: error instanceof TurnwireError ? error.code : 'internal',
      error: wordsOf(error),
    })
    session.record([
      {
        v: 1,
        at: ports.world.now(),
        type: 'turn.ended',
        turn: state.turn.id,
        stop: 'error',
        error: { code, message },
      },
    ])
  }

  // ---- interruption --------------------------------------------------------------------------------------

  /** Stops the step in flight and all calls. Gives what the step had said so far, as events yet to be recorded. */
  interruptStep(): Event[] {
    const session = this.#session
    const step = this.#step
    this.abort(new TurnwireError('stopping', 'The turn was ended.'))
    if (!step || step.text === '') return []
    const { text } = step
    const { model } = step
    const at = session.ports.world.now()
    return [{ v: 1, at, type: 'model.answered', parts: [{ type: 'text', text }], stop: 'cancelled', model }]
  }

  abort(reason: unknown): void {
    this.#turn.abort(reason)
    this.#turn = new Abort()
    if (this.#step) {
      this.#step.over = true
      this.#step.stop.abort(reason)
    }
    const running = [...this.#running.values()]
    // Told to stop, and no longer waited for: a tool that does not listen must not hold up what comes after.
    this.#running.clear()
    for (const stop of running) stop.abort(reason)
    this.#quiet()
    // The loop must see that there is nothing left to wait for.
    if (this.#poke) this.wake()
  }

  /** Stops the step in flight without a trace: it is asked again when the session is taken up. */
  dropStep(reason: unknown): void {
    if (!this.#step) return
    this.#step.over = true
    this.#step.stop.abort(reason)
  }

  /** The turn has used its time: what runs is stopped, and the turn ends with a history that can be continued. */
  outOfTime(): void {
    const session = this.#session
    if (session.lost || !session.state.turn || session.status !== 'running') return
    const partial = this.interruptStep()
    session.record([...partial, ...decideOutOfTime(session.state, session.context)])
    this.wake()
  }
}
