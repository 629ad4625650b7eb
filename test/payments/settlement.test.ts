// What becomes of a payment that its payer works against, and of many at once. Without a chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine, FollowItem } from '../../src/engine/index.ts'
import type { PaymentRecord } from '../../src/language/payments.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import type { Moved } from '../../src/payments/facilitator.ts'
import { RemoteFacilitator } from '../../src/payments/remote-facilitator.ts'
import { watchTurn } from '../../src/payments/watch-turn.ts'
import { cites } from '../requirements/manifest.ts'
import {
  exactPrice,
  inSeconds,
  inState,
  meteredPrice,
  newNonce,
  openDesk,
  payment,
  records,
  request,
  turn,
  wallet,
} from './desk-rig.ts'

test(cites('X402-FAIL-03', 'a payment that failed is not tried again, and buys nothing'), async t => {
  let settles = 0
  const settle = async (): Promise<Moved> => {
    settles += 1
    return { state: 'failed', reason: 'nonce_already_used' }
  }
  const { paid, desk, shown } = await openDesk(t, { facilitator: { settle } })
  const header = await payment(desk)
  for (let times = 0; times < 3; times += 1)
    await assert.rejects(turn(paid, request({ header })), { code: 'payment_required' })
  assert.equal(settles, 1)
  assert.equal(shown.asked, 1)
  assert.equal((await inState(desk, 'failed')).tries, 1)
})

test('a payment that another wallet signed than the one it names is refused', async t => {
  const verify = async () => ({ ok: true as const, payer: `0x${'12'.repeat(20)}` })
  const { paid, desk, shown } = await openDesk(t, { facilitator: { verify } })
  const made = request({ header: await payment(desk) })
  await assert.rejects(turn(paid, made), { code: 'payment_required', message: 'payer_mismatch' })
  assert.equal(shown.asked, 0)
  assert.deepEqual(await records(desk), [])
})

test('a facilitator elsewhere that finds the payment used at the first try has moved nothing', async t => {
  const answer = { success: false, errorReason: 'nonce_already_used', transaction: '' }
  const remote = new RemoteFacilitator({
    url: 'http://facilitator',
    network: 'eip155:84532',
    settleMs: 1000,
    fetch: async () => new Response(JSON.stringify(answer)),
  })
  const { paid, desk } = await openDesk(t, { facilitator: { settle: asked => remote.settle(asked) } })
  const header = await payment(desk)
  for (let times = 0; times < 2; times += 1)
    await assert.rejects(turn(paid, request({ header })), { code: 'payment_required' })
  await inState(desk, 'failed')
})

test('a payment that has moved is settled, whatever another node wrote about it meanwhile', async t => {
  const settle = async ({ record }: { record: PaymentRecord }): Promise<Moved> => {
    // Another node took it for that of a dead one, and was told nothing of use.
    const kept = await opened.desk.ledger.find(record.id)
    assert.ok(kept)
    await opened.desk.ledger.change(kept, { tries: 2 })
    return { state: 'moved', transaction: '0x02' }
  }
  const opened = await openDesk(t, { facilitator: { settle } })
  await turn(opened.paid, request({ header: await payment(opened.desk) }))
  assert.equal((await inState(opened.desk, 'settled', false)).transaction, '0x02')
})

test('a turn that failed while its payment was being settled is not charged by trying again', async t => {
  let settles = 0
  const settle = async (): Promise<Moved> => {
    settles += 1
    return { state: 'pending', reason: 'timeout' }
  }
  const fail = { code: 'model_failed', message: 'cut off', after: 3 } as const
  const script = [{ text: 'Hello, and then', chunk: 1, delayMs: 200, fail }]
  const { paid, desk } = await openDesk(t, { facilitator: { settle }, script })
  await assert.rejects(turn(paid, request({ header: await payment(desk) })), { code: 'payment_pending' })
  const [record] = await records(desk)
  for (let times = 0; times < 3; times += 1) {
    // A drive ends once the turn has ended.
    await desk.settlement.reconcile()
    await desk.settlement.findDrive(record?.id ?? '')?.done
  }
  assert.equal(settles, 1)
  assert.equal((await inState(desk, 'settling')).unclear, undefined)
})

test(cites('X402-VERIFY-03', 'a payment that expires before the answer can be whole is refused'), async t => {
  for (const price of [exactPrice, meteredPrice]) {
    const { paid, desk, shown } = await openDesk(t, { price })
    const short = await payment(desk, { validUntil: inSeconds(60) })
    await assert.rejects(turn(paid, request({ header: short })), {
      code: 'payment_required',
      message: /expires too soon/,
    })
    assert.equal(shown.asked, 0)
    await turn(paid, request({ header: await payment(desk, { validUntil: inSeconds(590) }) }))
  }
})

test(
  cites('X402-UPTO-03', 'a metered turn is ended before its payment expires, and charged for what was said'),
  async t => {
    const { paid, desk } = await openDesk(t, {
      price: meteredPrice,
      config: { validSeconds: 4 },
      script: [{ text: 'This never comes to an end', hang: true }],
    })
    await turn(paid, request({ header: await payment(desk, { validUntil: inSeconds(4) }) }))
    const { amount, validUntil, settledAt } = await inState(desk, 'settled')
    assert.ok(Number(amount) > 0)
    assert.ok((settledAt ?? Infinity) < validUntil * 1000)
  },
)

test('a metered turn that is cancelled is charged for thinking, arguments and text, and for what was read', async t => {
  const long = 'x'.repeat(4000)
  const usage = { input: 100, output: 50 }
  const steps: Record<string, ScriptStep> = {
    thinking: { thinking: long, text: '', hang: true },
    text: { text: long, hang: true },
    both: { thinking: long, text: long, hang: true },
    arguments: { calls: [{ name: 'write', input: { body: long } }], hang: true },
  }
  for (const [kind, step] of Object.entries(steps)) {
    const { engine, paid, desk } = await openDesk(t, { price: meteredPrice, script: [step] })
    const session = await turn(paid, request({ header: await payment(desk) }))
    const ref = { owner: wallet, session }
    await whenGiven(engine, ref, kind === 'both' ? 8000 : 4000)
    await engine.command(ref, { do: 'cancel' })
    const { amount, usage: used } = await inState(desk, 'settled')
    const output = used?.output ?? 0
    const written = kind === 'both' ? 2000 : 1000
    assert.ok(output >= written && output < written + 20, `${kind}: ${output}`)
    assert.ok((used?.input ?? 0) > 0, `${kind}: ${used?.input}`)
    assert.equal(Number(amount), (used?.input ?? 0) + 4 * output)
  }
  const nothing = await openDesk(t, { price: meteredPrice, script: [{ text: '', usage, hang: true }] })
  const session = await turn(nothing.paid, request({ header: await payment(nothing.desk) }))
  await nothing.engine.command({ owner: wallet, session }, { do: 'cancel' })
  assert.equal((await inState(nothing.desk, 'settled')).amount, '0')
})

/** Once the model has given so many characters. */
async function whenGiven(engine: Engine, ref: { owner: string; session: string }, length: number) {
  let given = 0
  for await (const batch of engine.follow(ref, { from: 1, until: 'never', deltas: 'raw' }))
    for (const item of batch) {
      if (item.type === 'delta' && 'text' in item.delta) given += item.delta.text.length
      if (given >= length) return
    }
}

test('what was answered before a session was deleted is charged for', async () => {
  const answered = {
    ...{ type: 'model.answered', parts: [], stop: 'end', usage: { input: 100, output: 50 } },
    ...{ v: 1, at: 0, model: 'm' },
  }
  const error = { code: 'session_not_found', message: 'gone' }
  const items = [
    { type: 'event', seq: 1, event: answered },
    { type: 'lost', error },
  ] as unknown[]
  async function* follow(): AsyncGenerator<readonly FollowItem[]> {
    yield items as FollowItem[] // Only what is read of them.
  }
  const engine = { follow } as unknown as Engine
  assert.deepEqual(await watchTurn(engine, { owner: 'a', session: 's', first: 1 }, false), {
    ...{ result: 'gone', reason: 'session_not_found', usage: { input: 100, output: 50 } },
  })
})

test('a payment that was released is taken again on the terms of now', async t => {
  const { paid, desk, shown } = await openDesk(t, {
    price: meteredPrice,
    script: [
      { fail: { code: 'model_failed', message: 'no' } },
      { text: 'Hello.', usage: { input: 100, output: 50 } },
    ],
  })
  const nonce = newNonce()
  await turn(paid, request({ header: await payment(desk, { nonce }) }))
  await inState(desk, 'released')
  shown.price = { ...meteredPrice, outputToken: '8' }
  // Several at once: one renews it, the others find it renewed.
  const header = await payment(desk, { nonce })
  await Promise.all(Array.from({ length: 4 }, () => turn(paid, request({ header }))))
  const { amount, price } = await inState(desk, 'settled')
  assert.equal(price['outputToken'], '8')
  assert.equal(amount, '500')
  assert.equal(shown.asked, 2)
})

test('what was paid for is given when it has no price any more', async t => {
  const { paid, desk, shown } = await openDesk(t)
  const header = await payment(desk)
  const session = await turn(paid, request({ header }))
  shown.price = undefined
  assert.equal(await turn(paid, request({ header })), session)
  assert.equal(shown.asked, 1)
})

test('a turn that does not end keeps no other payment from being settled', async t => {
  const { engine, desk } = await openDesk(t, {
    price: meteredPrice,
    script: [
      { text: 'Hello.', usage: { input: 100, output: 50 } },
      { text: 'Never', hang: true },
    ],
  })
  // As a server that was killed leaves them: the one that hangs is the newest, and comes first.
  for (const times of [1, 2]) {
    const { kept } = await desk.admit(request({ header: await payment(desk), body: `${times}` }), 'ann', {
      agent: 'helper',
    })
    const settings = { tools: null, options: {}, clientTools: [] }
    const owner = 'ann'
    const { session } = await engine.create({ owner, agent: 'helper', wire: 'test', seed: [], settings })
    const { first } = await engine.command(
      { owner, session },
      { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hi' }] },
    )
    await desk.ledger.change(kept, { work: { owner, session, first } })
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  await desk.settlement.reconcile()
  for (let tries = 0; tries < 200; tries += 1) {
    if ((await records(desk)).some(({ state }) => state === 'settled')) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  assert.fail('The other payment was not settled.')
})

test('a payment is found by its whole id, or by a beginning that no other has', async t => {
  const { paid, desk } = await openDesk(t)
  for (const body of ['1', '2']) await turn(paid, request({ header: await payment(desk), body }))
  const [one, two] = (await records(desk)) as [PaymentRecord, PaymentRecord]
  assert.equal((await desk.ledger.byId(one.id))?.record.id, one.id)
  assert.equal((await desk.ledger.byId(two.id.slice(0, -3)))?.record.id, two.id)
  assert.equal(await desk.ledger.byId('pay_none'), undefined)
  await assert.rejects(desk.ledger.byId('pay_'), { code: 'bad_request', message: /whole id/ })
})

test('a refund that is under way is left alone', async t => {
  const sent = Promise.withResolvers<Moved>()
  let refunds = 0
  const refund = (): Promise<Moved> => {
    refunds += 1
    return sent.promise
  }
  const { paid, desk } = await openDesk(t, { facilitator: { refund } })
  await turn(paid, request({ header: await payment(desk) }))
  const { id } = await inState(desk, 'settled', false)
  const kept = await desk.ledger.byId(id)
  assert.ok(kept)
  const refunded = desk.settlement.refund(kept, '10000', 'boss')
  await inState(desk, 'refunding')
  await desk.settlement.reconcile()
  assert.equal((await records(desk))[0]?.state, 'refunding')
  sent.resolve({ state: 'moved', transaction: '0x02' })
  assert.equal((await refunded).record.state, 'refunded')
  assert.equal(refunds, 1)
})
