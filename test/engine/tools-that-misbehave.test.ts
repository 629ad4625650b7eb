// Whatever a tool, a model or a rule throws, the turn goes on or ends; and what a tool says on its way is redacted too.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Model } from '../../src/engine/index.ts'
import { InvalidInput } from '../../src/engine/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, eventsOf, makeRig, say, stopAll } from './rig.ts'

after(stopAll)

const anything = { type: 'object' } as const
const oddities: Record<string, () => unknown> = {
  'no prototype': () => Object.create(null),
  'a broken toString': () => ({
    toString: () => {
      throw new Error('no')
    },
  }),
  'a broken message': () =>
    Object.defineProperty(new Error('a'), 'message', {
      get: () => {
        throw new Error('no')
      },
    }),
  'a message that is no text': () => Object.assign(new Error('a'), { message: Symbol('b') }),
  nothing: () => undefined,
}

describe('something odd is thrown', () => {
  for (const [what, make] of Object.entries(oddities)) {
    test(`by a tool: ${what}`, async () => {
      const thrower = (name: string, run: () => unknown) =>
        tool({ name, description: 'd', input: anything, trust: 'trusted', run })
      const tools = [
        thrower('now', () => {
          throw make()
        }),
        thrower('later', () => Promise.reject(make())),
      ]
      const script = [{ calls: [{ name: 'now' }, { name: 'later' }] }, { text: 'Never mind.' }]
      const session = await begin(makeRig({ tools, script }))
      await say(session, 'go')
      const results = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
      assert.deepEqual(
        results.map(({ outcome }) => outcome.kind),
        ['error', 'error'],
      )
      assert.equal(session.state.lastStop?.stop, 'end')
    })

    test(`by a model: ${what}`, async () => {
      const model: Model = { id: 'm', respond: () => Promise.reject(make()) }
      const session = await begin(makeRig({ model }))
      await say(session, 'go')
      assert.equal(session.state.lastStop?.stop, 'error')
    })

    test(`by a rule: ${what}`, async () => {
      const quick = tool({ name: 'quick', description: 'd', input: anything, run: () => 'ok' })
      const rules = [{ then: 'allow' as const, when: () => Promise.reject(make()) }]
      const script = [{ calls: [{ name: 'quick' }] }, { text: 'So be it.' }]
      const session = await begin(makeRig({ tools: [quick], gate: { rules }, script }))
      await say(session, 'go')
      const [result] = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
      assert.deepEqual([result?.outcome.kind, session.state.lastStop?.stop], ['denied', 'end'])
    })
  }
})

const redact = ['secrets' as const]
const key = 'sk-abcdefghijklmnop1234'

test('what a tool shows while it runs is redacted, however it is cut', async () => {
  const chatty = tool({
    name: 'chatty',
    description: 'd',
    input: anything,
    trust: 'trusted',
    run: (_, context) => {
      context.progress({ message: `using ${key}`, done: 1 })
      for (const piece of [`key: ${key.slice(0, 9)}`, `${key.slice(9)}\nnext`, ' line'])
        context.progress({ output: piece })
      return 'done'
    },
  })
  const script = [{ calls: [{ name: 'chatty' }] }, { text: 'ok' }]
  const session = await begin(makeRig({ tools: [chatty], gate: { redact }, script }))
  const deltas = (await say(session, 'go')).flatMap(item => (item.type === 'delta' ? [item.delta] : []))
  assert.ok(!JSON.stringify(deltas).includes('abcdef'))
  const output = deltas.map(delta => (delta.type === 'output' ? delta.text : '')).join('')
  assert.equal(output, 'key: [redacted: api-keys]\nnext line')
  const messages = deltas.flatMap(delta => (delta.type === 'progress' ? [delta.message] : []))
  assert.deepEqual(messages, ['using [redacted: api-keys]'])
})

test('a tool that refuses its input is held to the same rules in what it says', async () => {
  const picky = tool({
    name: 'picky',
    description: 'd',
    input: anything,
    trust: 'trusted',
    outputLimit: 1000,
    run: () => {
      throw new InvalidInput(`${key} ${'x'.repeat(5000)}`)
    },
  })
  const script = [{ calls: [{ name: 'picky' }] }, { text: 'ok' }]
  const session = await begin(makeRig({ tools: [picky], gate: { redact }, script }))
  await say(session, 'go')
  const [result] = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  const { kind, parts, from } = result!.outcome
  const [part] = parts
  assert.deepEqual([kind, from.source, parts.length], ['invalid', 'runtime', 1])
  assert.ok(part?.type === 'text' && part.text.startsWith('The tool was not run: [redacted: api-keys] xxx'))
  assert.ok(part.text.length <= 1000)
})

test('what a tool gives after its timeout is kept for the record, and shown to no model', async () => {
  const end = Promise.withResolvers<string>()
  const slow = tool({
    name: 'slow',
    description: 'd',
    input: anything,
    trust: 'trusted',
    timeoutMs: 5,
    run: () => end.promise,
  })
  const script = [{ calls: [{ name: 'slow' }] }, { text: 'Too slow.' }]
  const rig = makeRig({ tools: [slow], script })
  const session = await begin(rig)
  await say(session, 'go')
  end.resolve('done after all')
  await new Promise(setImmediate)
  await session.flushed()
  const ends = (await eventsOf(rig, session)).flatMap(event =>
    event.type === 'call.settled' || event.type === 'call.late' ? [[event.type, event.outcome.kind]] : [],
  )
  assert.deepEqual(ends, [
    ['call.settled', 'timeout'],
    ['call.late', 'ok'],
  ])
  assert.ok(!JSON.stringify(session.state.entries).includes('done after all'))
  assert.equal(session.status, 'idle')
  await session.driver.returned()
})

const unwritable: Record<string, () => unknown> = {
  'nests too deep': () => {
    let value: unknown = 1
    for (let level = 0; level < 10_000; level++) value = [value]
    return value
  },
  'holds itself': () => {
    const value: Record<string, unknown> = {}
    value['self'] = value
    return value
  },
  'holds a bigint': () => ({ count: 1n }),
}

for (const [what, make] of Object.entries(unwritable))
  test(`a model’s answer that ${what} ends its turn, and the session goes on`, async () => {
    let asked = 0
    const origin = { protocol: 'own', family: 'own', model: 'own' }
    const model: Model = {
      id: 'own',
      respond: () => {
        asked += 1
        const native = { origin, data: make() as JsonObject }
        return Promise.resolve({
          parts: asked > 1 ? [{ type: 'text', text: 'Fine.' }] : [{ type: 'text', text: 'a', native }],
          stop: 'end',
        })
      },
    }
    const session = await begin(makeRig({ model }))
    await say(session, 'go')
    assert.deepEqual(session.state.lastStop?.stop, 'error')
    await say(session, 'and now?')
    assert.deepEqual([session.state.lastStop?.stop, asked, session.lost], ['end', 2, false])
  })
