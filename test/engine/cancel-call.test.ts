// One call is stopped where calls make calls: those of a program, of another agent, and those that wait there.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Agent, LocalEngine, type Session, Suspended, type Tool } from '../../src/engine/index.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import { joinText } from '../../src/language/content.ts'
import { type Script, scripted } from '../../src/models/scripted/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { agentTool, tool } from '../../src/tools/index.ts'
import { makeAgent, makeWorld, owner, plainSettings, until } from './rig.ts'

const engines: LocalEngine[] = []
after(() => Promise.all(engines.map(engine => engine.stop(0))))

const declared = { description: 'For a test.', input: { type: 'object' }, trust: 'trusted' } as const

function held(name: string) {
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const made = tool({
    ...declared,
    name,
    run: (_input, { signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      begun.resolve()
      return new Promise<string>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      })
    },
  })
  return { tool: made, begun: begun.promise, stopped: stopped.promise }
}

function makeEngine({ boss, worker = [], tools }: { boss: Script; worker?: Script; tools: readonly Tool[] }) {
  const agents: Record<string, Agent> = {
    helper: makeAgent({ model: scripted(boss), tools: [...tools, agentTool('worker')] }),
    worker: { ...makeAgent({ model: scripted(worker), tools }), name: 'worker' },
  }
  const engine = new LocalEngine({
    store: memoryStore(),
    world: makeWorld(),
    vault: { seal: text => text, open: text => text },
    agent: name => agents[name],
    agents: () => Object.values(agents).map(agent => ({ agent })),
    log: () => {},
  })
  engines.push(engine)
  const create = { owner, agent: 'helper', wire: 'test', settings: plainSettings, seed: [] }
  return { engine, begin: () => engine.sessions.create(create) }
}

const start = (session: Session) => session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
const stop = (session: Session, callId: string) =>
  runCommand(session, { do: 'cancel-call', callId, by: 'olga', reason: 'not that' })

function resultOf(session: Session): string {
  const last = session.state.entries.findLast(entry => entry.role === 'tool')
  assert.ok(last?.role === 'tool')
  const { outcome } = last.results[0]!
  return `${outcome.kind}: ${joinText(outcome.parts)}`
}

const ask = [{ name: 'ask_worker', input: { task: 'Do it.' } }]

test('a nested call is stopped, and the call that made it goes on with that', async () => {
  const slow = held('slow')
  const program: Tool = {
    ...tool({ ...declared, name: 'program', run: () => '' }),
    resumable: true,
    run: async (_input, { nested }) => {
      const made = await nested!.call('a', 'slow', '{}')
      return { parts: [{ type: 'text', text: `it was ${made.outcome.kind}` }] }
    },
  }
  const { begin } = makeEngine({
    boss: [{ calls: [{ name: 'program' }] }, { text: 'Fine.' }],
    tools: [slow.tool, program],
  })
  const session = await begin()
  await start(session)
  await slow.begun
  await until(session, () => stop(session, session.state.batch[1]?.part.id ?? ''))
  await slow.stopped
  assert.equal(resultOf(session), 'ok: it was cancelled')
})

test('a call that makes calls is stopped with all of them', async () => {
  const slow = held('slow')
  const program: Tool = {
    ...tool({ ...declared, name: 'program', run: () => '' }),
    resumable: true,
    run: async (_input, { nested, signal }) => {
      await Promise.race([
        nested!.call('a', 'slow', '{}'),
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Suspended()))),
      ])
      return { parts: [] }
    },
  }
  const { begin } = makeEngine({
    boss: [{ calls: [{ name: 'program' }] }, { text: 'Fine.' }],
    tools: [slow.tool, program],
  })
  const session = await begin()
  await start(session)
  await slow.begun
  await until(session, () => stop(session, session.state.batch[0]?.part.id ?? ''))
  await slow.stopped
  assert.match(resultOf(session), /^cancelled: .*not that/)
})

test('a call of an agent that works for a call is stopped by its id; the agent and the turn go on', async () => {
  const slow = held('slow')
  const { engine, begin } = makeEngine({
    boss: [{ calls: ask }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'slow' }] }, { text: 'Then without it.' }],
    tools: [slow.tool],
  })
  const session = await begin()
  await start(session)
  await slow.begun
  const worker = await engine.sessions.open(owner, session.state.workers?.[0] ?? '')
  await until(session, () => stop(session, worker.state.batch[0]?.part.id ?? ''))
  await slow.stopped
  assert.match(resultOf(worker), /^cancelled/)
  assert.equal(resultOf(session), 'ok: Then without it.')
})

test('the call for an agent is stopped with the session that works for it', async () => {
  const slow = held('slow')
  const { engine, begin } = makeEngine({
    boss: [{ calls: ask }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'slow' }] }],
    tools: [slow.tool],
  })
  const session = await begin()
  await start(session)
  await slow.begun
  await until(session, () => stop(session, session.state.batch[0]?.part.id ?? ''))
  await slow.stopped
  const worker = await engine.sessions.open(owner, session.state.workers?.[0] ?? '')
  assert.equal(worker.state.lastStop?.stop, 'cancelled')
  assert.match(resultOf(session), /^cancelled/)
})

test('a call that waits in the session of an agent is stopped where it is shown, and is cancelled there', async () => {
  const mail = tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' })
  const { engine, begin } = makeEngine({
    boss: [{ calls: ask }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'mail' }] }, { text: 'Not written.' }],
    tools: [mail],
  })
  const session = await begin()
  await until(session, () => start(session))
  const mirror = session.state.batch.find(({ mirrors }) => mirrors)
  assert.equal(mirror?.stage, 'asking')
  await until(session, () => stop(session, mirror.part.id))
  const worker = await engine.sessions.open(owner, session.state.workers?.[0] ?? '')
  assert.match(resultOf(worker), /^cancelled: .*before it ran.*not that/)
  assert.equal(resultOf(session), 'ok: Not written.')
})

test('the session of an agent takes the command itself, and no other', async () => {
  const slow = held('slow')
  const { engine, begin } = makeEngine({
    boss: [{ calls: ask }, { text: 'Thanks.' }],
    worker: [{ calls: [{ name: 'slow' }] }, { text: 'Then without it.' }],
    tools: [slow.tool],
  })
  const session = await begin()
  await start(session)
  await slow.begun
  const ref = { owner, session: session.state.workers?.[0] ?? '' }
  const worker = await engine.sessions.open(owner, ref.session)
  const callId = worker.state.batch[0]?.part.id ?? ''
  const parts = [{ type: 'text' as const, text: 'hi' }]
  await assert.rejects(engine.command(ref, { do: 'say', wire: 'test', parts, during: 'queue' }), {
    code: 'controlled',
  })
  await until(session, () => engine.command(ref, { do: 'cancel-call', callId, by: 'olga' }))
  assert.equal(resultOf(session), 'ok: Then without it.')
})
