// One simulation of a whole system: machines with engines on one disk, clients, watchers, and random faults. At the end
// all faults stop, one machine starts again, and every session must come to rest with every promise kept.
import assert from 'node:assert/strict'
import {
  type Agent,
  type Budgets,
  fold,
  type Gate,
  type Limits,
  LocalEngine,
  ManualControl,
  type SessionRef,
} from '../../src/engine/index.ts'
import { budgetToolName } from '../../src/language/calls.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { createGate } from '../../src/policy/index.ts'
import { Chance } from './chance.ts'
import { Client, openQuestions } from './client.ts'
import { leaseMs, SimulatedNode } from './cluster.ts'
import { Disk } from './disk.ts'
import { modelOf } from './model.ts'
import { Machine, Scheduler } from './scheduler.ts'
import { Signing } from './signing.ts'
import { type Answer, type Node, type System, stackOf } from './system.ts'
import { declarations, type Effects, toolsOf } from './tools.ts'
import { Trace } from './trace.ts'

const limits: Limits = {
  steps: 5,
  calls: 9,
  identicalCalls: 3,
  time: 1200,
  bytes: 4000,
  sessionBytes: 1e12,
  tokens: 200,
  money: 20,
}
/** One that asks soon, and one that is counted in the store and never spent. */
const budgets: Budgets = { session: { tokens: 40, then: 'ask' }, ownerMonth: { tokens: 1e9 } }
const budgetTool = { trust: 'trusted', exposed: false } as const
const mostTicks = 20_000
/** A session that ended so many processes is left alone. */
const mostRecoveries = 3
const gate = createGate({ clientOutputLimit: 64 })
const approvers = { roles: ['finance'], quorum: 2 }
const restricted: readonly string[] = ['mail', 'note']
const votingGate = createGate({
  clientOutputLimit: 64,
  rules: restricted.map(tool => ({ tool, then: 'ask' as const, approvers })),
})

export type Result = {
  seed: number
  digest: string
  broken?: string
  tail: string
  /** The type of every event in the logs, or the outcome of a settled call. */
  seen: string[]
  /** How often a session was written under another epoch than before. */
  takeOvers: number
}

export class Simulation implements System {
  readonly chance: Chance
  readonly scheduler = new Scheduler()
  readonly trace = new Trace(() => this.scheduler.now)
  readonly disk: Disk
  readonly effects: Effects = new Map()
  readonly sessions: { id: string; owner: string }[] = []
  nodes: Node[] = []
  /** Requests to machines that have no answer yet. */
  readonly open = new Set<() => unknown>()
  calm = false
  #ids = 0
  born = 0
  readonly #misfortune: number
  readonly #compacting: boolean
  readonly #snapshots: boolean
  readonly hasMessages: boolean
  readonly hasVotes: boolean
  readonly #budgets: Budgets | undefined
  readonly #signing: Signing | undefined
  /** Machines are nodes with leases, and share the sessions. */
  readonly #isCluster: boolean
  /** Nodes do not ask their lease before they write: the store alone has to refuse it. */
  readonly #isDeceived: boolean
  #starting = 0

  constructor(seed: number, isCluster = false) {
    this.#isCluster = isCluster
    this.#isDeceived = seed % 2 === 1
    this.chance = new Chance(seed)
    const known = new Map(declarations.map(tool => [tool.name, tool]))
    this.hasVotes = seed % 5 === 0
    const trustOf = (name: string) => {
      const tool = known.get(name)
      if (!tool) return name === budgetToolName ? budgetTool : undefined
      return this.hasVotes && restricted.includes(name) ? { ...tool, approvers } : tool
    }
    this.disk = new Disk(this.scheduler, this.chance, this.trace, trustOf, limits, isCluster)
    this.#misfortune = this.chance.pick([0, 0.002, 0.01, 0.03])
    this.#compacting = this.chance.maybe(0.3)
    // Drawn from the seed itself, so that the other choices stay as they were.
    this.#snapshots = seed % 3 === 0
    this.hasMessages = (seed >> 2) % 2 === 0
    this.#budgets = seed % 4 === 0 ? budgets : undefined
    this.#signing = (seed >> 3) % 3 === 0 ? new Signing() : undefined
    this.disk.failing = this.chance.pick([0, 0, 0.01, 0.05])
    this.disk.slowest = this.chance.pick([0, 2, 8, 40])
  }

  // ---- machines ------------------------------------------------------------------------------------------

  /** Starts a process on the disk as it is now, and recovers unfinished sessions. */
  async start(): Promise<Node> {
    this.#starting += 1
    try {
      return await this.#start()
    } finally {
      this.#starting -= 1
    }
  }

  async #start(): Promise<Node> {
    const machine = new Machine(`m${++this.born}`)
    const { scheduler, chance } = this
    const parts = { ...this.#parts(), calm: () => this.calm }
    const model = modelOf(machine, parts)
    const agent: Agent = {
      name: 'helper',
      version: '1.0.0',
      tools: toolsOf(machine, parts),
      options: [{ name: 'tone', type: 'text', default: '' }],
      gate: this.#slowGate(machine),
      limits,
      choice: 'auto',
      parallel: true,
      clientTools: true,
      fullHistory: true,
      images: { http: true, data: true },
      model: () => model,
      ...(this.#budgets && { budgets: this.#budgets }),
      ...(this.#compacting && { compaction: { afterTokens: 12, keepEntries: 2 } }),
    }
    const member = this.#isCluster ? this.#memberOf(machine) : undefined
    const store = member ? member.store : this.disk.connect(machine)
    const local = new LocalEngine({
      store,
      world: {
        now: () => scheduler.now,
        elapsed: () => scheduler.now,
        id: prefix => `${prefix}_${++this.#ids}`,
        timer: (ms, run) => scheduler.after(ms, run, machine),
        crashPoint: point => {
          if (!machine.alive || this.calm || !chance.maybe(this.#misfortune)) return
          this.crash(node, point)
        },
      },
      vault: { seal: text => text, open: text => text },
      agent: name => (name === agent.name ? agent : undefined),
      log: () => {},
      ...(this.#budgets && { countsSpending: true }),
      ...(this.#signing && { receipts: this.#signing.signerOf(this.born) }),
      ...(this.#snapshots && { snapshotGrowth: { events: 4, bytes: 1e9 } }),
    })
    const node: Node = { machine, local, engine: local.sessions, ...(member && { member }) }
    this.trace.note(`${machine.name} starts`)
    if (member) await this.call(node, () => member.begin(local))
    // It may have died meanwhile.
    if (machine.alive) this.nodes.push(node)
    await this.call(node, () => (member ?? local).recover())
    return node
  }

  #memberOf(machine: Machine): SimulatedNode {
    const { scheduler, chance, trace } = this
    return new SimulatedNode({
      ...{ machine, scheduler, chance, trace, ...this.disk.connectNode(machine) },
      isDeceived: this.#isDeceived,
      others: () =>
        this.nodes.flatMap(({ member }) =>
          member && member.machine !== machine && member.machine.pausedUntil <= scheduler.now ? [member] : [],
        ),
    })
  }

  async route(asked: Node, session: string): Promise<Node> {
    // Now and then a node is asked that does not have it, and refuses.
    if (!this.#isCluster || this.chance.maybe(0.1)) return asked
    const name = await this.disk.holder(session)
    return this.nodes.find(({ machine }) => machine.name === name) ?? asked
  }

  #parts() {
    const { scheduler, chance, trace, disk, effects } = this
    return { scheduler, chance, trace, disk, effects }
  }

  /** Policy that asks a remote service: it is slow, fails, or never answers. */
  #slowGate(machine: Machine): Gate {
    const { chance, scheduler } = this
    const rules = this.hasVotes ? votingGate : gate
    return {
      ...rules,
      authorise: async question => {
        const pace = this.calm ? 'at-once' : chance.weighted({ 'at-once': 60, slow: 20, fail: 1, never: 1 })
        if (pace === 'slow') await scheduler.sleep(chance.whole(1, 50), machine)
        if (pace === 'fail') throw new Error('policy is out of order')
        if (pace === 'never') await new Promise(() => {})
        return rules.authorise(question)
      },
    }
  }

  crash(node: Node, why: string): void {
    if (!node.machine.alive) return
    this.trace.note(`${node.machine.name} dies: ${why}`)
    this.nodes = this.nodes.filter(each => each.machine !== node.machine)
    node.machine.die()
    // Someone restarts it.
    this.scheduler.after(this.chance.whole(1, 300), () => {
      const wanted = this.#isCluster && !this.calm ? 2 : 1
      if (this.nodes.length + this.#starting < wanted) void this.start()
    })
  }

  async stop(node: Node): Promise<void> {
    this.trace.note(`${node.machine.name} stops`)
    const graceMs = this.chance.whole(0, 200)
    await this.call(node, () => (node.member ?? node.engine).stop(graceMs))
    this.crash(node, 'stopped')
  }

  // ---- calls over a network ------------------------------------------------------------------------------

  /** A client's request to a machine: answered, refused, or the connection broke and the result is unknown. */
  call<T>(node: Node, work: () => Promise<T>): Promise<Answer<T>> {
    const { machine } = node
    this.open.add(work)
    const answered = new Promise<Answer<T>>(resolve => {
      if (!machine.alive) {
        resolve({ gone: true })
        return
      }
      const forget = machine.onDeath(() => resolve({ gone: true }))
      const settle = (answer: Answer<T>): void => {
        if (!machine.alive) return
        forget()
        resolve(answer)
      }
      const run = (): void => {
        work().then(
          value => settle({ value }),
          (error: unknown) => {
            if (!(error instanceof TurnwireError)) {
              if (machine.alive) this.trace.breach(`a refusal that is no TurnwireError: ${stackOf(error)}`)
            } else settle({ refused: error })
          },
        )
      }
      this.scheduler.after(this.chance.whole(0, 5), run, machine)
    })
    return answered.finally(() => this.open.delete(work))
  }

  // ---- one whole run ------------------------------------------------------------------------------------

  async live(): Promise<void> {
    await this.start()
    if (this.#isCluster) for (let more = this.chance.whole(1, 2); more > 0; more -= 1) await this.start()
    else if (this.chance.maybe(0.25)) await this.start()
    const clients = Array.from({ length: this.chance.whole(1, 3) }, (_, at) => new Client(`c${at + 1}`, this))
    await Promise.all([...clients.map(client => client.live()), this.#misfortunes()])
    // Long enough for every time limit to expire.
    if (this.chance.maybe(0.3)) await this.scheduler.sleep(4000)
    this.calm = true
    this.disk.failing = 0
    this.trace.note('calm')
    // Those that start now are ended too, so that one is left in the end.
    if (this.#isCluster) while (this.#starting > 0) await this.scheduler.sleep(10)
    for (const node of [...this.nodes]) {
      if (this.chance.maybe(0.5)) this.crash(node, 'end')
      else await this.stop(node)
    }
    await this.scheduler.sleep(this.#isCluster ? leaseMs + 400 : 400)
    const node = this.nodes[0] ?? (await this.start())
    if (this.#isCluster) await this.#checkNoneLeft()
    for (const session of this.sessions) await this.#finish(node, session)
    if (this.#budgets) await this.#checkSpending()
    for (const client of clients) client.leave()
    // A lease is renewed for as long as its node lives.
    if (this.#isCluster) for (const { machine } of this.nodes) machine.die()
  }

  async #misfortunes(): Promise<void> {
    const { chance, scheduler } = this
    for (let left = chance.whole(0, 3); left > 0; left -= 1) {
      await scheduler.sleep(chance.whole(5, 600))
      const node = this.nodes.length === 0 ? undefined : chance.pick(this.nodes)
      switch (chance.weighted({ crash: 4, pause: 3, stop: 1, second: 2 })) {
        case 'crash':
          if (node) this.crash(node, 'killed')
          break
        case 'pause':
          if (!node) break
          this.trace.note(`${node.machine.name} is paused`)
          node.machine.pausedUntil = scheduler.now + chance.whole(10, 1500)
          if (chance.maybe(0.6)) await this.start()
          break
        case 'stop':
          if (node) await this.stop(node)
          break
        case 'second':
          if (this.nodes.length + this.#starting < 3) await this.start()
          break
      }
    }
  }

  /** Sessions at work of nodes that are gone are taken up although nobody asks for them. */
  async #checkNoneLeft(): Promise<void> {
    await this.scheduler.sleep(4 * leaseMs + 2000)
    let left = await this.disk.abandoned(mostRecoveries)
    // One that may have ended a node before is taken up once the one before it has worked for five seconds.
    for (let waits = left.length; waits > 0 && left.length > 0; waits -= 1) {
      await this.scheduler.sleep(6_000)
      left = await this.disk.abandoned(mostRecoveries)
    }
    this.trace.check(left.length === 0, () => `nobody has taken up ${left.join(' and ')}`)
  }

  /** A session that three processes in a row ended in is not continued. Its turn can be ended. */
  async #cancelLeftAlone(node: Node, ref: SessionRef): Promise<void> {
    const summary = await this.call(node, () => node.local.summary(ref))
    if (!('value' in summary) || summary.value.leftAlone === undefined) return
    this.trace.check(summary.value.leftAlone === 'recovery_failed', () => `${ref.session} is left alone`)
    await this.call(node, () => node.local.command(ref, { do: 'cancel' }))
  }

  /** Without faults a session comes to rest, can be continued, and has kept its promises. */
  async #finish(node: Node, { id, owner }: { id: string; owner: string }): Promise<void> {
    const { engine } = node
    await this.#cancelLeftAlone(node, { owner, session: id })
    for (let round = 0; round < 12; round += 1) {
      const opened = await this.call(node, () => engine.open(owner, id))
      if (!('value' in opened)) return this.trace.breach(`${id} cannot be opened: ${JSON.stringify(opened)}`)
      const session = opened.value
      const { controlledBy, batch } = session.state
      if (controlledBy !== undefined) {
        const hand = await this.call(node, () => ManualControl.take(session, controlledBy))
        if ('value' in hand) await this.call(node, () => hand.value.release())
      } else if (session.status === 'idle') break
      else if (session.status === 'waiting') {
        const by = 'final'
        const people = [by, 'witness'].map(name => ({ name, roles: ['finance'] }))
        await this.call(node, () =>
          session.respond({
            results: batch.flatMap(({ part, stage }) =>
              stage === 'handed'
                ? [{ callId: part.id, parts: [{ type: 'text', text: 'late but here' }] }]
                : [],
            ),
            decisions: batch.flatMap(({ part, stage, argsHash = '' }) =>
              stage === 'asking'
                ? [{ callId: part.id, granted: true, by, ...(this.hasVotes && { seen: argsHash, people }) }]
                : [],
            ),
            answers: openQuestions(batch).map(question => goOn(question, by)),
          }),
        )
      }
      await this.scheduler.sleep(4000)
    }
    const opened = await this.call(node, () => engine.open(owner, id))
    if (!('value' in opened) || opened.value.status !== 'idle')
      return this.trace.breach(`${id} does not come to rest`)
    const session = opened.value
    await this.call(node, () => session.say({ parts: [{ type: 'text', text: 'and now?' }], wire: 'sim' }))
    await this.scheduler.sleep(4000)
    const answers = openQuestions(session.state.batch).map(question => goOn(question, 'final'))
    if (answers.length > 0) {
      await this.call(node, () => session.respond({ results: [], decisions: [], answers }))
      await this.scheduler.sleep(4000)
    }
    this.trace.check(session.state.lastStop?.stop === 'end', `${id} cannot be continued`)
    this.#checkEnd(id, session.state)
  }

  /** The store has counted each token of each log once. */
  async #checkSpending(): Promise<void> {
    const used = new Map<string, number>()
    for (const { owner, events } of this.disk.shadows.values())
      for (const event of events)
        if ('usage' in event && event.usage && event.type !== 'call.used')
          used.set(owner, (used.get(owner) ?? 0) + event.usage.input + event.usage.output)
    for (const [owner, tokens] of used) {
      const spent = await this.disk.spent(owner)
      this.trace.check(spent === tokens, () => `${owner} has used ${tokens} tokens, and ${spent} are counted`)
    }
  }

  #checkEnd(id: string, state: object): void {
    const shadow = this.disk.shadows.get(id)
    if (!shadow) {
      this.trace.breach(`${id} has no log`)
      return
    }
    try {
      assert.deepStrictEqual(
        state,
        fold(
          id,
          shadow.events.map((event, at) => ({ seq: at + 1, event })),
        ),
      )
    } catch (error) {
      this.trace.breach(`the state of ${id} is not the fold of its log: ${stackOf(error)}`)
    }
    const flaw = this.#signing?.flawOf(id, shadow.events)
    this.trace.check(flaw === undefined, () => `the log of ${id} does not verify: ${flaw}`)
    for (const [callId, call] of shadow.rules.calls) {
      const { outcome } = call
      if (call.stage !== 'settled' || !outcome) this.trace.breach(`${callId} was never settled`)
      else this.#checkHonest(callId, outcome)
    }
  }

  /** A call that ran is never reported as having had no effect, and a call reported as done did run. */
  #checkHonest(
    callId: string,
    outcome: { kind: string; from: { source: string; tool?: string }; parts: unknown[] },
  ): void {
    const { kind, from } = outcome
    const effect = this.effects.get(callId)
    if (effect && effect.runs > 0) {
      const mayHaveRun = ['ok', 'error', 'timeout', 'unknown', 'cancelled'].includes(kind)
      this.trace.check(
        mayHaveRun && !JSON.stringify(outcome.parts).includes('no effect'),
        `${callId} ran, but is ${kind}`,
      )
    }
    const isOurs = from.source === 'tool' && from.tool !== budgetToolName
    if (kind === 'ok' && isOurs) this.trace.check((effect?.runs ?? 0) > 0, `${callId} is ok, but never ran`)
  }
}

function asked(simulation: Simulation): string {
  return [...simulation.open].map(work => work.toString().replaceAll(/\s+/g, ' ').slice(0, 160)).join('; ')
}

/** `isCluster`: machines are nodes with leases. */
export async function simulate(seed: number, isCluster = false): Promise<Result> {
  const simulation = new Simulation(seed, isCluster)
  const { trace, scheduler, disk } = simulation
  let over = false
  scheduler.after(0, () => {
    simulation.live().then(
      () => (over = true),
      error => trace.breach(`the simulation itself failed: ${stackOf(error)}`),
    )
  })
  await scheduler.run(() => trace.broken !== undefined || scheduler.ticks > mostTicks)
  trace.check(scheduler.ticks <= mostTicks, 'every loop ends: there is still something planned')
  trace.check(
    over || trace.broken !== undefined,
    () => `everything comes to rest: nobody answers ${asked(simulation)}`,
  )
  const log = [...disk.shadows.values()].flatMap(shadow => shadow.events)
  const { broken } = trace
  return {
    seed,
    digest: trace.digest(),
    ...(broken !== undefined && { broken }),
    tail: trace.tail(),
    takeOvers: disk.takeOvers,
    seen: log.map(event => (event.type === 'call.settled' ? event.outcome.kind : event.type)),
  }
}

/** For good. */
function goOn(question: string, by: string) {
  return { question, by, action: 'accept' as const, content: { more: 1_000_000 } }
}
