// Makes a log by valid commands from a tape of numbers: each choice takes the next number, and a tape that has run out
// gives zeros. fast-check shrinks the tape, and with it the log.

import { next, sessionStatus } from '../../src/engine/index.ts'
import type { ModelAnswer } from '../../src/engine/ports/index.ts'
import type { Context, Respond } from '../../src/engine/rules/commands.ts'
import { decideConfigure, decideCreate, decideRespond, decideSay } from '../../src/engine/rules/decide.ts'
import { decideCancelCall, decideSettled, decideStart } from '../../src/engine/rules/decide-call.ts'
import {
  decideInterruption,
  decideJoined,
  decideQueued,
  decideStartedBy,
  decideTakeBack,
  nextMessage,
} from '../../src/engine/rules/decide-message.ts'
import {
  decideAnswer,
  decideCancel,
  decideCutAnswer,
  decideOutOfTime,
  decideRecovery,
} from '../../src/engine/rules/decide-turn.ts'
import { evolve } from '../../src/engine/rules/evolve.ts'
import { outcomes } from '../../src/engine/rules/outcomes.ts'
import { type CallState, emptyState, type SessionState } from '../../src/engine/rules/state.ts'
import { type Event, type Recorded, waitModes } from '../../src/language/events.ts'
import { defaultLimits } from '../../src/policy/index.ts'
import { clientTool, makeAgent, plainSettings } from '../engine/rig.ts'

/** The gate limits how many calls run, and there is no gate here. */
const limits = { ...defaultLimits, steps: 4 }
const agent = makeAgent({ agent: { limits } })
const clientTools = [clientTool('mine')]
/** A client tool, a server tool that needs approval, and a trusted server tool. */
const names = ['mine', 'asked', 'trusted'] as const

export class Tape {
  readonly #numbers: readonly number[]
  #at = 0

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers
  }

  get over(): boolean {
    return this.#at >= this.#numbers.length
  }

  /** From 0 up to, not including, `count`. */
  choose(count: number): number {
    const number = this.#numbers[this.#at] ?? 0
    this.#at += 1
    return number % count
  }
}

export class Grown {
  readonly state: SessionState = emptyState('sess_1')
  readonly log: Recorded[] = []
  /** The number of the first event of each request, and how many events were its own. */
  readonly requests: { first: number; own: number }[] = []
  readonly tape: Tape
  readonly limits = limits
  #ids = 0

  constructor(tape: Tape) {
    this.tape = tape
    const settings = { ...plainSettings, clientTools }
    this.take(decideCreate({ owner: 'ana', agent: 'helper', wire: 'test', settings, seed: [] }, this.context))
  }

  get context(): Context {
    return { agent, now: 1000 + this.state.seq, id: prefix => `${prefix}_${++this.#ids}` }
  }

  take(given: readonly Event[]): void {
    for (const event of this.#withNextTurn(given)) {
      evolve(this.state, event)
      this.log.push({ seq: this.state.seq, event })
    }
  }

  /** A message that waits starts a turn with the events that end the one before, as the engine records it. */
  #withNextTurn(events: readonly Event[]): readonly Event[] {
    const isEnd = events.some(({ type }) => type === 'turn.ended')
    const message = nextMessage(this.state.messages ?? [])
    if (!isEnd || !message || events.some(({ type }) => type === 'turn.started')) return events
    return [...events, ...decideStartedBy(this.state, message, undefined, this.context)]
  }

  request(decide: (key: string) => Event[]): void {
    const first = this.state.seq + 1
    const events = decide(`key_${first}`)
    this.take(events)
    this.requests.push({ first, own: events.length })
  }

  /** One action of a person, the application, the loop or a restart. */
  step(): void {
    const { tape, state } = this
    const status = sessionStatus(state)
    const choice = tape.choose(9)
    if (choice === 8 && state.turn) this.#message()
    else if (choice === 0 && status !== 'running') this.#say()
    else if (choice === 1 && tape.choose(3) === 0) this.take(decideCancel(state, this.context))
    else if (choice === 2 && status !== 'running')
      this.take(
        decideConfigure(state, { clientTools: tape.choose(2) === 0 ? [] : clientTools }, this.context),
      )
    else if (choice === 3 && status === 'running' && tape.choose(4) === 0)
      this.take(decideOutOfTime(state, this.context))
    else if (choice === 4) this.take(decideRecovery(state, () => tape.choose(2) === 0, this.context))
    else if (status === 'waiting') this.#respond()
    else if (status === 'running') this.#move()
    else this.#say()
  }

  #say(): void {
    this.request(key =>
      decideSay(
        this.state,
        {
          parts: [{ type: 'text', text: 'hello' }],
          wire: 'test',
          ...(this.tape.choose(2) === 0 && { request: { key, hash: 'h' } }),
        },
        this.context,
      ),
    )
  }

  /** Said while a turn is under way, withdrawn, or a call that is stopped alone. */
  #message(): void {
    const { state, tape, context } = this
    const open = state.batch.filter(call => call.stage !== 'settled')
    const doing = tape.choose(6)
    if (doing === 0 && state.messages)
      this.take([decideTakeBack(state, { message: state.messages[0]!.id, by: 'ana' }, context)])
    else if (doing === 1 && open.length > 0)
      this.take(decideCancelCall(state, { callId: open[0]!.part.id, by: 'ana' }, context))
    else {
      const during = waitModes[tape.choose(3)]!
      const say = { parts: [{ type: 'text' as const, text: 'and also' }], wire: 'test' }
      const queued = decideQueued(state, say, during, context)
      const isAsked = next(state, this.limits).do === 'ask-model' && tape.choose(2) === 0
      const step = { model: 'sim', said: [], shown: [{ type: 'text' as const, text: 'wor' }] }
      const cut = isAsked ? decideCutAnswer({ ...step, cut: { input: 1, output: 1 } }, context) : []
      const stopped = decideInterruption(state, queued, cut, () => undefined, context)
      this.take(during === 'interrupt' ? [queued, ...stopped] : [queued])
    }
  }

  #respond(): void {
    const open = this.state.batch.filter(call => call.stage === 'handed' || call.stage === 'asking')
    const chosen = open.filter((_, at) => at === 0 || this.tape.choose(2) === 0)
    const respond: Respond = { results: [], decisions: [] }
    for (const { part, stage } of chosen)
      if (stage === 'handed') respond.results.push({ callId: part.id, outcome: outcomes.failed('x', 'mine') })
      else respond.decisions.push({ callId: part.id, granted: this.tape.choose(2) === 0, by: 'ana' })
    this.request(key =>
      decideRespond(
        this.state,
        this.tape.choose(2) === 0 ? { ...respond, request: { key, hash: 'h' } } : respond,
        this.context,
      ),
    )
  }

  /** The next action of the loop, with any possible result. */
  #move(): void {
    const action = next(this.state, this.limits)
    const { now } = this.context
    if (action.do === 'ask-model') this.take(decideJoined(this.state, this.context))
    if (action.do === 'ask-model') this.take([decideAnswer(this.#answer(), 'sim', [], this.context)])
    else if (action.do === 'judge') for (const call of action.calls) this.take([this.#verdict(call)])
    else if (action.do === 'run')
      for (const call of action.calls) this.take([decideStart(call, this.context)])
    else if (action.do === 'await') {
      const call = action.calls[this.tape.choose(action.calls.length)]!
      this.take([decideSettled(call, outcomes.timeout(5), this.context)])
    } else if (action.do === 'end' && this.state.turn)
      this.take([{ v: 1, at: now, type: 'turn.ended', turn: this.state.turn.id, stop: action.stop }])
  }

  #answer(): ModelAnswer {
    const { tape } = this
    const parts: ModelAnswer['parts'] = tape.choose(3) === 0 ? [] : [{ type: 'text', text: 'words' }]
    for (let left = tape.choose(4); left > 0; left -= 1)
      parts.push({ type: 'call', name: names[tape.choose(3)]!, form: 'json', text: '{}' })
    return { parts, stop: (['end', 'pause', 'length', 'calls'] as const)[tape.choose(4)]! }
  }

  #verdict(call: CallState): Event {
    const bound = { v: 1, at: this.context.now, callId: call.part.id, argsHash: 'a', toolHash: 't' } as const
    if (this.tape.choose(5) === 4) return decideSettled(call, outcomes.invalid('no'), this.context)
    if (call.part.name === 'trusted')
      return this.tape.choose(2) === 0
        ? { ...bound, type: 'call.allowed', rule: 'r' }
        : { ...decideStart(call, this.context), allowed: { toolHash: 't', rule: 'r' } }
    if (call.part.name === 'asked') return { ...bound, type: 'approval.requested', rule: 'r' }
    const known = this.state.settings.clientTools.length > 0
    return known
      ? { ...bound, type: 'call.handed' }
      : decideSettled(call, outcomes.unknownTool('mine', []), this.context)
  }
}

/** A log that, if possible, ends with the session waiting for the application or a person. */
export function growWaiting(numbers: readonly number[]): Grown {
  const grown = grow(numbers)
  for (let left = 20; left > 0 && sessionStatus(grown.state) === 'running'; left -= 1) grown.step()
  return grown
}

export function grow(numbers: readonly number[]): Grown {
  const grown = new Grown(new Tape(numbers))
  while (!grown.tape.over) grown.step()
  return grown
}
