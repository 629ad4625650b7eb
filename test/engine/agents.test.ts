// Agents as tools: a call that is a session of its own, and a hand-over of the conversation.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Agent, LocalEngine, type Session, type Tool } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { type AgentToolOptions, agentTool, codeTool, handOverTool, tool } from '../../src/tools/index.ts'
import { clientTool, makeAgent, makeWorld, owner, plainSettings, until } from './rig.ts'

const numbered = { type: 'object', properties: { n: { type: 'integer' } } }
const engines: LocalEngine[] = []
after(() => Promise.all(engines.map(engine => engine.stop(0))))

type Options = {
  boss: Script
  worker: Script
  bossTools?: readonly Tool[]
  workerTools?: readonly Tool[]
  agentOptions?: AgentToolOptions
  limits?: Partial<Agent['limits']>
  store?: ReturnType<typeof memoryStore>
  runs?: string[]
}

function makeEngine(options: Options) {
  const { store = memoryStore(), runs = [], limits } = options
  const mail = tool({
    name: 'mail',
    description: 'Sends.',
    input: numbered,
    trust: 'ask',
    run: input => {
      runs.push(`mail ${JSON.stringify(input)}`)
      return `sent ${JSON.stringify(input)}`
    },
  })
  const worker = {
    ...makeAgent({ model: scripted(options.worker), tools: options.workerTools ?? [mail] }),
    name: 'worker',
  }
  const boss = makeAgent({
    model: scripted(options.boss),
    tools: options.bossTools ?? [agentTool('worker', options.agentOptions), handOverTool(worker)],
  })
  const agents: Record<string, Agent> = {
    helper: { ...boss, limits: { ...boss.limits, ...limits } },
    worker,
  }
  const engine = new LocalEngine({
    store,
    world: makeWorld(),
    vault: { seal: text => text, open: text => text },
    agent: name => agents[name],
    agents: () => Object.values(agents).map(agent => ({ agent })),
    log: () => {},
  })
  engines.push(engine)
  const begin = async (settings = {}): Promise<Session> =>
    engine.sessions.create({
      owner,
      agent: 'helper',
      wire: 'test',
      settings: { ...plainSettings, ...settings },
      seed: [],
    })
  return { engine, store, runs, begin }
}

const words = (text: string) => [{ type: 'text' as const, text }]
const say = (session: Session, text = 'go') =>
  until(session, () => session.say({ parts: words(text), wire: 'test' }))
const asks = [{ name: 'ask_worker', input: { task: 'Write to Ana.' } }]

function resultOf(session: Session): { kind: string; text: string } {
  const last = session.state.entries.findLast(entry => entry.role === 'tool')
  assert.ok(last?.role === 'tool')
  const { outcome } = last.results[0]!
  return { kind: outcome.kind, text: joinText(outcome.parts) }
}

const open = (session: Session) =>
  session.state.batch.filter(({ stage }) => stage === 'asking' || stage === 'handed')

const decide = (session: Session, more: object = {}) =>
  until(session, () =>
    session.respond({
      results: [],
      decisions: open(session).map(({ part }) => ({ callId: part.id, granted: true, by: owner, ...more })),
    }),
  )

async function workerOf(engine: LocalEngine, session: Session): Promise<Session> {
  const [id] = session.state.workers ?? []
  return engine.sessions.open(owner, id ?? '')
}

test('an agent does a task in a session of its own, linked both ways, and its use counts', async () => {
  const usage = { input: 100, output: 10, cost: 0.5 }
  const { engine, begin } = makeEngine({
    boss: [
      { calls: asks, usage },
      { text: 'Thanks.', usage },
    ],
    worker: [{ text: 'It is done.', usage }],
  })
  const session = await begin()
  await say(session)
  assert.deepEqual(resultOf(session), { kind: 'ok', text: 'It is done.' })
  const worker = await workerOf(engine, session)
  const { parent } = await engine.summary({ owner, session: worker.id })
  assert.equal(parent?.session, session.id)
  assert.equal(worker.state.agent, 'worker')
  assert.deepEqual(worker.state.entries[0], { role: 'user', parts: words('Write to Ana.') })
  assert.deepEqual(session.state.used, { tokens: 330, cost: 1.5 })
  const { rows } = await engine.list(owner, { limit: 10 })
  assert.deepEqual(
    rows.map(({ id }) => id),
    [session.id],
    'the list shows conversations, not their workers',
  )
})

test('an approval of the agent is asked for in the session of the caller, edited there, and runs once', async () => {
  const { engine, runs, begin } = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mail', input: { n: 1 } }] }, { text: 'Sent.' }],
  })
  const session = await begin()
  await say(session)
  assert.equal(session.status, 'waiting')
  const [asking] = open(session)
  assert.equal(asking?.part.name, 'mail')
  assert.equal(asking?.stage, 'asking')
  const worker = await workerOf(engine, session)
  const ref = { owner, session: worker.id }
  const theirs = { callId: open(worker)[0]?.part.id ?? '', granted: true, by: owner }
  await assert.rejects(engine.command(ref, { do: 'respond', results: [], decisions: [theirs] }), {
    code: 'controlled',
  })
  await assert.rejects(decide(session, { edit: '{"n":"x"}' }), { code: 'invalid_edit' })
  await decide(session, { edit: '{"n":7}' })
  assert.deepEqual(resultOf(session), { kind: 'ok', text: 'Sent.' })
  assert.deepEqual(runs, ['mail {"n":7}'])
  const settled = (await engine.events({ owner, session: session.id })).flatMap(({ event }) =>
    event.type === 'call.settled' ? [joinText(event.outcome.parts)] : [],
  )
  assert.deepEqual(settled, ['sent {"n":7}', 'Sent.'], 'the nested call has the result of the real one')
})

test('a denial reaches the agent, and a remembered permission holds in its session', async () => {
  const denied = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mail', input: { n: 1 } }] }, { text: 'I may not.' }],
  })
  const session = await denied.begin()
  await say(session)
  await decide(session, { granted: false, reason: 'not now' })
  assert.deepEqual(resultOf(session), { kind: 'ok', text: 'I may not.' })
  const worker = await workerOf(denied.engine, session)
  assert.equal(resultOf(worker).text, 'Tool call denied: not now')

  const mails = [1, 2].map(n => ({ calls: [{ name: 'mail', input: { n } }] }))
  const kept = makeEngine({ boss: [{ calls: asks }, { text: 'Ok.' }], worker: [...mails, { text: 'Both.' }] })
  const second = await kept.begin()
  await say(second)
  await decide(second, { remember: true })
  assert.equal(resultOf(second).text, 'Both.')
  assert.equal(second.state.grants.size, 0)
  assert.equal((await workerOf(kept.engine, second)).state.grants.size, 1)
})

test('the client runs its tools for the agent, if the operator says so', async () => {
  const script: Options = {
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mine', input: {} }] }, { text: 'Done.' }],
  }
  const shared = makeEngine({ ...script, agentOptions: { clientTools: ['mine'] } })
  const settings = { clientTools: [clientTool('mine'), clientTool('other')] }
  const session = await shared.begin(settings)
  await say(session)
  const [handed] = open(session)
  assert.equal(handed?.stage, 'handed')
  const results = [{ callId: handed?.part.id ?? '', parts: words('from the app') }]
  await until(session, () => session.respond({ results, decisions: [] }))
  assert.equal(resultOf(session).text, 'Done.')
  const worker = await workerOf(shared.engine, session)
  assert.deepEqual(
    worker.state.settings.clientTools.map(({ name }) => name),
    ['mine'],
  )
  assert.equal(resultOf(worker).text, 'from the app')

  const alone = await makeEngine(script).begin(settings)
  await say(alone)
  assert.equal(alone.status, 'idle', 'by default the agent has none of them')
})

test('what waits goes on in another process', async () => {
  const runs: string[] = []
  const options: Options = {
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mail', input: { n: 1 } }] }, { text: 'Sent.' }],
    store: memoryStore(),
    runs,
  }
  const first = makeEngine(options)
  const session = await first.begin()
  await say(session)
  await first.engine.stop(0)
  const second = makeEngine(options)
  const again = await second.engine.sessions.open(owner, session.id)
  await decide(again)
  assert.deepEqual(resultOf(again), { kind: 'ok', text: 'Sent.' })
  assert.deepEqual(runs, ['mail {"n":1}'])
  assert.equal(again.state.workers?.length, 1)
})

test('after a crash both are taken up, and the task is not begun twice', async () => {
  const begun = Promise.withResolvers<void>()
  const store = memoryStore()
  let asked = 0
  const slow: Script = (_request, at) => {
    asked += 1
    begun.resolve()
    return at === 0 && asked === 1 ? { hang: true } : { text: 'Recovered.' }
  }
  const options: Options = { boss: [{ calls: asks }, { text: 'Thanks.' }], worker: slow, store }
  const first = makeEngine(options)
  const session = await first.begin()
  void session.say({ parts: words('go'), wire: 'test' })
  await begun.promise
  await session.flushed()
  const worker = session.state.workers?.[0] ?? ''
  const live = await first.engine.sessions.open(owner, worker)
  session.lose(new Error('a crash'))
  live.lose(new Error('a crash'))
  const second = makeEngine(options)
  await second.engine.recover()
  const again = await second.engine.sessions.open(owner, session.id)
  while (again.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
  assert.deepEqual(resultOf(again), { kind: 'ok', text: 'Recovered.' })
  assert.deepEqual(again.state.workers, [worker])
  const log = await second.engine.events({ owner, session: worker })
  assert.equal(log.filter(({ event }) => event.type === 'turn.started').length, 1)
})

test('a call whose agent is lost at its work is unknown', async () => {
  const quick = tool({ name: 'quick', description: 'q', input: numbered, trust: 'trusted', run: () => 'ok' })
  const usage = { input: 1, output: 1 }
  const worker: Script = (_request, at) =>
    at === 0 ? { calls: [{ name: 'quick', input: { n: 1 } }], usage } : { hang: true }
  const boss: Script = [{ calls: asks }, { text: 'I will look.' }]
  const { engine, begin } = makeEngine({ boss, worker, workerTools: [quick] })
  const session = await begin()
  const said = say(session)
  // What the worker has used was counted here, so its events are being read.
  while (!session.state.batch[0]?.delegated?.upTo) await new Promise(resolve => setImmediate(resolve))
  ;(await workerOf(engine, session)).lose(new TurnwireError('store_failed', 'The disk is gone.'))
  await said
  assert.equal(resultOf(session).kind, 'unknown')
})

const stopsOf = async (engine: LocalEngine, session: string): Promise<string[]> =>
  (await engine.events({ owner, session })).flatMap(({ event }: { event: Event }) =>
    event.type === 'turn.ended' ? [event.stop] : [],
  )

test('the agent is cancelled with its call: while it works, and while it waits', async () => {
  const working = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: () => ({ hang: true }),
  })
  const one = await working.begin()
  void one.say({ parts: words('go'), wire: 'test' })
  while (!one.state.workers) await new Promise(resolve => setTimeout(resolve, 5))
  const worker = await workerOf(working.engine, one)
  while (!worker.state.turn) await new Promise(resolve => setTimeout(resolve, 5))
  await one.cancel()
  while (worker.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
  await worker.flushed()
  assert.deepEqual(await stopsOf(working.engine, worker.id), ['cancelled'])

  const waits = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mail', input: { n: 1 } }] }, { text: 'Sent.' }],
  })
  const two = await waits.begin()
  await say(two)
  await two.cancel()
  const waiting = await workerOf(waits.engine, two)
  while (waiting.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
  await waiting.flushed()
  assert.deepEqual(await stopsOf(waits.engine, waiting.id), ['cancelled'])
  assert.deepEqual(waits.runs, [])
})

test('an agent has what is left of the turn, and agents at the same time share it', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: numbered,
    readOnly: true,
    trust: 'trusted',
    run: () => 'seen',
  })
  const forever: Script = (_request, at) => ({ calls: [{ name: 'look', input: { n: at } }] })
  const { engine, begin } = makeEngine({
    boss: [{ calls: [...asks, { name: 'ask_worker', input: { task: 'Another.' } }] }, { text: 'Thanks.' }],
    worker: forever,
    workerTools: [look],
    limits: { steps: 10 },
  })
  const session = await begin()
  await say(session)
  assert.equal(session.state.lastStop?.limit, 'steps')
  const steps = await Promise.all(
    (session.state.workers ?? []).map(async id => {
      const log = await engine.events({ owner, session: id })
      return log.filter(({ event }) => event.type === 'model.answered').length
    }),
  )
  assert.equal(steps.length, 2)
  assert.ok(steps.reduce((a, b) => a + b, 0) <= 12, `both together made ${steps.join(' and ')} steps`)
})

test('an agent that has itself as a tool ends', async () => {
  const again: Script = () => ({ calls: asks })
  const { begin } = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: again,
    workerTools: [agentTool('worker')],
  })
  const session = await begin()
  await say(session)
  assert.equal(session.status, 'idle')
})

test('a program asks agents in parallel, and their approvals wait together', async () => {
  const code = `return (await Promise.all([1, 2].map(n => tools.ask_worker({ task: 'Mail ' + n })))).join(' ')`
  const { runs, begin } = makeEngine({
    boss: [{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Thanks.' }],
    worker: (request, at) =>
      at === 0
        ? {
            calls: [
              {
                name: 'mail',
                input: {
                  n: Number(
                    joinText(request.history[0]?.role === 'user' ? request.history[0].parts : []).slice(5),
                  ),
                },
              },
            ],
          }
        : { text: 'Sent.' },
    bossTools: [codeTool(), agentTool('worker')],
  })
  const session = await begin()
  await say(session)
  assert.equal(open(session).length, 2)
  await decide(session)
  assert.deepEqual(resultOf(session), { kind: 'ok', text: 'Sent. Sent.' })
  assert.deepEqual(runs.toSorted(), ['mail {"n":1}', 'mail {"n":2}'])
})

test('a session is deleted with the sessions that worked for it', async () => {
  const { engine, begin } = makeEngine({
    boss: [{ calls: asks }, { text: 'Thanks.' }],
    worker: [{ text: 'Done.' }],
  })
  const session = await begin()
  await say(session)
  const worker = await workerOf(engine, session)
  await engine.remove({ owner, session: session.id })
  await assert.rejects(engine.summary({ owner, session: worker.id }), { code: 'session_not_found' })
})

test('another agent goes on with the conversation, with its own tools and its own words', async () => {
  const { engine, runs, begin, store } = makeEngine({
    boss: [{ calls: [{ name: 'hand_over_to_worker', input: { reason: 'mail' } }] }, { text: 'never said' }],
    worker: request => {
      assert.deepEqual(
        request.tools.map(({ name }) => name),
        ['mail', 'mine'],
      )
      const entries = request.history.length
      return entries === 3 ? { calls: [{ name: 'mail', input: { n: 1 } }] } : { text: 'I am the worker.' }
    },
  })
  const session = await begin({ clientTools: [clientTool('mine')] })
  await say(session)
  assert.equal(session.state.agent, 'worker')
  assert.equal(session.status, 'waiting')
  await decide(session)
  assert.deepEqual(runs, ['mail {"n":1}'])
  const summary = await engine.summary({ owner, session: session.id })
  assert.equal(summary.agent, 'worker')
  const { rows } = await engine.list(owner, { limit: 1 })
  assert.equal(rows[0]?.agent, 'worker')
  const changed = (await store.read(session.id)).find(({ event }) => event.type === 'agent.changed')
  assert.ok(changed, 'the log says so')
  await say(session, 'Still there?')
  const last = session.state.entries.at(-1)
  assert.equal(joinText(last?.role === 'assistant' ? last.parts : []), 'I am the worker.')
})

test('a hand-over to an agent whose tools have the names of the client’s is refused', async () => {
  const { begin } = makeEngine({
    boss: [{ calls: [{ name: 'hand_over_to_worker', input: {} }] }, { text: 'I stay.' }],
    worker: [{ text: 'never' }],
  })
  const session = await begin({ clientTools: [clientTool('mail')] })
  await say(session)
  assert.equal(session.state.agent, 'helper')
  assert.match(resultOf(session).text, /"mail" is already a tool of the server/)
})

test('an agent that is not there is told to the model', async () => {
  const { begin } = makeEngine({
    boss: [{ calls: [{ name: 'ask_nobody', input: { task: 'x' } }] }, { text: 'Thanks.' }],
    worker: [],
    bossTools: [agentTool('nobody')],
  })
  const session = await begin()
  await say(session)
  assert.equal(resultOf(session).kind, 'error')
})
