// What a wallet can do with a payment and with its token, which is free: one payment buys one turn of one session, and a token
// reads what was paid for. Without a chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Moved } from '../../src/payments/facilitator.ts'
import { cites } from '../requirements/manifest.ts'
import { inState, meteredPrice, openDesk, payment, records, request, say, turn, wallet } from './desk-rig.ts'

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

const none = { tools: null, options: {}, clientTools: [] }

test(
  cites('X402-ONCE-04', 'a wallet that signed in gets one turn for a payment, however it asks'),
  async t => {
    const { paid, desk, shown, engine } = await openDesk(t)
    const header = await payment(desk)
    const sessions = new Set([await turn(paid, request({ header }))])
    for (const key of [undefined, 'one', 'two']) sessions.add(await turn(paid, request({ header }), key))
    assert.equal(sessions.size, 1)
    assert.equal(shown.asked, 1)
    assert.equal((await engine.list(wallet, { limit: 10 })).rows.length, 1)
    // At the same time, under keys of their own.
    const other = await payment(desk)
    const made = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map(key => turn(paid, request({ header: other }), key)),
    )
    const got = made.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
    assert.equal(new Set(got).size, 1)
    for (const each of made)
      if (each.status === 'rejected') assert.equal((each.reason as { code: string }).code, 'payment_conflict')
    assert.equal(shown.asked, 2)
  },
)

test('a payment of one wallet buys nothing for another, nor for a key', async t => {
  const { paid, desk, shown } = await openDesk(t, { config: { keysPay: true } })
  const header = await payment(desk)
  const eve = `wallet:0x${'ee'.repeat(20)}`
  await assert.rejects(turn(paid, request({ header, owner: eve })), { code: 'payment_conflict' })
  await turn(paid, request({ header }))
  await assert.rejects(turn(paid, request({ header, owner: 'ann' })), { code: 'payment_conflict' })
  assert.equal(shown.asked, 1)
})

test('a payment for a turn of one session buys none of another', async t => {
  const { paid, desk, shown, engine } = await openDesk(t, { config: { keysPay: true } })
  const header = await payment(desk)
  const owner = 'ann'
  const [first, second] = [
    await engine.create({ owner, agent: 'helper', wire: 'test', seed: [], settings: none }),
    await engine.create({ owner, agent: 'helper', wire: 'test', seed: [], settings: none }),
  ]
  await say(paid(request({ header, owner })), owner, first.session)
  await assert.rejects(say(paid(request({ header, owner })), owner, second.session), {
    code: 'payment_conflict',
  })
  assert.equal(shown.asked, 1)
})

test('a key that pays gets no summary for nothing', async t => {
  const { paid, desk, shown, engine } = await openDesk(t, { config: { keysPay: true } })
  const owner = 'ann'
  const header = await payment(desk)
  const session = await turn(paid, request({ header, owner }))
  await inState(desk, 'settled')
  const ref = { owner, session }
  const compact = (path: string) => paid(request({ owner, path })).command(ref, { do: 'compact' })
  for (const path of [`/operator/sessions/${session}/commands`, '/v1/responses'])
    await assert.rejects(compact(path), { code: 'payment_required', message: /paid for by turn/ })
  assert.equal(shown.asked, 1)
  assert.equal((await engine.summary(ref)).compaction, undefined)
  shown.price = undefined
  await assert.doesNotReject(compact('/v1/responses'))
})

test(cites('X402-OWN-03', 'a wallet that pays nothing creates nothing and commands nothing'), async t => {
  const { paid, desk, shown, engine } = await openDesk(t)
  const ref = { owner: wallet, session: await turn(paid, request({ header: await payment(desk) })) }
  await inState(desk, 'settled')
  const before = (await engine.list(wallet, { limit: 10 })).rows.length
  const create = { owner: wallet, agent: 'helper', wire: 'test', seed: [], settings: none }
  const unpaid = paid(request({ path: '/sessions' }))
  await assert.rejects(unpaid.create(create), { code: 'forbidden', message: /first turn/ })
  for (const command of [
    { do: 'compact' },
    { do: 'take-control', by: 'me' },
    { do: 'configure', settings: {} },
  ] as const)
    await assert.rejects(unpaid.command(ref, command), { code: 'forbidden', message: /needs a key/ })
  for (const asked of [
    unpaid.fromServers('helper', { get: 'resources' }),
    unpaid.fromServers('helper', { get: 'prompts' }),
    unpaid.history(ref, { get: 'request' }),
  ])
    await assert.rejects(asked, { code: 'forbidden' })
  await assert.rejects(paid(request()).create(create), { code: 'payment_required' })
  assert.equal((await engine.list(wallet, { limit: 10 })).rows.length, before)
  assert.equal(shown.asked, 1)
  // What it paid for it reads, and deletes.
  const own = paid(request())
  assert.ok((await own.history(ref, { get: 'entries' })).entries.length > 0)
  await own.remove(ref)
})

test('payments are no sessions, so a wallet has nothing to delete them with', async t => {
  const { paid, desk, engine } = await openDesk(t)
  const session = await turn(paid, request({ header: await payment(desk) }))
  const listed = await engine.list(null, { limit: 10 })
  assert.deepEqual(
    listed.rows.map(({ id }) => id),
    [session],
  )
  const { id } = await inState(desk, 'settled', false)
  const own = paid(request())
  await assert.rejects(own.remove({ owner: wallet, session: id }), { code: 'session_not_found' })
  await own.remove({ owner: wallet, session })
  assert.equal((await records(desk)).length, 1)
})

test(
  cites('X402-OWN-04', 'an answer at a fixed price cannot be read before it is settled, nor if it never is'),
  async t => {
    const settling = Promise.withResolvers<Moved>()
    const { paid, desk, engine } = await openDesk(t, { facilitator: { settle: () => settling.promise } })
    const answer = turn(paid, request({ header: await payment(desk) }))
    answer.catch(() => {})
    await inState(desk, 'settling')
    const [row] = (await engine.list(wallet, { limit: 10 })).rows
    const ref = { owner: wallet, session: row?.id ?? '' }
    const own = paid(request())
    const follow = () => all(own.follow(ref, { from: 1, until: 'stop', deltas: 'raw' }))
    const reads = [
      () => own.events(ref),
      () => own.history(ref, { get: 'entries' }),
      () => own.summary(ref),
      () => own.blob(ref, { get: 'text', name: 'any' }),
      follow,
    ]
    for (const read of reads) await assert.rejects(read(), { code: 'payment_pending' })
    // An operator looks at it all the same.
    const boss = paid(request({ owner: 'boss' }), { operator: true })
    assert.ok((await boss.events(ref)).length > 0)
    settling.resolve({ state: 'failed', reason: 'cancelled' })
    await assert.rejects(answer, { code: 'payment_required' })
    await inState(desk, 'failed')
    for (const read of reads) await assert.rejects(read(), { code: 'forbidden' })
  },
)

test('what is followed ends at a turn that is not paid for yet', async t => {
  const settling = Promise.withResolvers<Moved>()
  let times = 0
  const settle = (): Promise<Moved> =>
    times++ === 0 ? Promise.resolve({ state: 'moved', transaction: '0x01' }) : settling.promise
  const { paid, desk } = await openDesk(t, { facilitator: { settle } })
  const session = await turn(paid, request({ header: await payment(desk) }))
  await inState(desk, 'settled')
  const seen: string[] = []
  const read = async () => {
    const items = paid(request()).follow({ owner: wallet, session }, { until: 'never', deltas: 'raw' })
    for await (const batch of items) seen.push(JSON.stringify(batch))
  }
  const followed = read()
  const header = await payment(desk)
  const second = say(paid(request({ header, body: 'second' })), wallet, session)
  await assert.rejects(followed, { code: 'payment_pending' })
  assert.doesNotMatch(seen.join(), /Hello/)
  settling.resolve({ state: 'moved', transaction: '0x02' })
  await second
})

test(cites('X402-OWN-05', 'a payer cannot delete or take over a turn before it is charged for'), async t => {
  for (const owner of [wallet, 'ann']) {
    const { paid, desk, engine } = await openDesk(t, {
      price: meteredPrice,
      config: { keysPay: true },
      script: [{ text: 'A long answer.', chunk: 1, delayMs: 30, usage: { input: 100, output: 50 } }],
    })
    const session = await turn(paid, request({ owner, header: await payment(desk) }))
    const ref = { owner, session }
    const own = paid(request({ owner }))
    await assert.rejects(own.remove(ref), { code: 'payment_pending' })
    await assert.rejects(own.command(ref, { do: 'take-control', by: 'me' }), {
      code: owner === wallet ? 'forbidden' : 'payment_pending',
    })
    const { amount } = await inState(desk, 'settled')
    assert.equal(amount, '300')
    assert.ok((await engine.events(ref)).length > 0)
  }
})
