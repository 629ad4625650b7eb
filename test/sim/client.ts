// A client that acts at random: it sends messages, answers (in part, twice, wrongly), approves, denies, edits, cancels,
// configures, watches, takes manual control, and repeats requests that got no answer. An acknowledged change must be in
// the log at that moment. A refused one must never appear there.
import assert from 'node:assert/strict'
import {
  type Answers,
  fold,
  ManualControl,
  type Session,
  type SessionCall,
  sessionStatus,
  settledCalls,
} from '../../src/engine/index.ts'
import { compactNow } from '../../src/engine/turn/compact.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { InputPart } from '../../src/language/content.ts'
import type { Event, Settings } from '../../src/language/events.ts'
import { type ToolDeclaration, toolHash } from '../../src/language/tools.ts'
import type { Chance } from './chance.ts'
import { type Answer, type Node, type System, stackOf } from './system.ts'
import { declarations } from './tools.ts'
import { Watching } from './watcher.ts'

const clientTools: ToolDeclaration[] = ['ring', 'show'].map(name => ({
  name,
  description: 'Run by the application.',
  input: { form: 'json', schema: { type: 'object', properties: { n: { type: 'integer' } } } },
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: true,
  side: 'client',
}))

export class Client {
  readonly #name: string
  readonly #sim: System
  readonly #chance: Chance
  readonly #watching = new Map<string, Watching>()
  #marks = 0

  constructor(name: string, sim: System) {
    this.#name = name
    this.#sim = sim
    this.#chance = sim.chance
  }

  #mark(): string {
    return `${this.#name}-${++this.#marks}`
  }

  async live(): Promise<void> {
    const { scheduler, sessions } = this.#sim
    for (let left = this.#chance.whole(6, 16); left > 0 && this.#sim.trace.broken === undefined; left -= 1) {
      await scheduler.sleep(this.#chance.whole(0, 90))
      const node = this.#sim.nodes.length === 0 ? undefined : this.#chance.pick(this.#sim.nodes)
      if (!node) continue
      if (sessions.length === 0 || (sessions.length < 3 && this.#chance.maybe(0.04))) await this.#create(node)
      else {
        const session = this.#chance.pick(sessions)
        await this.#act(await this.#sim.route(node, session.id), session)
      }
    }
  }

  leave(): void {
    for (const watching of this.#watching.values()) watching.disconnect()
  }

  async #create(node: Node): Promise<void> {
    const owner = this.#chance.pick(['ana', 'ben'])
    const settings = this.#settings()
    const key = this.#chance.maybe(0.5) ? { key: this.#mark(), hash: 'h' } : undefined
    const create = { owner, agent: 'helper', wire: 'sim', settings, seed: [] }
    const made = await this.#sim.call(node, () => node.engine.create(create, key))
    if (!('value' in made)) return
    const { id } = made.value
    this.#sim.trace.check(this.#sim.disk.shadows.has(id), `${id} was acknowledged and is not there`)
    this.#sim.sessions.push({ id, owner })
    if (!key) return
    const again = await this.#sim.call(node, () => node.engine.create(create, key))
    if ('value' in again) this.#sim.trace.check(again.value.id === id, 'one key made two sessions')
  }

  #settings(): Settings {
    const chance = this.#chance
    const names = ['look', 'put', 'pay', 'mail', 'sync', 'note'].filter(() => chance.maybe(0.8))
    return {
      tools: chance.maybe(0.5) ? null : names.map(name => ({ name, trust: chance.maybe(0.5) })),
      options: {},
      clientTools: clientTools.filter(() => chance.maybe(0.7)),
    }
  }

  async #act(node: Node, { id, owner }: { id: string; owner: string }): Promise<void> {
    // Mostly actions that fit the status, so that much happens; sometimes others, which must be refused.
    const state = this.#sim.disk.shadows.get(id)?.rules.state
    const status = state ? sessionStatus(state) : 'idle'
    const action = this.#chance.weighted({
      say: status === 'idle' ? 30 : 3,
      answer: status === 'waiting' ? 30 : 3,
      cancel: 2,
      configure: 2,
      grant: 2,
      compact: 1,
      watch: 5,
      unwatch: 2,
      control: 2,
      look: 2,
      stranger: 1,
      message: this.#sim.hasMessages ? (status === 'idle' ? 4 : 20) : 0,
      withdraw: this.#sim.hasMessages ? (state?.messages ? 12 : 1) : 0,
      'stop-call': this.#sim.hasMessages ? (status === 'idle' ? 1 : 8) : 0,
    })
    this.#sim.trace.note(`${this.#name} ${action} ${id} at ${node.machine.name}`)
    switch (action) {
      case 'say':
        return this.#say(node, id, owner)
      case 'message':
        return this.#sayDuring(node, id, owner)
      case 'withdraw':
        return this.#withdraw(node, id, owner)
      case 'stop-call':
        return this.#stopCall(node, id, owner)
      case 'answer':
        return this.#answer(node, id, owner)
      case 'cancel':
        return this.#cancel(node, id, owner)
      case 'configure':
        return this.#configure(node, id, owner)
      case 'grant':
        return this.#grant(node, id, owner)
      case 'compact':
        return this.#compact(node, id, owner)
      case 'watch':
        return this.#watch(node, id, owner)
      case 'unwatch':
        return this.#watching.get(id)?.disconnect()
      case 'control':
        return this.#takeControl(node, id, owner)
      case 'look':
        return this.#look(node, id, owner)
      case 'stranger':
        return this.#stranger(node, id, owner)
    }
  }

  #log(id: string): readonly Event[] {
    return this.#sim.disk.shadows.get(id)?.events ?? []
  }

  // ---- speaking ------------------------------------------------------------------------------------------

  async #say(node: Node, id: string, owner: string): Promise<void> {
    const text = this.#mark()
    const request = this.#chance.maybe(0.5) ? { key: text, hash: text } : undefined
    const send = (at: Node): Promise<Answer<unknown>> =>
      this.#sim.call(at, async () => {
        const session = await at.engine.open(owner, id)
        const taken = await session.say({
          parts: [{ type: 'text', text }],
          wire: 'sim',
          ...(request && { request }),
        })
        this.#sim.trace.check(this.#said(id, text) === 1, `"${text}" was acknowledged and is not durable`)
        this.#mustMove(session, at)
        return taken
      })
    const answers = await Promise.all(
      request && this.#chance.maybe(0.4) ? [send(node), send(node)] : [send(node)],
    )
    if (request && answers.some(answer => 'gone' in answer)) {
      await this.#sim.scheduler.sleep(400)
      const other = this.#sim.nodes[0]
      if (other) answers.push(await send(other))
    }
    this.#sim.trace.check(this.#said(id, text) <= 1, `"${text}" was taken twice`)
    if (answers.every(answer => 'refused' in answer))
      this.#never(id, `"${text}"`, () => this.#said(id, text) === 0)
  }

  /** A message while a turn runs or waits. Once it is acknowledged it is in the log once, whatever becomes of it. */
  async #sayDuring(node: Node, id: string, owner: string): Promise<void> {
    const text = this.#mark()
    const request = this.#chance.maybe(0.5) ? { key: text, hash: text } : undefined
    const during = this.#chance.pick(['queue', 'steer', 'interrupt'] as const)
    const send = (at: Node): Promise<Answer<unknown>> =>
      this.#sim.call(at, async () => {
        const session = await at.engine.open(owner, id)
        const parts = [{ type: 'text' as const, text }]
        const taken = await runCommand(session, {
          do: 'say',
          wire: 'sim',
          parts,
          during,
          ...(request && { request }),
        })
        this.#sim.trace.check(this.#heard(id, text) === 1, `"${text}" was acknowledged and is not durable`)
        this.#mustMove(session, at)
        return taken
      })
    const answers = [await send(node)]
    if (request && answers.some(answer => 'gone' in answer)) {
      await this.#sim.scheduler.sleep(400)
      const other = this.#sim.nodes[0]
      if (other) answers.push(await send(other))
    }
    this.#sim.trace.check(this.#heard(id, text) <= 1, `"${text}" was taken twice`)
    if (answers.every(answer => 'refused' in answer))
      this.#never(id, `"${text}"`, () => this.#heard(id, text) === 0)
  }

  /** How often a message was said: queued, or as the beginning of a turn that no queued one started. */
  #heard(id: string, text: string): number {
    const says = (parts: readonly InputPart[]): boolean => parts[0]?.type === 'text' && parts[0].text === text
    return this.#log(id).filter((event, at, log) => {
      if (event.type === 'message.queued') return says(event.parts)
      return event.type === 'turn.started' && says(event.parts) && log[at - 1]?.type !== 'message.delivered'
    }).length
  }

  async #withdraw(node: Node, id: string, owner: string): Promise<void> {
    await this.#sim.call(node, async () => {
      const session = await node.engine.open(owner, id)
      const waiting = session.state.messages ?? []
      const known = [...waiting.map(message => message.id), ...Object.keys(session.state.heard ?? {})]
      const message = known.length === 0 ? 'msg_none' : this.#chance.pick(known)
      await runCommand(session, { do: 'withdraw', message, by: this.#name })
      this.#sim.trace.check(
        this.#log(id).some(event => event.type === 'message.withdrawn' && event.message === message),
        `the withdrawal of ${message} was acknowledged and is not durable`,
      )
    })
  }

  async #stopCall(node: Node, id: string, owner: string): Promise<void> {
    await this.#sim.call(node, async () => {
      const session = await node.engine.open(owner, id)
      const { batch } = session.state
      const callId = batch.length === 0 ? 'call_none' : this.#chance.pick(batch).part.id
      await runCommand(session, { do: 'cancel-call', callId, by: this.#name })
      this.#sim.trace.check(
        this.#log(id).some(event => event.type === 'call.settled' && event.callId === callId),
        `the end of ${callId} was acknowledged and is not durable`,
      )
      this.#mustMove(session, node)
    })
  }

  /** A running turn makes progress within its time limit, whatever model, policy and tools do. */
  #mustMove(session: Session, { machine }: Node): void {
    const { scheduler, trace } = this.#sim
    let last = -1
    const look = (): void => {
      const { state, status } = session
      if (session.lost || session.stopping || status !== 'running' || state.controlledBy !== undefined) return
      trace.check(state.seq > last, `${session.id} does nothing on ${machine.name}`)
      last = state.seq
      scheduler.after(2000, look, machine)
    }
    look()
  }

  #said(id: string, text: string): number {
    return this.#log(id).filter(
      event =>
        event.type === 'turn.started' && event.parts[0]?.type === 'text' && event.parts[0].text === text,
    ).length
  }

  /** Checks again later: a refused write must not appear afterwards. */
  #never(id: string, what: string, absent: () => boolean): void {
    const check = (): void =>
      this.#sim.trace.check(absent(), `${what} was refused and is in the log of ${id}`)
    check()
    this.#sim.scheduler.after(500, check)
  }

  // ---- answering -----------------------------------------------------------------------------------------

  async #answer(node: Node, id: string, owner: string): Promise<void> {
    const by = this.#mark()
    let answers: Answers | undefined
    const send = (): Promise<Answer<unknown>> =>
      this.#sim.call(node, async () => {
        const session = await node.engine.open(owner, id)
        answers ??= this.#makeAnswers(session, by)
        const sent = answers
        const { settings, ...rest } = sent
        const taken = await runCommand(session, {
          do: 'respond',
          ...rest,
          ...(settings && { settings: { ...settings, options: {} } }),
        })
        this.#sim.trace.check(
          this.#answered(id, sent, by),
          `an answer of ${by} was acknowledged and is not durable`,
        )
        return taken
      })
    const twice = this.#chance.maybe(0.2)
    const given = await Promise.all(twice ? [send(), send()] : [send()])
    if (given.every(answer => 'refused' in answer))
      this.#never(id, `what ${by} answered`, () => {
        // That someone tried who may not is in the log.
        const log = this.#log(id).filter(({ type }) => type !== 'approval.refused')
        return !JSON.stringify(log).includes(`"${by}"`)
      })
  }

  #answerTo(question: string, by: string): NonNullable<Answers['answers']> {
    const action = this.#chance.weighted({ accept: 6, decline: 2, later: 2 })
    if (action === 'later') return []
    return [{ question, by, action, ...(action === 'accept' && { content: {} }) }]
  }

  #answered(id: string, { results, decisions, answers = [] }: Answers, by: string): boolean {
    const log = this.#log(id)
    const given = (question: string): boolean =>
      log.some(event => event.type === 'question.answered' && event.question === question && event.by === by)
    const settled = (callId: string): boolean =>
      log.some(
        event =>
          event.type === 'call.settled' && event.callId === callId && event.outcome.from.source === 'client',
      )
    const decided = (callId: string, granted: boolean): boolean =>
      log.some(
        event =>
          (event.type === 'approval.voted' || event.type === 'approval.decided') &&
          event.callId === callId &&
          event.by === by &&
          (event.type === 'approval.voted' || event.granted) === granted,
      )
    return (
      results.every(({ callId }) => settled(callId)) &&
      answers.every(({ question }) => given(question)) &&
      decisions.every(({ callId, granted }) => decided(callId, granted))
    )
  }

  #makeAnswers(session: Session, by: string): Answers {
    const chance = this.#chance
    const answers: Answers = { results: [], decisions: [] }
    for (const call of session.state.batch) {
      const wrong = chance.maybe(0.05)
      if (call.stage !== 'handed' && call.stage !== 'asking' && !wrong) continue
      if (chance.maybe(0.3)) continue
      if ((call.stage === 'handed') !== wrong) answers.results.push(this.#resultOf(call.part.id, by))
      else answers.decisions.push(this.#decisionOf(call, by))
    }
    const asked = openQuestions(session.state.batch)
    if (asked.length > 0) answers.answers = asked.flatMap(question => this.#answerTo(question, by))
    if (chance.maybe(0.06)) answers.results.push(this.#resultOf(this.#strayId(session), by))
    const first = answers.results[0]
    if (first && chance.maybe(0.04)) answers.results.push(first)
    if (chance.maybe(0.3)) answers.request = { key: by, hash: by }
    if (chance.maybe(0.1)) answers.settings = this.#settings()
    return answers
  }

  /** An id of another session, of a call that is over, or of none. */
  #strayId(session: Session): string {
    const others = [...this.#sim.disk.shadows.values()].flatMap(shadow => [...shadow.rules.calls.keys()])
    return this.#chance.pick(['call_none', ...settledCalls(session.state), ...others])
  }

  #resultOf(callId: string, by: string): Answers['results'][number] {
    const text = this.#chance.maybe(0.1) ? `"${by}" `.repeat(40) : `"${by}"`
    return { callId, parts: [{ type: 'text', text }], failed: this.#chance.maybe(0.2) }
  }

  #decisionOf(call: SessionCall, by: string): Answers['decisions'][number] {
    const chance = this.#chance
    const decision = { callId: call.part.id, granted: chance.maybe(0.75), by }
    const seen = chance.maybe(0.3) ? { seen: chance.maybe(0.8) ? (call.argsHash ?? '') : 'stale' } : {}
    const edit = chance.maybe(0.2) ? { edit: chance.pick(['{"n":7}', '{"n":"x"}', '{']) } : {}
    const person = { name: by, roles: this.#sim.hasVotes && chance.maybe(0.8) ? ['finance'] : [] }
    return {
      ...decision,
      ...seen,
      ...edit,
      ...(chance.maybe(0.1) && { remember: true }),
      ...(this.#sim.hasVotes && { people: [person] }),
    }
  }

  // ---- the rest ------------------------------------------------------------------------------------------

  async #cancel(node: Node, id: string, owner: string): Promise<void> {
    await this.#sim.call(node, async () => {
      const session = await node.engine.open(owner, id)
      const turn = this.#sim.disk.shadows.get(id)?.rules.turn
      const ended = await session.cancel()
      const open = this.#sim.disk.shadows.get(id)?.rules.turn
      // A machine that lost the session without noticing may answer that there is no turn to cancel.
      if (!ended && this.#sim.born > 1) return
      this.#sim.trace.check(turn === undefined || turn !== open, `turn ${turn} was cancelled and is not over`)
    })
  }

  async #configure(node: Node, id: string, owner: string): Promise<void> {
    const tone = this.#mark()
    await this.#sim.call(node, async () => {
      const session = await node.engine.open(owner, id)
      const settings = this.#chance.maybe(0.5) ? this.#settings() : {}
      await session.configure({ ...settings, options: { tone } })
      this.#sim.trace.check(
        this.#log(id).some(
          event => event.type === 'session.configured' && event.settings.options?.['tone'] === tone,
        ),
        `setting ${tone} was acknowledged and is not durable`,
      )
    })
  }

  async #grant(node: Node, id: string, owner: string): Promise<void> {
    const tool = this.#chance.pick(declarations.filter(({ trust }) => trust === 'ask'))
    await this.#sim.call(node, async () => {
      const session = await node.engine.open(owner, id)
      const [first] = session.state.grants.keys()
      if (first !== undefined && this.#chance.maybe(0.4)) return session.revoke(first, this.#name)
      const uses = this.#chance.maybe(0.7) ? { usesLeft: this.#chance.whole(1, 2) } : {}
      const given = await session.grant({
        tool: tool.name,
        toolHash: toolHash(tool),
        by: this.#name,
        ...uses,
      })
      this.#sim.trace.check(
        this.#log(id).some(event => event.type === 'grant.given' && event.grant.id === given),
        `grant ${given} was acknowledged and is not durable`,
      )
    })
  }

  async #compact(node: Node, id: string, owner: string): Promise<void> {
    await this.#sim.call(node, async () => compactNow(await node.engine.open(owner, id)))
  }

  async #watch(node: Node, id: string, owner: string): Promise<void> {
    const { disk, trace } = this.#sim
    const watching = this.#watching.get(id) ?? new Watching(`${this.#name}@${id}`, id, disk, trace)
    this.#watching.set(id, watching)
    await this.#sim.call(node, () => watching.connect(node.local, node.machine, owner))
  }

  async #look(node: Node, id: string, owner: string): Promise<void> {
    await this.#sim.call(node, async () => {
      const state = await node.engine.peek(owner, id)
      const log = this.#log(id).slice(0, state.seq)
      if (log.length < state.seq) return
      try {
        assert.deepStrictEqual(
          state,
          fold(
            id,
            log.map((event, at) => ({ seq: at + 1, event })),
          ),
        )
      } catch (error) {
        this.#sim.trace.breach(`the state of ${id} is not the fold of its log: ${stackOf(error)}`)
      }
    })
  }

  async #stranger(node: Node, id: string, owner: string): Promise<void> {
    const other = owner === 'ana' ? 'ben' : 'ana'
    const answer = await this.#sim.call(node, () => node.engine.open(other, id))
    this.#sim.trace.check(!('value' in answer), `${other} opened the session of ${owner}`)
  }

  async #takeControl(node: Node, id: string, owner: string): Promise<void> {
    const taken = await this.#sim.call(node, () => takeManualControl(node, owner, id, this.#name))
    if (!('value' in taken)) return
    const control = taken.value
    for (let left = this.#chance.whole(0, 3); left > 0; left -= 1) {
      await this.#sim.call(node, () => this.#actManually(control))
      await this.#sim.scheduler.sleep(this.#chance.whole(0, 50))
    }
    if (this.#chance.maybe(0.9)) await this.#sim.call(node, () => control.release())
  }

  async #actManually(control: ManualControl): Promise<unknown> {
    const action = control.look()
    if (action.do === 'ask-model' && this.#chance.maybe(0.4))
      return control.answerModel({ parts: [{ type: 'text', text: 'By control.' }], stop: 'end' })
    if (action.do === 'judge' && this.#chance.maybe(0.6)) {
      const call = this.#chance.pick(action.calls)
      if (this.#chance.maybe(0.5)) return control.replaceArguments(call.part.id, '{"n":8}')
      return control.answerCall(call.part.id, { parts: [{ type: 'text', text: 'given by control' }] })
    }
    return control.perform()
  }
}

async function takeManualControl(
  { engine }: Node,
  owner: string,
  id: string,
  by: string,
): Promise<ManualControl> {
  return ManualControl.take(await engine.open(owner, id), by)
}

export function openQuestions(batch: readonly Pick<SessionCall, 'questions'>[]): string[] {
  return batch.flatMap(({ questions = [] }) => questions.flatMap(({ id, closed }) => (closed ? [] : [id])))
}
