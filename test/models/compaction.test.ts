// Compaction against the strict doubles: none refuses its own request, or a request after it. It never separates a call
// from its result, a failure does no harm, and the log keeps the whole history.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Model, ModelAnswer, ModelRequest } from '../../src/engine/index.ts'
import { compactNow, findCut, isSeam } from '../../src/engine/turn/compact.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { type Entry, listCalls } from '../../src/language/history.ts'
import { rehearsal } from '../../src/models/rehearsal/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { eventsOf, makeRig, begin as start, say as talk, typesOf, until } from '../engine/rig.ts'
import {
  acceptedByAll,
  begin,
  openTable,
  refusals,
  say,
  startVendors,
  tell,
  type Vendors,
  vendorNames,
} from './rig.ts'
import { scenes, seed, tools } from './scenes.ts'

let vendors: Vendors
before(async () => {
  vendors = await startVendors()
})
after(() => vendors.close())

const isSummary = (body: unknown): boolean =>
  JSON.stringify(body).includes('Write a summary of the conversation')

describe('the request for a summary', () => {
  for (const vendor of vendorNames)
    test(`${vendor} accepts it for a session that has every kind of call and outcome`, async () => {
      const table = openTable(vendors, { tools, agent: { compaction: { afterTokens: 1e9, keepEntries: 3 } } })
      let session = await begin(table, vendor, {}, seed)
      for (const scene of scenes) {
        session = await scene.play({ table, session, vendors, vendor })
        const whole = session.state.entries.length
        const asked = vendors.doubles[vendor].exchanges.length
        say(vendors, session, vendor, { thinking: 'To sum up.', text: `All of "${scene.name}" was tried.` })
        assert.equal(await compactNow(session), true, scene.name)
        const requests = vendors.doubles[vendor].exchanges.slice(asked)
        assert.equal(requests.length, 1)
        assert.ok(isSummary(requests[0]?.body))
        assert.equal(session.state.entries.length, whole)
        await acceptedByAll(table, session, `after ${scene.name}`)
      }
      for (const name of vendorNames) assert.deepEqual(refusals(vendors.doubles[name]), [])
    })

  test('it declares the tools and allows no call, also when the agent offers no tools any more', async () => {
    const table = openTable(vendors, { tools })
    for (const vendor of vendorNames) {
      const session = await begin(table, vendor)
      for (let round = 0; round < 3; round++) {
        say(vendors, session, vendor, { calls: [{ name: 'read', input: {} }] })
        await tell(session, 'Read.')
      }
      const bare = openTable(vendors, { store: table.store })
      const again = await bare.engine.open(session.state.owner, session.id)
      assert.equal(await compactNow(again), true)
      await tell(again, 'Go on.')
      assert.equal(again.state.lastStop?.stop, 'end')
      assert.deepEqual(refusals(vendors.doubles[vendor]), [])
    }
  })
})

// ---- with models of our own: when a summary is requested -------------------------------------------------------

const read = tool({
  name: 'read',
  description: 'Reads.',
  input: { type: 'object' },
  trust: 'trusted',
  exposed: false,
  run: () => 'x'.repeat(50),
})

type Asked = { requests: ModelRequest[]; model: Model }

/** Calls tools in three steps and then answers, over and over. `summary` makes its summaries. */
function talker(summary: (request: ModelRequest, attempt: number) => string, tokens = 1000): Asked {
  const requests: ModelRequest[] = []
  let attempts = 0
  let steps = 0
  const respond: Model['respond'] = async request => {
    requests.push(request)
    if (request.purpose === 'summary')
      return {
        parts: [{ type: 'text', text: summary(request, ++attempts) }],
        stop: 'end',
        usage: { input: 7, output: 3 },
      }
    steps += 1
    const calls = ['a', 'b'].map(
      n => ({ type: 'call', name: 'read', form: 'json', text: `{"${n}":${steps}}` }) as const,
    )
    const answer: ModelAnswer =
      steps % 4 === 0
        ? { parts: [{ type: 'text', text: 'Done.' }], stop: 'end' }
        : { parts: calls, stop: 'calls' }
    return { ...answer, usage: { input: tokens, output: 10 } }
  }
  return { requests, model: { id: 'talker', respond } }
}

function mustBeSound(history: readonly Entry[]): void {
  let open: string[] = []
  for (const entry of history) {
    if (entry.role === 'tool') {
      assert.deepEqual(
        entry.results.map(result => result.callId),
        open,
        'results answer the calls before them',
      )
      open = []
    } else assert.deepEqual(open, [], 'every call has its result')
    if (entry.role === 'assistant') open = listCalls(entry).map(call => call.id)
  }
  assert.deepEqual(open, [])
}

const summaries = ({ requests }: Asked): ModelRequest[] =>
  requests.filter(request => request.purpose === 'summary')

describe('a compaction starts', () => {
  test('before the next request once the last one passed the limit, also within a turn', async () => {
    const asked = talker(() => 'Much was read.')
    const compaction = { afterTokens: 900, keepEntries: 2, instructions: 'Be short.' }
    const rig = makeRig({ model: asked.model, tools: [read], agent: { compaction } })
    const session = await start(rig)
    await talk(session, 'Read it all.')
    assert.equal(session.state.lastStop?.stop, 'end')
    const types = await typesOf(rig, session)
    assert.ok(types.includes('history.compacted'))
    assert.ok(types.indexOf('history.compacted') < types.indexOf('turn.ended'))
    const [request] = summaries(asked)
    assert.equal(request?.choice, 'none')
    assert.deepEqual(
      request?.tools.map(({ name }) => name),
      ['read'],
    )
    assert.deepEqual(request?.history.at(-1), { role: 'user', parts: [{ type: 'text', text: 'Be short.' }] })
    for (const { history } of asked.requests) mustBeSound(history)
    assert.ok(session.state.view.length < session.state.entries.length)
    const wish = { role: 'user', parts: [{ type: 'text', text: 'Read it all.' }] }
    assert.ok(
      JSON.stringify(asked.requests.at(-1)?.history).includes(JSON.stringify(wish)),
      "the user's message is kept",
    )
  })

  test('neither below the limit nor without the setting', async () => {
    for (const compaction of [{ afterTokens: 1010, keepEntries: 2 }, undefined]) {
      const asked = talker(() => 'x')
      const rig = makeRig({ model: asked.model, tools: [read], agent: compaction ? { compaction } : {} })
      const session = await start(rig)
      await talk(session, 'Read.')
      await talk(session, 'Read.')
      assert.equal(summaries(asked).length, 0)
    }
  })

  test('at most every second step, even if the kept entries alone pass the limit', async () => {
    const asked = talker(() => 'x')
    const rig = makeRig({
      model: asked.model,
      tools: [read],
      agent: { compaction: { afterTokens: 1, keepEntries: 4 } },
    })
    const session = await start(rig)
    for (let turn = 0; turn < 6; turn++) await talk(session, 'Read.')
    const steps = asked.requests.length - summaries(asked).length
    assert.ok(
      summaries(asked).length > 1 && summaries(asked).length <= steps / 2,
      `${summaries(asked).length} of ${steps}`,
    )
  })

  test('and its cost is recorded', async () => {
    const asked = talker(() => 'x')
    const rig = makeRig({
      model: asked.model,
      tools: [read],
      agent: { compaction: { afterTokens: 1, keepEntries: 2 } },
    })
    const session = await start(rig)
    await talk(session, 'Read.')
    const event = (await eventsOf(rig, session)).find(each => each.type === 'history.compacted')
    assert.deepEqual([event?.model, event?.usage], ['talker', { input: 7, output: 3 }])
  })
})

describe('failures', () => {
  test('a request that is too long is sent again without its older half, and is valid each time', async () => {
    const asked = talker((request, attempt) => {
      if (request.history.length > 6) throw new TurnwireError('model_rejected', 'prompt is too long')
      return `In ${attempt} attempts.`
    })
    const rig = makeRig({
      model: asked.model,
      tools: [read],
      agent: { compaction: { afterTokens: 1e9, keepEntries: 2 } },
    })
    const session = await start(rig)
    for (let turn = 0; turn < 4; turn++) await talk(session, `Read ${turn}.`)
    assert.equal(await compactNow(session), true)
    assert.ok(summaries(asked).length > 2)
    const table = openTable(vendors, { tools: [read] })
    for (const { history, tools: offered } of summaries(asked)) {
      mustBeSound(history)
      for (const name of vendorNames)
        await table.vendors.models[name].respond(
          { session: 's', history, tools: offered, choice: 'none', parallel: true, options: {} },
          () => {},
          new AbortController().signal,
        )
    }
    for (const name of vendorNames) assert.deepEqual(refusals(vendors.doubles[name]), [])
  })

  test('a failed summary leaves the turn and the history as they were', async () => {
    for (const summary of [
      () => {
        throw new TurnwireError('model_failed', 'no')
      },
      () => {
        throw new TurnwireError('model_rejected', 'never')
      },
      () => ' ',
    ]) {
      const asked = talker(summary)
      const rig = makeRig({
        model: asked.model,
        tools: [read],
        agent: { compaction: { afterTokens: 1, keepEntries: 4 } },
      })
      const session = await start(rig)
      await talk(session, 'Read.')
      await talk(session, 'Read.')
      assert.equal(session.state.lastStop?.stop, 'end')
      assert.equal(session.state.view, session.state.entries)
      assert.ok(rig.logs.some(line => /warn .*could not be compacted/.test(line)))
      await assert.rejects(compactNow(session), TurnwireError)
    }
  })

  test('a cancellation stops it at once and records nothing', async () => {
    const asked = talker(() => 'x')
    const begun = Promise.withResolvers<void>()
    const model: Model = {
      id: 'slow',
      respond: (request, watch, signal) => {
        if (request.purpose !== 'summary') return asked.model.respond(request, watch, signal)
        begun.resolve()
        return new Promise(() => {})
      },
    }
    const rig = makeRig({ model, tools: [read], agent: { compaction: { afterTokens: 1, keepEntries: 2 } } })
    const session = await start(rig)
    const over = talk(session, 'Read.')
    await begun.promise
    await session.cancel()
    await over
    assert.equal(session.state.lastStop?.stop, 'cancelled')
    assert.ok(!(await typesOf(rig, session)).includes('history.compacted'))
  })

  test('it is refused while a turn runs, and while another compaction runs', async () => {
    const asked = talker(() => 'x')
    const rig = makeRig({ model: asked.model, tools: [read] })
    const session = await start(rig)
    const over = talk(session, 'Read.')
    await assert.rejects(compactNow(session), { code: 'busy' })
    await over
    await talk(session, 'Read.')
    const both = await Promise.allSettled([compactNow(session), compactNow(session)])
    assert.deepEqual(
      both.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    )
    assert.equal(await compactNow(session), false, 'there is nothing left to compact')
  })

  test('waiting calls are kept and can be answered afterwards', async () => {
    const ask = tool({
      name: 'read',
      description: 'Reads.',
      input: { type: 'object' },
      trust: 'ask',
      run: () => 'ok',
    })
    const asked = talker(() => 'Read before.')
    const rig = makeRig({
      model: asked.model,
      tools: [ask],
      agent: { compaction: { afterTokens: 1e9, keepEntries: 4 } },
    })
    const session = await start(rig)
    await talk(session, 'Read.')
    const approveAll = () =>
      until(session, () =>
        session.respond({
          results: [],
          decisions: session.state.batch.map(({ part }) => ({ callId: part.id, granted: true, by: 'ana' })),
        }),
      )
    while (session.state.turn) await approveAll()
    await talk(session, 'Read more.')
    await approveAll()
    const waiting = session.state.batch.map(({ part }) => part.id)
    assert.equal(waiting.length, 2)
    assert.equal(await compactNow(session), true)
    assert.deepEqual(
      session.state.batch.map(({ part }) => part.id),
      waiting,
    )
    while (session.state.turn) await approveAll()
    for (const { history } of asked.requests) mustBeSound(history)
  })
})

describe('after a compaction', () => {
  test('AAP shows the whole history as `full`, and what the model is sent as `compacted`', async () => {
    const asked = talker(() => 'Two were read.')
    const rig = makeRig({ model: asked.model, tools: [read] })
    const session = await start(rig)
    for (let turn = 0; turn < 3; turn++) await talk(session, `Read ${turn}.`)
    const before = structuredClone(session.state.entries)
    await compactNow(session)
    assert.deepEqual(session.state.entries, before)
    const compacted = session.state.view
    assert.ok(compacted.length < before.length)
    assert.equal(compacted[1]?.role, 'assistant')
    assert.match(JSON.stringify(compacted[1]), /Two were read/)
    assert.equal(compacted[2]?.role, 'user')
    const again = await makeRig({ model: asked.model, tools: [read], store: rig.store }).engine.open(
      'ana',
      session.id,
    )
    assert.deepEqual(again.state.view, session.state.view)
    assert.deepEqual(again.state.entries, before)
  })

  test('instructions in the middle of the history are kept', async () => {
    const asked = talker(() => 'x')
    const rig = makeRig({ model: asked.model, tools: [read] })
    const words = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
    const session = await rig.engine.create({
      owner: 'ana',
      agent: 'helper',
      wire: 'test',
      settings: { tools: null, options: {}, clientTools: [] },
      seed: [words('a'), { role: 'system', text: 'Never shout.' }, words('b')],
    })
    for (let turn = 0; turn < 2; turn++) await talk(session, 'Read.')
    await compactNow(session)
    assert.deepEqual(session.state.view[0], { role: 'system', text: 'Never shout.' })
  })

  test('a scripted model goes on with its next step, and the rehearsal model can summarise', async () => {
    const steps = Array.from({ length: 8 }, (_, at) => ({ text: `step ${at}` }))
    const rig = makeRig({ model: scripted(steps) })
    const session = await start(rig)
    for (let turn = 0; turn < 6; turn++) await talk(session, 'Next.')
    assert.equal(await compactNow(session), true)
    await talk(session, 'Next.')
    assert.deepEqual(session.state.entries.at(-1), {
      role: 'assistant',
      parts: [{ type: 'text', text: 'step 6' }],
    })
    const other = makeRig({ model: rehearsal(), tools: [read] })
    const free = await start(other)
    for (let turn = 0; turn < 6; turn++) await talk(free, 'Please read it.')
    assert.equal(await compactNow(free), true)
    assert.match(JSON.stringify(free.state.view[1]), /You said: “Please read it.”.*read answered/)
  })
})

describe('the place of the cut', () => {
  const user: Entry = { role: 'user', parts: [{ type: 'text', text: 'u' }] }
  const spoke: Entry = { role: 'assistant', parts: [{ type: 'text', text: 'a' }] }
  const called: Entry = {
    role: 'assistant',
    parts: [{ type: 'call', id: 'c', name: 'f', form: 'json', text: '{}' }],
  }
  const result: Entry = {
    role: 'tool',
    results: [{ callId: 'c', name: 'f', outcome: { kind: 'ok', parts: [], from: { source: 'runtime' } } }],
  }

  test('is never between a call and its result, nor inside a paused answer', () => {
    const view = [user, called, result, spoke, spoke, user]
    assert.deepEqual(
      view.map((_, index) => isSeam(view, index)),
      [false, true, false, true, false, true],
    )
  })

  test("is before a user's message where possible", () => {
    assert.equal(findCut([user, spoke, user, spoke, user, called, result, spoke], 3), 4)
    assert.equal(findCut([user, spoke, user], 1), 0, 'too little to be worth it')
    assert.equal(
      findCut([user, ...Array.from({ length: 6 }, () => [called, result]).flat()], 4),
      9,
      'one long turn',
    )
    assert.equal(findCut([user, called], 1), 0)
    assert.equal(findCut([], 8), 0)
  })
})
