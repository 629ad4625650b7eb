// Budgets of agents and owners hold for requests without a session, on each wire that has them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localOwner } from '../../../src/callers/keys.ts'
import type { Budgets } from '../../../src/engine/index.ts'
import { memoryStore, scripted } from '../../../src/index.ts'
import { serve } from './rig.ts'

const user = [{ role: 'user', content: 'Hello.' }]
const wires: [name: string, path: string, body: object, error: object][] = [
  [
    'Responses',
    '/v1/responses',
    { model: 'helper', input: 'Hello.', store: false },
    { code: 'insufficient_quota' },
  ],
  [
    'Chat Completions',
    '/v1/chat/completions',
    { model: 'helper', messages: user },
    { code: 'insufficient_quota' },
  ],
  [
    'Messages',
    '/v1/messages',
    { model: 'helper', max_tokens: 100, messages: user },
    { type: 'rate_limit_error' },
  ],
  [
    'Gemini',
    '/v1beta/models/helper:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }] },
    { status: 'RESOURCE_EXHAUSTED' },
  ],
]

const month = new Date().toISOString().slice(0, 7)
const usage = { input: 90, output: 10, cost: 1 }

for (const [name, path, body, expected] of wires)
  for (const [budget, words] of [
    ['agentDay', 'Today the agent "helper" has cost $2.00 of $2.00.'],
    ['ownerMonth', 'This month your sessions have cost $2.00 of $2.00.'],
  ] as const)
    test(`${name}: once ${budget} is spent, further requests are refused, and sessions too`, async t => {
      const data = memoryStore()
      const budgets: Budgets = { [budget]: { money: 2, then: 'ask' } }
      const asked: string[] = []
      const model = scripted(({ session }) => {
        asked.push(session)
        return { text: 'Hi.', usage }
      })
      const { post, turnwire } = await serve(t, { helper: model }, { config: { budgets, data } })
      for (const _ of [1, 2]) assert.equal((await post(path, body)).status, 200)
      for (const whose of [{ owner: localOwner }, { agent: 'helper' }])
        assert.deepEqual(await data.spent!(whose, month), { tokens: 200, money: 2, calls: 0 })
      const refused = await post(path, body)
      const { error } = (await refused.json()) as { error: Record<string, unknown> }
      assert.deepEqual([refused.status, refused.headers.get('x-should-retry')], [429, 'false'])
      assert.equal(error['message'], words)
      assert.deepEqual({ ...error, ...expected }, error)
      assert.equal(asked.length, 2)
      const session = await turnwire.session('helper')
      assert.equal((await session.send('Hello.')).status, 'waiting')
    })

test('a stream is refused before it begins, and what is not shared is not looked at', async t => {
  const data = memoryStore()
  const model = scripted(() => ({ text: 'Hi.', usage, calls: [{ name: 'ring' }] }))
  const budgets: Budgets = { agentDay: { calls: 1 }, session: { calls: 1 } }
  const { post } = await serve(t, { helper: model }, { config: { budgets, data } })
  const tools = [{ type: 'function', function: { name: 'ring', parameters: { type: 'object' } } }]
  const body = { model: 'helper', messages: user, tools, stream: true }
  const first = await post('/v1/chat/completions', body)
  assert.match(await first.text(), /ring/)
  const refused = await post('/v1/chat/completions', body)
  assert.equal(refused.status, 429)
  assert.match(await refused.text(), /has made 1 of 1 calls\./)
})

test('without budgets nothing is read or counted', async t => {
  const store = memoryStore()
  const touched: string[] = []
  const data = {
    ...store,
    spent: (...args: Parameters<NonNullable<typeof store.spent>>) => {
      touched.push('spent')
      return store.spent!(...args)
    },
    spend: (...args: Parameters<NonNullable<typeof store.spend>>) => {
      touched.push('spend')
      return store.spend!(...args)
    },
  }
  const { post } = await serve(t, { helper: scripted(() => ({ text: 'Hi.', usage })) }, { config: { data } })
  for (const [, path, body] of wires) assert.equal((await post(path, body)).status, 200)
  assert.deepEqual(touched, [])
})
