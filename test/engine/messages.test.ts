// Messages while a turn is under way, and calls that are stopped alone, with the whole loop.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Accepted, FollowItem, Session } from '../../src/engine/index.ts'
import { type LoadedCommand, runCommand } from '../../src/engine/turn/run-command.ts'
import { joinText } from '../../src/language/content.ts'
import type { WaitMode } from '../../src/language/events.ts'
import type { Entry } from '../../src/language/history.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { later, tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, owner, type Rig, type RigOptions, say, stopAll, until } from './rig.ts'

after(stopAll)

const words = (text: string) => [{ type: 'text' as const, text }]
const declared = { description: 'For a test.', input: { type: 'object' }, trust: 'trusted' } as const

/** A tool that runs until it is let go, and tells when it was stopped. */
function held(name: string, flags: object = {}) {
  const [go, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let stopped = false
  const made = tool({
    ...declared,
    ...flags,
    name,
    run: async (_input, { signal }) => {
      signal.addEventListener('abort', () => {
        stopped = true
      })
      begun.resolve()
      await go.promise
      return `${name} is done`
    },
  })
  return { tool: made, go: go.resolve, begun: begun.promise, isStopped: () => stopped }
}

const during = (session: Session, text: string, how: WaitMode, more: object = {}): Promise<Accepted> =>
  runCommand(session, { do: 'say', wire: 'test', parts: words(text), during: how, ...more })

const command = (session: Session, given: LoadedCommand): Promise<Accepted> => runCommand(session, given)

/** The history in short: who said what, and how calls ended. */
const lines = (entries: readonly Entry[]): string[] =>
  entries.map(entry => {
    if (entry.role === 'tool')
      return `tool ${entry.results.map(({ name, outcome }) => `${name}=${outcome.kind}`).join(' ')}`
    return entry.role === 'system' ? 'system' : `${entry.role} ${joinText(entry.parts)}`.trim()
  })

const idle = (session: Session, act: () => Promise<unknown>) => until(session, act)

const typesAfter = async (rig: Rig, session: Session, first: string): Promise<string[]> => {
  const types = (await eventsOf(rig, session)).map(({ type }) => type)
  return types.slice(types.indexOf(first as (typeof types)[number]))
}

function rigWith(over: RigOptions) {
  return makeRig(over)
}

test('a queued message starts the next turn in the write that ends this one', async () => {
  const slow = held('slow')
  const writes: string[][] = []
  const memory = memoryStore()
  const rig = rigWith({
    tools: [slow.tool],
    script: [{ calls: [{ name: 'slow' }] }, { text: 'First.' }, { text: 'Second.' }],
    store: {
      ...memory,
      append: batch => {
        writes.push(batch.events.map(({ type }) => type))
        return memory.append(batch)
      },
    },
  })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  const accepted = await during(session, 'two', 'queue')
  assert.equal(accepted.message?.state, 'queued')
  assert.equal((await rig.local.summary({ owner, session: session.id })).messages?.[0]?.during, 'queue')
  await idle(session, async () => slow.go())
  assert.deepEqual(lines(session.state.entries), [
    ...['user one', 'assistant', 'tool slow=ok', 'assistant First.', 'user two', 'assistant Second.'],
  ])
  const joint = writes.find(types => types.includes('message.delivered'))
  assert.deepEqual(joint?.slice(joint.indexOf('turn.ended'), joint.indexOf('turn.started') + 1), [
    ...['turn.ended', 'message.delivered', 'turn.started'],
  ])
})

test('a message that steers joins after the results of the present batch', async () => {
  const slow = held('slow')
  const rig = rigWith({
    tools: [slow.tool],
    script: [{ calls: [{ name: 'slow' }] }, { text: 'As you say.' }],
  })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  await during(session, 'in blue', 'steer')
  await idle(session, async () => slow.go())
  assert.deepEqual(lines(session.state.entries), [
    ...['user one', 'assistant', 'tool slow=ok', 'user in blue', 'assistant As you say.'],
  ])
  assert.equal((await eventsOf(rig, session)).filter(({ type }) => type === 'turn.started').length, 1)
})

test('a message that steers and comes after the last answer starts the next turn', async () => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const rig = rigWith({
    model: {
      id: 'm',
      respond: async ({ history }) => {
        if (history.length > 1) return { parts: words('Second.'), stop: 'end' }
        asked.resolve()
        await go.promise
        return { parts: words('First.'), stop: 'end' }
      },
    },
  })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await asked.promise
  await during(session, 'two', 'steer')
  await idle(session, async () => go.resolve())
  assert.deepEqual(lines(session.state.entries), [
    ...['user one', 'assistant First.', 'user two', 'assistant Second.'],
  ])
})

test('a message that steers while the history is summed up joins the request that follows', async () => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const rig = rigWith({
    agent: { compaction: { afterTokens: 1, keepEntries: 2 } },
    model: {
      id: 'm',
      respond: async ({ history, purpose }) => {
        const usage = { input: 100, output: 1 }
        if (purpose !== 'summary')
          return { parts: words(`Read: ${lines(history).at(-1)}.`), stop: 'end', usage }
        asked.resolve()
        await go.promise
        return { parts: words('They greeted.'), stop: 'end', usage }
      },
    },
  })
  const session = await begin(rig)
  for (const text of ['one', 'two', 'three']) await say(session, text)
  await session.say({ parts: words('four'), wire: 'test' })
  await asked.promise
  const steered = await during(session, 'in blue', 'steer')
  const taken = await during(session, 'a slip', 'steer')
  await command(session, { do: 'withdraw', message: taken.message?.id ?? '', by: owner })
  await idle(session, async () => go.resolve())
  assert.equal(steered.message?.state, 'queued')
  assert.deepEqual(lines(session.state.entries).slice(-3), [
    'user four',
    'user in blue',
    'assistant Read: user in blue.',
  ])
})

test('an interruption keeps what was shown, and the model answers the message in the same turn', async () => {
  const shown = Promise.withResolvers<void>()
  const rig = rigWith({
    script: ({ history }) =>
      history.length === 1 ? { text: 'Once upon a', hang: true } : { text: 'Very well.' },
  })
  const session = await begin(rig)
  session.feed.watch(item => {
    if (item.type === 'delta' && item.delta.type === 'text') shown.resolve()
  })
  await session.say({ parts: words('tell'), wire: 'test' })
  await shown.promise
  let accepted: Accepted | undefined
  await idle(session, async () => {
    accepted = await during(session, 'shorter', 'interrupt')
  })
  assert.equal(accepted?.message?.state, 'delivered')
  assert.deepEqual(lines(session.state.entries), [
    ...['user tell', 'assistant Once upon a', 'user shorter', 'assistant Very well.'],
  ])
  assert.equal((await eventsOf(rig, session)).filter(({ type }) => type === 'turn.ended').length, 1)
  assert.ok((session.state.used.tokens ?? 0) > 0, 'the cut step is counted')
})

test('an interruption stops the calls whose tools allow it, and waits for the others', async () => {
  const [look, pay] = [held('look', { readOnly: true }), held('pay')]
  const rig = rigWith({
    tools: [look.tool, pay.tool],
    script: [{ calls: [{ name: 'look' }, { name: 'pay' }] }, { text: 'Stopped.' }],
  })
  const session = await begin(rig)
  await session.say({ parts: words('go'), wire: 'test' })
  await Promise.all([look.begun, pay.begun])
  const { message } = await during(session, 'wait', 'interrupt')
  assert.equal(message?.state, 'queued')
  assert.deepEqual([look.isStopped(), pay.isStopped()], [true, false])
  await idle(session, async () => pay.go())
  assert.deepEqual(lines(session.state.entries), [
    ...['user go', 'assistant', 'tool look=cancelled pay=ok', 'user wait', 'assistant Stopped.'],
  ])
})

test('outside a turn every message starts one, and a caller that says nothing is refused as before', async () => {
  const slow = held('slow')
  const rig = rigWith({ tools: [slow.tool], script: [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }] })
  const session = await begin(rig)
  const { message } = await during(session, 'one', 'steer')
  assert.equal(message, undefined)
  await slow.begun
  const busy = { code: 'busy' }
  await assert.rejects(
    command(session, { do: 'say', wire: 'test', parts: words('two'), during: 'refuse' }),
    busy,
  )
  await assert.rejects(command(session, { do: 'say', wire: 'test', parts: words('two') }), busy)
  await idle(session, async () => slow.go())
})

test('a queued message leaves what waits for a person as it is', async () => {
  const mail = tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' })
  const rig = rigWith({
    tools: [mail],
    script: [{ calls: [{ name: 'mail' }] }, { text: 'Sent.' }, { text: 'And that.' }],
  })
  const session = await begin(rig)
  await say(session, 'write')
  await during(session, 'and that', 'queue')
  assert.equal(session.status, 'waiting')
  const callId = session.state.batch[0]?.part.id ?? ''
  await idle(session, () =>
    session.respond({ results: [], decisions: [{ callId, granted: true, by: owner }] }),
  )
  assert.deepEqual(lines(session.state.entries), [
    ...['user write', 'assistant', 'tool mail=ok', 'assistant Sent.', 'user and that', 'assistant And that.'],
  ])
})

test('a message with a key waits once, and the same request says what has become of it', async () => {
  const slow = held('slow')
  const rig = rigWith({ tools: [slow.tool], script: [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }] })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  const request = { key: 'k', hash: 'h' }
  const first = await during(session, 'two', 'steer', { request })
  const again = await during(session, 'two', 'steer', { request })
  assert.deepEqual([again.replayed, again.message], [true, first.message])
  await idle(session, async () => slow.go())
  const last = await during(session, 'two', 'steer', { request })
  assert.deepEqual(last.message, { id: first.message?.id, state: 'delivered' })
  assert.equal(lines(session.state.entries).filter(line => line === 'user two').length, 1)
})

test('a message is withdrawn until it is delivered; a cancellation can withdraw all', async () => {
  const slow = held('slow')
  const rig = rigWith({ tools: [slow.tool], script: [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }] })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  const { message } = await during(session, 'two', 'queue')
  const withdraw = { do: 'withdraw', message: message?.id ?? '', by: owner } as const
  await command(session, withdraw)
  await assert.rejects(command(session, withdraw), { code: 'message_delivered' })
  await during(session, 'three', 'steer')
  await idle(session, () => command(session, { do: 'cancel', withdraw: owner }))
  assert.equal(session.status, 'idle')
  assert.deepEqual(lines(session.state.entries), ['user one', 'assistant', 'tool slow=cancelled'])
  assert.deepEqual(await typesAfter(rig, session, 'message.withdrawn'), [
    ...['message.withdrawn', 'message.queued', 'message.withdrawn', 'call.settled', 'turn.ended'],
  ])
})

test('a cancellation alone lets the first message that waits start the next turn', async () => {
  const slow = held('slow')
  const rig = rigWith({ tools: [slow.tool], script: [{ calls: [{ name: 'slow' }] }, { text: 'Next.' }] })
  const session = await begin(rig)
  await session.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  await during(session, 'two', 'queue')
  await idle(session, () => command(session, { do: 'cancel' }))
  assert.deepEqual(lines(session.state.entries).slice(-2), ['user two', 'assistant Next.'])
})

test('a reader of one turn is not given the turn that a queued message starts, live or from the log', async () => {
  const slow = held('slow')
  const rig = rigWith({
    tools: [slow.tool],
    script: [{ calls: [{ name: 'slow' }] }, { text: 'First.' }, { text: 'Second.' }],
  })
  const session = await begin(rig)
  const { first } = await session.say({ parts: words('one'), wire: 'test' })
  const ref = { owner, session: session.id }
  const read = async (more: object): Promise<FollowItem[]> => {
    const items: FollowItem[] = []
    const options = { from: first, until: 'stop', deltas: 'none', ...more } as const
    for await (const batch of rig.local.follow(ref, options)) items.push(...batch)
    return items
  }
  const live = read({})
  await slow.begun
  await during(session, 'two', 'queue')
  await idle(session, async () => slow.go())
  for (const items of [
    await live,
    await read({}),
    await read({ replay: true }),
    await read({ until: 'turn' }),
  ]) {
    assert.deepEqual(
      items.slice(-2).map(item => (item.type === 'event' ? item.event.type : item.type)),
      ['turn.ended', 'ended'],
    )
  }
  const [next] = (await rig.store.read(session.id)).filter(({ event }) => event.type === 'message.delivered')
  const second = await read({ from: next?.seq })
  assert.equal(second.filter(item => item.type === 'event' && item.event.type === 'turn.ended').length, 1)
})

test('messages that wait survive the process: they are delivered after the next start', async () => {
  const store = memoryStore()
  const slow = held('slow')
  const script = [{ calls: [{ name: 'slow' }] }, { text: 'First.' }, { text: 'Second.' }]
  const before = await begin(rigWith({ tools: [slow.tool], script, store }))
  await before.say({ parts: words('one'), wire: 'test' })
  await slow.begun
  await during(before, 'in blue', 'steer')
  await during(before, 'two', 'queue')
  const rig = rigWith({ tools: [held('slow').tool], script, store })
  const session = await rig.engine.open(owner, before.id)
  await session.driver.settle()
  await session.flushed()
  assert.deepEqual(lines(session.state.entries), [
    ...['user one', 'assistant', 'tool slow=unknown', 'user in blue', 'assistant First.'],
    ...['user two', 'assistant Second.'],
  ])
})

test('one call is stopped: its signal aborts, the model is told, the other calls and the turn go on', async () => {
  const [one, other] = [held('one'), held('other')]
  const rig = rigWith({
    tools: [one.tool, other.tool],
    script: [{ calls: [{ name: 'one' }, { name: 'other' }] }, { text: 'Half of it.' }],
  })
  const session = await begin(rig)
  await session.say({ parts: words('go'), wire: 'test' })
  await Promise.all([one.begun, other.begun])
  const callId = session.state.batch[0]?.part.id ?? ''
  await command(session, { do: 'cancel-call', callId, by: 'olga', reason: 'too slow' })
  assert.deepEqual([one.isStopped(), other.isStopped()], [true, false])
  await assert.rejects(command(session, { do: 'cancel-call', callId, by: 'olga' }), { code: 'call_settled' })
  await idle(session, async () => other.go())
  assert.deepEqual(lines(session.state.entries), [
    ...['user go', 'assistant', 'tool one=cancelled other=ok', 'assistant Half of it.'],
  ])
  await assert.rejects(command(session, { do: 'cancel-call', callId: 'call_x', by: 'olga' }), {
    code: 'unknown_call',
  })
})

test('the last open call that is stopped lets the turn go on at once, whatever it waited for', async () => {
  const tools = [
    tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' }),
    tool({ ...declared, name: 'job', run: () => later({ expires: 1_000_000 }) }),
    tool({
      ...declared,
      name: 'asks',
      run: async (_input, { ask }) => {
        await ask({ message: 'Who?', schema: { type: 'object', properties: {} } })
        return 'asked'
      },
    }),
  ]
  for (const { name } of tools) {
    const rig = rigWith({ tools, script: [{ calls: [{ name }] }, { text: 'On it goes.' }] })
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(session.status, 'waiting')
    const callId = session.state.batch[0]?.part.id ?? ''
    await idle(session, () => command(session, { do: 'cancel-call', callId, by: owner }))
    assert.deepEqual(lines(session.state.entries).slice(-2), [
      `tool ${name}=cancelled`,
      'assistant On it goes.',
    ])
  }
})

test('a call that policy never answers about can be stopped', async () => {
  const rig = rigWith({
    tools: [tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' })],
    gate: { rules: [{ tool: 'mail', then: 'allow', when: () => new Promise<boolean>(() => {}) }] },
    script: [{ calls: [{ name: 'mail' }] }, { text: 'Without it.' }],
  })
  const session = await begin(rig)
  const judged = Promise.withResolvers<void>()
  session.feed.watch(item => {
    if (item.type === 'event' && item.event.type === 'model.answered') setImmediate(judged.resolve)
  })
  await session.say({ parts: words('go'), wire: 'test' })
  // The answer is deferrable: it is shown once it is written.
  await judged.promise
  const callId = session.state.batch[0]?.part.id ?? ''
  await idle(session, () => command(session, { do: 'cancel-call', callId, by: owner }))
  assert.deepEqual(lines(session.state.entries).slice(-1), ['assistant Without it.'])
})
