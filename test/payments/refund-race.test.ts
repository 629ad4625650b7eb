// A refund that is under way while payments are looked at again: it belongs to the process that began it, and money goes back
// once. The chain and the ledger are stand-ins here, so that each moment can be held.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnwireError } from '../../src/language/errors.ts'
import type { PaymentChange, PaymentRecord } from '../../src/language/payments.ts'
import type { Kept } from '../../src/payments/ledger.ts'
import { Settlement, type SettlementPorts } from '../../src/payments/settlement.ts'

function settledRecord(): PaymentRecord {
  const address = `0x${'a'.repeat(40)}`
  return {
    ...{ id: 'pay_1', state: 'settled', open: false, kind: 'exact', form: 'x402-2' },
    ...{ payer: address, payTo: address, network: 'eip155:1', asset: address, cap: '10', amount: '10' },
    ...{ validUntil: 0, agent: 'helper', path: '/v1/responses', given: {}, asked: {}, price: {} },
  }
}

/** A ledger that refuses changes of what is old, as the real one does. */
function makeLedger() {
  let kept: Kept = { ref: { owner: 'x', session: 's' }, record: settledRecord(), seq: 1 }
  return {
    now: () => kept,
    async change(given: Kept, change: PaymentChange): Promise<Kept> {
      if (given.seq !== kept.seq) throw new TurnwireError('busy', 'Someone else has changed it.')
      kept = { ...kept, record: { ...kept.record, ...change }, seq: kept.seq + 1 }
      return kept
    },
    async *list() {
      if (kept.record.open) yield kept
    },
  }
}

type Looked = 'unsent' | 'moved'

function makeRig(refund: NonNullable<SettlementPorts['facilitator']['refund']>) {
  const ledger = makeLedger()
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
  return { ledger, clock, looked, settlement }
}

test('a refund that is being sent is not taken for one that never was, here or in another process', async () => {
  let looks = 0
  const rig = makeRig(async (_record, _amount, sending) => {
    await own.reconcile()
    await sending('0x1')
    for (const each of [own, rig.settlement()]) {
      await each.reconcile()
      looks += 1
      assert.equal(rig.ledger.now().record.state, 'refunding')
    }
    await assert.rejects(own.refund(rig.ledger.now(), '10', 'boss'), { code: 'busy' })
    return { state: 'moved', transaction: '0x1' }
  })
  const own = rig.settlement()
  const { record } = await own.refund(rig.ledger.now(), '10', 'boss')
  assert.equal(looks, 2)
  assert.equal(record.state, 'refunded')
  assert.equal(record.refund?.transaction, '0x1')
})

for (const [as, state] of [
  ['moved', 'refunded'],
  ['unsent', 'settled'],
] as const)
  test(`a refund whose process died is ${state} in the end if its transaction is ${as}`, async () => {
    const rig = makeRig(async (_record, _amount, sending) => {
      await sending('0x1')
      throw new Error('The process died.')
    })
    await assert.rejects(rig.settlement().refund(rig.ledger.now(), '10', 'boss'))
    rig.looked.as = as
    const other = rig.settlement()
    await other.reconcile()
    // What moved is known at once. What was not sent may still be sent for a while.
    assert.equal(rig.ledger.now().record.state, as === 'moved' ? state : 'refunding')
    rig.clock.ms += 120_000
    await other.reconcile()
    assert.equal(rig.ledger.now().record.state, state)
  })
