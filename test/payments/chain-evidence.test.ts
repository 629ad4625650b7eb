// What is concluded from what a chain shows of a payment, and what is not. That a transfer is found is in facilitators.test.ts.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { ChainEvidence } from '../../src/payments/index.ts'
import { type Hex, network, skipped, startChain } from './chain.ts'
import { shop } from './rig.ts'

const chain = await startChain()
const options = { skip: skipped }
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

async function openLook(): Promise<ChainEvidence['look']> {
  const chainId = Number(network.split(':')[1])
  const evidence = await ChainEvidence.open({ rpcUrl: chain.rpcUrl, chainId })
  return given => evidence.look(given)
}

/** A payment that was to be moved by someone else. */
function record(payer: Hex, payload: object, validUntil: number): PaymentRecord {
  return {
    ...{
      id: 'pay_1',
      state: 'settling',
      open: true,
      kind: 'exact',
      form: 'x402-2',
      agent: 'helper',
      path: '/',
    },
    ...{ payer, payTo: shop, network, asset: chain.token, cap: '10000', amount: '10000' },
    ...{ validUntil, reservedAt: Date.now() - 60_000, asked: {}, price: {} },
    given: { x402Version: 2, payload: JSON.parse(JSON.stringify(payload)) as PaymentRecord['given'] },
  }
}

const permit = (nonce: bigint) => ({
  signature: `0x${randomBytes(65).toString('hex')}`,
  permit2Authorization: { nonce: String(nonce) },
})

test(
  'an authorization that is not used has not moved: it may still, until it has expired for good',
  options,
  async () => {
    const { address } = await chain.payer()
    const look = await openLook()
    const payload = { signature: '0x01', authorization: { nonce: `0x${randomBytes(32).toString('hex')}` } }
    for (const given of [payload, permit(7n)]) {
      assert.deepEqual(await look(record(address, given, inSeconds(600))), { state: 'unsent', mayMove: true })
      // A node of the chain may be a little behind.
      assert.deepEqual(await look(record(address, given, inSeconds(-5))), { state: 'unsent', mayMove: true })
      assert.deepEqual(await look(record(address, given, inSeconds(-120))), {
        state: 'failed',
        reason: 'authorization_expired',
      })
    }
  },
)

test(
  'a nonce that is used up without a transfer proves nothing: not that it has moved, and not that it has not',
  options,
  async () => {
    const payer = await chain.payer()
    const look = await openLook()
    await chain.invalidate(payer, 7n)
    const reason = 'authorization_used_but_no_transfer_found'
    const found = await look(record(payer.address, permit(7n), inSeconds(600)))
    assert.deepEqual(found, { state: 'pending', reason })
    const late = await look(record(payer.address, permit(7n), inSeconds(-120)))
    assert.deepEqual(late, { state: 'pending', reason, unclear: true })
  },
)

test(
  'another payment of the same payer to the same recipient is not taken for this one',
  options,
  async () => {
    const payer = await chain.payer()
    const look = await openLook()
    await chain.invalidate(payer, 9n)
    await chain.send(payer, shop, 10_000n)
    assert.equal((await look(record(payer.address, permit(9n), inSeconds(600)))).state, 'pending')
  },
)
