// What a page shows of real sessions: the fold of a log that the engine wrote, whole and live, gives the same view.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOut } from '../../console/src/pages/session/timeline-layout.ts'
import { agentTool, handOverTool, rehearsal, scripted, tool } from '../../src/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { runtimeOf, Turnwire } from '../../src/library/turnwire.ts'
import { describeActivity, type SessionView } from '../../src/react/view.ts'
import { ViewFold, type WatchedItem } from '../../src/react/view-fold.ts'

const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties })
const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  input: object({ city: { type: 'string' } }),
  readOnly: true,
  trust: 'trusted',
  run: () => '18 °C',
})
const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: object({ to: { type: 'string' } }),
  run: () => 'sent',
})

async function recorded(
  said: string,
): Promise<{ log: Recorded[]; live: WatchedItem[]; turnwire: Turnwire; id: string }> {
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [{ name: 'helper', model: rehearsal({ thinking: true }), tools: [weather, mail] }],
  })
  const { engine } = runtimeOf(turnwire)
  const settings = { tools: null, options: {}, clientTools: [] }
  const { session: id } = await engine.create({
    owner: 'local',
    agent: 'helper',
    wire: 'test',
    settings,
    seed: [],
  })
  const ref = { owner: 'local', session: id }
  const live: WatchedItem[] = []
  const stop = new AbortController()
  const reading = (async () => {
    for await (const items of engine.follow(ref, { from: 1, until: 'never', deltas: 'raw' }, stop.signal))
      for (const item of items) {
        if (item.type === 'event') live.push({ seq: item.seq, event: item.event })
        if (item.type === 'delta') live.push({ delta: item.delta })
        if (item.type === 'waiting') {
          const { calls } = await engine.summary(ref)
          const [asking] = calls.filter(({ stage }) => stage === 'asking')
          const decisions = [{ callId: asking?.part.id ?? '', granted: true, by: 'ana' }]
          await engine.command(ref, { do: 'respond', results: [], decisions })
        }
        if (item.type === 'ended' && live.length > 5) stop.abort()
      }
  })()
  await engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: said }] })
  await reading.catch(() => {})
  return { log: await engine.events(ref), live, turnwire, id }
}

const folded = (items: readonly WatchedItem[]): SessionView => {
  const fold = new ViewFold()
  for (const item of items) fold.take(item)
  return fold.snapshot()
}

/** Without the keys of rows, which differ between a live and a read view. */
const plain = (view: SessionView): unknown =>
  JSON.parse(
    JSON.stringify(
      { ...view, calls: [...view.calls], items: view.items.map(item => ({ ...item, key: '' })) },
      dropOutput,
    ),
  )
const dropOutput = (name: string, value: unknown): unknown =>
  name === 'byModel' || name === 'output' ? undefined : value

test('a view folded live is the view of the log', async t => {
  const { log, live, turnwire } = await recorded(
    'What is the weather in Oslo, and mail ana@example.org that I am late',
  )
  t.after(() => turnwire.close())
  assert.ok(live.some(item => 'delta' in item))
  const read = folded(log)
  assert.deepEqual(plain(folded(live)), plain(read))
  assert.deepEqual(
    [...read.calls.values()].map(({ name, status, approval }) => [name, status, approval?.decided?.by]),
    [
      ['get_weather', 'ok', undefined],
      ['send_mail', 'ok', 'ana'],
    ],
  )
  assert.deepEqual(describeActivity(read), { activity: 'done', words: 'Done' })
  assert.equal(read.steps.length, 2)
})

test('every prefix of a log can be shown, and says what the session does', async t => {
  const { log, turnwire } = await recorded('Mail ana@example.org that I am late')
  t.after(() => turnwire.close())
  const fold = new ViewFold()
  const words = log.map(entry => {
    fold.take(entry)
    const view = fold.snapshot()
    layOut(view, view.updatedAt)
    return describeActivity(view).words
  })
  assert.deepEqual(
    [...new Set(words)],
    [
      'Nothing was said yet',
      'The model is answering',
      'Waiting for approval of send_mail',
      'Running send_mail',
      'Done',
    ],
  )
})

test('an event that comes twice changes nothing', async t => {
  const { log, turnwire } = await recorded('What is the weather in Oslo?')
  t.after(() => turnwire.close())
  const twice = log.flatMap(entry => [entry, entry])
  assert.deepEqual(plain(folded(twice)), plain(folded(log)))
})

test('the timeline folds idle time and keeps the order of time', async t => {
  const { log, turnwire } = await recorded('Mail ana@example.org that I am late')
  t.after(() => turnwire.close())
  // The person took an hour.
  const late = log.map(({ seq, event }) => ({
    seq,
    event: seq > 4 ? { ...event, at: event.at + 3_600_000 } : event,
  }))
  const view = folded(late)
  const { bars, scale, lanes } = layOut(view, view.updatedAt)
  assert.equal(lanes, 2)
  assert.equal(scale.breaks.length, 1)
  assert.ok((scale.breaks[0]?.ms ?? 0) >= 3_600_000 - 1000)
  const mailBar = bars.find(bar => bar.label === 'send_mail')
  assert.deepEqual(
    mailBar?.parts.map(part => part.look).filter(look => look !== 'thin'),
    ['hatched', 'solid'],
  )
  const units = bars.map(bar => scale.toUnit(bar.from))
  assert.deepEqual(
    units,
    units.toSorted((a, b) => a - b),
  )
  for (const unit of [0, 0.3, 0.7, 1]) assert.ok(Math.abs(scale.toUnit(scale.toTime(unit)) - unit) < 1e-3)
})

/** A session of one turn with ten calls a step. */
function foldSteps(steps: number): ViewFold {
  const fold = new ViewFold()
  let seq = 0
  const take = (event: object): void => {
    seq += 1
    fold.take({ seq, event: { v: 1, at: 1_790_000_000_000 + seq, ...event } } as WatchedItem)
  }
  take({
    type: 'session.created',
    owner: 'local',
    agent: 'a',
    wire: 'w',
    settings: { tools: null, options: {}, clientTools: [] },
    seed: [],
  })
  take({ type: 'turn.started', turn: 't1', wire: 'w', parts: [] })
  for (let step = 0; step < steps; step += 1) {
    const parts = Array.from({ length: 10 }, (_, index) => ({
      type: 'call',
      id: `c${step}.${index}`,
      name: 'x',
      form: 'json',
      text: '{}',
    }))
    take({ type: 'model.answered', parts, stop: 'calls', model: 'm' })
    for (const { id } of parts)
      take({ type: 'call.started', callId: id, attempt: 1, allowed: { toolHash: 'h', rule: 'r' } })
    for (const { id } of parts)
      take({
        type: 'call.settled',
        callId: id,
        outcome: { kind: 'ok', parts: [{ type: 'text', text: 'ok' }], from: { source: 'tool', tool: 'x' } },
      })
  }
  return fold
}

test('the work of laying out a session grows with its calls, not with their square', () => {
  const [small, large] = [foldSteps(100), foldSteps(1000)]
  const least = (fold: ViewFold): number => {
    const times = Array.from({ length: 5 }, () => {
      const began = process.cpuUsage()
      const view = fold.snapshot()
      layOut(view, view.updatedAt)
      const { user, system } = process.cpuUsage(began)
      return user + system
    })
    return Math.min(...times)
  }
  const view = large.snapshot()
  assert.equal(view.calls.size, 10_000)
  assert.equal(layOut(view, view.updatedAt).bars.length, 11_001)
  const [one, ten] = [least(small), least(large)]
  // Ten times the calls. With their square it would be a hundred times the work.
  assert.ok(ten < 50 * Math.max(one, 500), `${one} µs for 1,000 calls, ${ten} µs for 10,000`)
})

test('what agents use that work for calls is added up, and agrees with what the engine counts', async () => {
  const usage = (input: number) => ({ input, output: 10, cost: input / 1000 })
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [
      {
        name: 'desk',
        model: scripted([
          { calls: [{ name: 'ask_writer', input: { task: 'Write' } }], usage: usage(100) },
          { text: 'Done.', usage: usage(200) },
        ]),
        tools: [agentTool('writer', { description: 'Writes.' })],
      },
      {
        name: 'writer',
        model: scripted([
          { calls: [{ name: 'get_weather', input: { city: 'Oslo' } }], usage: usage(30) },
          { text: 'Dry.', usage: usage(40) },
        ]),
        tools: [weather],
      },
    ],
  })
  const session = await turnwire.session('desk')
  await session.send('Go')
  const { engine } = runtimeOf(turnwire)
  const ref = { owner: 'local', session: session.id }
  const view = folded(await engine.events(ref))
  const { used } = await engine.summary(ref)
  assert.equal(view.usage.input + view.usage.output, used.tokens)
  assert.equal(view.usage.cost.toFixed(6), used.cost?.toFixed(6))
  assert.equal(view.usage.steps, 4)
  assert.deepEqual(
    [...view.byAgent].map(([name, { input, output, steps }]) => [name, input, output, steps]),
    [['writer', 70, 20, 2]],
  )
  const [call] = [...view.calls.values()].filter(({ delegated }) => delegated)
  assert.equal(call?.delegated?.agent, 'writer')
  assert.equal(call.delegated.used.input, 70)
  await turnwire.close()
})

test('a hand-over is shown where it happened, and a session of an agent leads to its own log', async () => {
  const turnwire = await Turnwire.open({
    data: 'memory',
    agents: [
      {
        name: 'desk',
        model: scripted([
          { calls: [{ name: 'ask_writer', input: { task: 'Write' } }] },
          { calls: [{ name: 'hand_over_to_writer', input: {} }] },
        ]),
        tools: [agentTool('writer'), handOverTool('writer')],
      },
      { name: 'writer', model: scripted(() => ({ text: 'The writer speaks.' })) },
    ],
  })
  const session = await turnwire.session('desk')
  await session.send('Go')
  const { engine } = runtimeOf(turnwire)
  const view = folded(await engine.events({ owner: 'local', session: session.id }))
  assert.equal(view.agent, 'writer')
  const note = view.items.find(({ type }) => type === 'note')
  assert.equal(note?.type === 'note' && note.text, 'The agent writer goes on with the conversation')
  const [call] = [...view.calls.values()].filter(({ delegated }) => delegated)
  const worker = folded(await engine.events({ owner: 'local', session: call?.delegated?.session ?? '' }))
  assert.equal(worker.agent, 'writer')
  assert.match(JSON.stringify(worker.items), /The writer speaks/)
  await turnwire.close()
})
