// A scripted model buys tea in a small shop, in each vendor's own encoding of computer use, against the strict doubles.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import type { ScriptedTurn } from '../../../src/testing/index.ts'
import { bodies, type Vendor, vendorModel } from '../search/rig.ts'
import { openAgent, outcomesOf, pictures, sizeOf, skip, textIn } from './rig.ts'
import { serveShop } from './shop.ts'

/** The shop's places, on a display of 1280 by 800. */
const add = { x: 200, y: 330 }
const name = { x: 200, y: 270 }
const order = { x: 200, y: 430 }
const check = { id: 'cusc_1', code: 'irreversible', message: 'This buys something.' }

const navigate = (url: string): ScriptedTurn => ({
  calls: [{ name: 'browser', input: { action: 'navigate', url } }],
})

const action = (input: JsonObject): ScriptedTurn => ({ calls: [{ name: 'computer', input }] })
const anthropicTurns = (url: string): ScriptedTurn[] => [
  navigate(url),
  action({ action: 'left_click', coordinate: [add.x, add.y] }),
  action({ action: 'left_click', coordinate: [name.x, name.y] }),
  action({ action: 'type', text: 'Ana' }),
  action({ action: 'left_click', coordinate: [order.x, order.y] }),
  { text: 'Ordered.' },
]

const member = (name: string, input: JsonObject): ScriptedTurn => ({
  native: [
    {
      type: 'tool_use',
      id: `toolu_${name}_${JSON.stringify(input).length}`,
      name,
      input,
      toolset_name: 'computer',
    },
  ],
  stop: 'tool_use',
})
const toolsetTurns = (url: string): ScriptedTurn[] => [
  navigate(url),
  member('left_click', { coordinate: [add.x, add.y] }),
  member('left_click', { coordinate: [name.x, name.y + 1] }),
  member('type', { text: 'Ana' }),
  member('left_click', { coordinate: [order.x, order.y], text: '' }),
  { text: 'Ordered.' },
]

let made = 0
const computerCall = (actions: JsonObject[], pending: JsonObject[] = []): ScriptedTurn => ({
  native: [
    {
      type: 'computer_call',
      call_id: `call_computer_${++made}`,
      actions,
      pending_safety_checks: pending,
      status: 'completed',
    },
  ],
})
const click = (place: { x: number; y: number }): JsonObject => ({ type: 'click', button: 'left', ...place })
const openaiTurns = (url: string): ScriptedTurn[] => [
  navigate(url),
  computerCall([click(add)]),
  computerCall([click(name), { type: 'type', text: 'Ana' }]),
  computerCall([click(order)], [check]),
  { text: 'Ordered.' },
]

/** On the vendor's grid. */
const grid = ({ x, y }: { x: number; y: number }): JsonObject => ({
  x: Math.round((x / 1280) * 1000),
  y: Math.round((y / 800) * 1000),
})
const geminiTurns = (url: string): ScriptedTurn[] => [
  { calls: [{ name: 'navigate', input: { url } }] },
  { calls: [{ name: 'click_at', input: grid(add) }] },
  { calls: [{ name: 'type_text_at', input: { ...grid(name), text: 'Ana', press_enter: false } }] },
  {
    calls: [
      {
        name: 'click_at',
        input: {
          ...grid(order),
          safety_decision: { decision: 'require_confirmation', explanation: 'This buys something.' },
        },
      },
    ],
  },
  { text: 'Ordered.' },
]

const cases = [
  { vendor: 'anthropic', title: 'anthropic', turns: anthropicTurns, declared: /"type":"computer_20251124"/ },
  {
    vendor: 'anthropic',
    title: 'anthropic toolset',
    turns: toolsetTurns,
    declared: /"type":"computer_toolset_20260801"/,
    options: { anthropicType: 'computer_toolset_20260801' as const },
  },
  { vendor: 'openai-responses', title: 'openai', turns: openaiTurns, declared: /\{"type":"computer"\}/ },
  { vendor: 'gemini', title: 'gemini', turns: geminiTurns, declared: /"computerUse":\{/ },
  {
    vendor: 'gemini-interactions',
    title: 'gemini interactions',
    turns: geminiTurns,
    declared: /\{"type":"computer_use","environment":"browser"\}/,
  },
] as const

describe('computer use', { skip }, () => {
  for (const { vendor, title, turns, declared, ...rest } of cases)
    test(`${title}: the shop task, with a screenshot per step and an approval for the order`, async t => {
      const shop = await serveShop(t)
      const { model, double } = await vendorModel(t, vendor satisfies Vendor, turns(shop.url))
      const options = 'options' in rest ? rest.options : {}
      const session = await (await openAgent(t, model, shop, options)).session()
      await session.send('Buy green tea for Ana.')
      const [waiting] = await session.pending()
      assert.equal(waiting?.tool, 'computer', JSON.stringify(bodies(double).length))
      assert.match(waiting.reason ?? '', /submits a form to .*\/order \(POST\).*Order now/)
      if (vendor !== 'anthropic') assert.match(waiting.reason ?? '', /This buys something/)
      assert.deepEqual(shop.orders, [], 'nothing is ordered before a person allows it')
      assert.equal((await session.approve(waiting.callId)).text, 'Ordered.')
      assert.deepEqual(shop.orders, ['name=Ana'])
      const outcomes = await outcomesOf(session)
      const shots = pictures(outcomes, title.replace(' ', '-'))
      assert.equal(shots.length, outcomes.length, 'a picture with each result')
      for (const shot of shots) assert.equal(sizeOf(shot), '1280x800')
      assert.match(textIn(outcomes.at(-1)), /\/order/)
      const sent = bodies(double)
      assert.match(JSON.stringify(sent[0]!['tools']), declared)
      const last = JSON.stringify(sent.at(-1))
      if (vendor === 'openai-responses') assert.match(last, /"acknowledged_safety_checks":\[\{"id":"cusc_1"/)
      if (vendor === 'gemini') assert.match(last, /"safety_acknowledgement":"true"/)
      if (vendor === 'gemini-interactions') assert.match(last, /\\"safety_acknowledgement\\":\\"true\\"/)
      if (vendor === 'anthropic' && title === 'anthropic')
        assert.match(double.exchanges[0]!.headers['anthropic-beta'] ?? '', /computer-use-2025-11-24/)
    })

  test('a refused safety check is not acknowledged, and nothing is done', async t => {
    const shop = await serveShop(t)
    for (const vendor of ['openai-responses', 'gemini', 'gemini-interactions'] as const) {
      const turns = vendor === 'openai-responses' ? openaiTurns(shop.url) : geminiTurns(shop.url)
      const { model, double } = await vendorModel(t, vendor, turns)
      const session = await (await openAgent(t, model, shop)).session()
      await session.send('Buy green tea for Ana.')
      const [waiting] = await session.pending()
      const reply = await session.deny(waiting!.callId, { reason: 'too expensive' })
      assert.equal(reply.text, 'Ordered.')
      const last = JSON.stringify(bodies(double).at(-1))
      assert.doesNotMatch(last, /acknowledge/)
      assert.match(last, /too expensive/)
    }
    assert.deepEqual(shop.orders, [])
  })

  test('a history of one vendor is told to another', async t => {
    const shop = await serveShop(t)
    const first = await vendorModel(t, 'openai-responses', [
      navigate(shop.url),
      computerCall([click(add)]),
      { text: 'One.' },
    ])
    const models: Record<string, Awaited<ReturnType<typeof vendorModel>>> = { first }
    for (const vendor of ['anthropic', 'gemini', 'openai-chat', 'gemini-interactions'] as const)
      models[vendor] = await vendorModel(t, vendor, [{ text: 'Seen.' }])
    const turnwire = await openAgent(
      t,
      first.model,
      shop,
      {},
      {
        models: Object.fromEntries(Object.entries(models).map(([key, { model }]) => [key, model])),
      },
    )
    const session = await turnwire.session()
    await session.send('Look.')
    for (const [key, { double }] of Object.entries(models).slice(1)) {
      await session.setModel(key)
      assert.equal((await session.send('And?')).text, 'Seen.', key)
      assert.equal(bodies(double).length, 1)
    }
  })
})
