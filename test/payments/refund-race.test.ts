// A refund that is under way while payments are looked at again: it belongs to the process that began it, and money goes back
// once. The chain is a stand-in here, so that each moment can be held.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { type Kept, Ledger } from '../../src/payments/ledger.ts'
import { Settlement, type SettlementPorts } from '../../src/payments/settlement.ts'
import { memoryStore } from '../../src/stores/memory.ts'

function settledRecord(): PaymentRecord {
  const address = `0x${'a'.repeat(40)}`
  return {
    ...{ id: 'pay_1', hash: 'h', state: 'settled', open: false, kind: 'exact', form: 'x402-2' },
    ...{ payer: address, payTo: address, network: 'eip155:1', asset: address, cap: '10', amount: '10' },
    ...{ validUntil: 0, agent: 'helper', path: '/v1/responses', given: {}, asked: {}, price: {} },
  }
}

type Looked = 'unsent' | 'moved'

async function makeRig(refund: NonNullable<SettlementPorts['facilitator']['refund']>) {
  const store = memoryStore().payments
  await store.reserve(settledRecord())
  const ledger = new Ledger(store)
  const now = async (): Promise<Kept> => (await ledger.find('pay_1'))!
  const clock = { ms: 1_000_000 }
  const looked = { as: 'unsent' as Looked }
  const settlement = () =>
    new Settlement({
      ledger,
      facilitator: {
        refund,
        lookRefund: async (transaction: string) => ({ state: looked.as, transaction }),
      },
      now: () => clock.ms,
      crashPoint: () => {},
      log: () => {},
      // Only what a refund uses is there.
    } as unknown as SettlementPorts)
  return { now, clock, looked, settlement }
}

test('a refund that is being sent is not taken for one that never was, here or in another process', async () => {
  let looks = 0
  const rig = await makeRig(async (_record, _amount, sending) => {
    await own.reconcile()
    await sending('0x1')
    for (const each of [own, rig.settlement()]) {
      await each.reconcile()
      looks += 1
      assert.equal((await rig.now()).record.state, 'refunding')
    }
    await assert.rejects(own.refund(await rig.now(), '10', 'boss'), { code: 'busy' })
    return { state: 'moved', transaction: '0x1' }
  })
  const own = rig.settlement()
  const { record } = await own.refund(await rig.now(), '10', 'boss')
  assert.equal(looks, 2)
  assert.equal(record.state, 'refunded')
  assert.equal(record.refund?.transaction, '0x1')
})

for (const [as, state] of [
  ['moved', 'refunded'],
  ['unsent', 'settled'],
] as const)
  test(`a refund whose process died is ${state} in the end if its transaction is ${as}`, async () => {
    const rig = await makeRig(async (_record, _amount, sending) => {
      await sending('0x1')
      throw new Error('The process died.')
    })
    await assert.rejects(rig.settlement().refund(await rig.now(), '10', 'boss'))
    rig.looked.as = as
    const other = rig.settlement()
    await other.reconcile()
    // What moved is known at once. What was not sent may still be sent for a while.
    assert.equal((await rig.now()).record.state, as === 'moved' ? state : 'refunding')
    rig.clock.ms += 120_000
    await other.reconcile()
    assert.equal((await rig.now()).record.state, state)
  })
