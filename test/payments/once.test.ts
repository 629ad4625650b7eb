// A request without a session that is paid for: its record holds what was asked and answered, so that it needs neither its client
// nor its process. Without a chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine, OnceItem, OnceRequest } from '../../src/engine/index.ts'
import { inSeconds, inState, meteredPrice, openDesk, payment, records, request, wallet } from './desk-rig.ts'

const asked: OnceRequest = {
  ...{ owner: wallet, agent: 'helper', clientTools: [], deltas: 'take-back' },
  history: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
}

/** What is said, and the words of the answer. */
async function read(engine: Engine, once = asked, signal?: AbortSignal) {
  const items: OnceItem[] = []
  for await (const batch of engine.answerOnce(once, signal)) items.push(...batch)
  const said = items.map(item => (item.type === 'delta' && item.delta.type === 'text' ? item.delta.text : ''))
  const answer = items.find(item => item.type === 'answer')?.answer
  return {
    said: said.join(''),
    text: answer?.parts.map(part => (part.type === 'text' ? part.text : '')).join(''),
  }
}

test('it leaves no session, and is answered again from its record, with its deltas', async t => {
  for (const deltas of ['take-back', 'append', 'none'] as const) {
    const { engine, paid, desk, shown } = await openDesk(t)
    const header = await payment(desk)
    const answer = { said: deltas === 'none' ? '' : 'Hello.', text: 'Hello.' }
    for (let times = 0; times < 2; times += 1)
      assert.deepEqual(await read(paid(request({ header })), { ...asked, deltas }), answer)
    await inState(desk, 'settled', false)
    assert.deepEqual(await read(paid(request({ header })), { ...asked, deltas }), answer)
    assert.equal(shown.asked, 1)
    assert.deepEqual((await engine.list(null, { limit: 10 })).rows, [])
  }
})

test('it goes on when its client leaves, and the same request joins it', async t => {
  const { paid, desk, shown } = await openDesk(t, {
    script: [{ text: 'A long answer.', chunk: 2, delayMs: 20, usage: { input: 1, output: 1 } }],
  })
  const header = await payment(desk)
  const leaving = new AbortController()
  for await (const batch of paid(request({ header })).answerOnce(asked, leaving.signal))
    if (batch.some(item => item.type === 'delta' && item.delta.type === 'text')) break
  leaving.abort()
  const both = await Promise.all([read(paid(request({ header }))), read(paid(request({ header })))])
  for (const { said, text } of both) assert.deepEqual([said, text], ['A long answer.', 'A long answer.'])
  assert.equal(shown.asked, 1)
})

test('a metered answer is cut before its payment expires, charged for what was said, and not made again', async t => {
  for (const deltas of ['take-back', 'none'] as const) {
    const { paid, desk, shown } = await openDesk(t, {
      price: meteredPrice,
      config: { validSeconds: 4 },
      script: [{ text: 'This never comes to an end', hang: true }],
    })
    const header = await payment(desk, { validUntil: inSeconds(4) })
    const cut = { code: 'stopping', message: /cancelled/ }
    await assert.rejects(read(paid(request({ header })), { ...asked, deltas }), cut)
    const { usage, answer } = await inState(desk, 'settled', false)
    assert.ok((usage?.output ?? 0) > 5, JSON.stringify(usage))
    assert.equal(answer, undefined)
    await assert.rejects(read(paid(request({ header })), { ...asked, deltas }), cut)
    assert.equal(shown.asked, 1)
  }
})

test('what a live process answers no other begins; what a dead one left is answered, without its client', async t => {
  const others = new Set(['there'])
  const { paid, desk, shown } = await openDesk(t, { others, price: meteredPrice })
  const made = request({ header: await payment(desk) })
  const { kept } = await desk.admit(made, wallet, { agent: 'helper' }, JSON.parse(JSON.stringify(asked)))
  await desk.ledger.change(kept, { worker: 'there' })
  await desk.settlement.reconcile()
  assert.equal(desk.settlement.findDrive(kept.record.id), undefined)
  assert.equal(shown.asked, 0)
  others.clear()
  await desk.settlement.reconcile()
  assert.equal((await inState(desk, 'settled', false)).amount, '300')
  assert.equal(shown.asked, 1)
  assert.equal((await records(desk)).length, 1)
  assert.equal((await read(paid(made))).text, 'Hello.')
  assert.equal(shown.asked, 1)
})

test('an answer that fails after the money has moved can be asked for again, and costs nothing more', async t => {
  const fail = { code: 'model_failed', message: 'cut off', after: 2 } as const
  const { paid, desk, shown } = await openDesk(t, {
    script: [{ text: 'Hello, and then', chunk: 1, fail }, { text: 'Hello again.' }],
  })
  const header = await payment(desk)
  await assert.rejects(read(paid(request({ header }))), { code: 'model_failed' })
  assert.equal((await inState(desk, 'settled', false)).owed, true)
  assert.equal((await read(paid(request({ header })))).text, 'Hello again.')
  const { owed, tries } = await inState(desk, 'settled', false)
  assert.deepEqual([owed, tries, shown.asked], [false, 1, 2])
})
