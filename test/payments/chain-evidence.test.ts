// What is concluded from what a chain shows of a payment, and what is not. That a transfer is found is in facilitators.test.ts.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { x402ExactPermit2ProxyABI, x402ExactPermit2ProxyAddress } from '@x402/evm'
import { concat, encodeFunctionData, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { ChainEvidence } from '../../src/payments/index.ts'
import { type Hex, network, skipped, startChain } from './chain.ts'
import { shop } from './rig.ts'
import { exactPayment, type Offer } from './sign.ts'
import { exactPermit2Payment } from './sign-upto.ts'

const chain = await startChain()
const options = { skip: skipped }
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

async function openLook(confirmations = 1): Promise<ChainEvidence['look']> {
  const chainId = Number(network.split(':')[1])
  const evidence = await ChainEvidence.open({ rpcUrl: chain.rpcUrl, chainId, confirmations })
  return given => evidence.look(given)
}

/** A payment that was to be moved by someone else. */
function record(payer: Hex, payload: object, validUntil: number): PaymentRecord {
  return {
    ...{
      id: 'pay_1',
      hash: '',
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

/** What a payer is offered; no server is asked. */
const offered = (): { resource: object; accepts: Offer[] } => ({
  resource: {},
  accepts: [
    {
      ...{ scheme: 'exact', network, asset: chain.token, amount: '10000', payTo: shop },
      ...{ maxTimeoutSeconds: 600, extra: { name: 'Test Dollar', version: '2' } },
    },
  ],
})

const tokenAbi = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function transfer(address to, uint256 amount) returns (bool)',
])

/** The call that moves what was signed. */
function callFor({ payload }: Awaited<ReturnType<typeof exactPayment>>): { target: Hex; callData: Hex } {
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization as Record<string, Hex>
  const callData = encodeFunctionData({
    abi: tokenAbi,
    functionName: 'transferWithAuthorization',
    args: [
      ...([from, to] as [Hex, Hex]),
      ...([BigInt(value ?? 0), BigInt(validAfter ?? 0), BigInt(validBefore ?? 0)] as const),
      ...([nonce, payload.signature] as [Hex, Hex]),
    ],
  })
  return { target: chain.token, callData }
}

test(
  'one transfer in a transaction that uses many nonces is evidence for its own nonce only',
  options,
  async () => {
    const payer = await chain.payer()
    const own = (await chain.payer(0n)).address
    const look = await openLook()
    const elsewhere = { to: own }
    const signed = [
      await exactPayment(payer, offered(), elsewhere),
      await exactPayment(payer, offered(), elsewhere),
      await exactPayment(payer, offered()),
      await exactPayment(payer, offered(), elsewhere),
      await exactPayment(payer, offered(), { value: '1' }),
    ]
    const before = await chain.balance(shop)
    const transaction = await chain.together(signed.map(callFor))
    assert.equal((await chain.balance(shop)) - before, 10_001n)
    const found = await Promise.all(
      signed.map(({ payload }) => look(record(payer.address, payload, inSeconds(600)))),
    )
    const failed = { state: 'failed', reason: 'authorization_used_elsewhere' }
    assert.deepEqual(found, [failed, failed, { state: 'moved', transaction }, failed, failed])
  },
)

type Permit2Payment = Awaited<ReturnType<typeof exactPermit2Payment>>

/** As a facilitator asks the proxy to settle it. */
function settlementOf({ payload }: Permit2Payment): Hex {
  const { from, permitted, nonce, deadline, witness } = payload.permit2Authorization
  const permit = {
    permitted: { token: permitted.token, amount: BigInt(permitted.amount) },
    ...{ nonce: BigInt(nonce), deadline: BigInt(deadline) },
  }
  return encodeFunctionData({
    abi: x402ExactPermit2ProxyABI,
    functionName: 'settle',
    args: [permit, from, { to: witness.to, validAfter: 0n }, payload.signature],
  })
}

const nonceIn = ({ payload }: Permit2Payment): bigint => BigInt(payload.permit2Authorization.nonce)

test('over Permit2 only a settlement of this nonce by the proxy is evidence', options, async () => {
  const payer = await chain.payer()
  const look = await openLook()
  const stateOf = async ({ payload }: Permit2Payment): Promise<string> =>
    (await look(record(payer.address, payload, inSeconds(600)))).state
  const transfer = (amount: bigint): Hex =>
    encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [shop, amount] })

  const [small, whole, beside, paid] = await signMany(payer)
  for (const one of [small, whole, beside]) await chain.invalidate(payer, nonceIn(one))
  await chain.sendRaw(payer, chain.token, concat([transfer(1n), small.payload.signature]))
  await chain.sendRaw(payer, chain.token, concat([transfer(10_000n), whole.payload.signature]))
  // The proxy settles one payment, and the signature of another stands behind the call.
  const hash = await chain.sendRaw(
    payer,
    x402ExactPermit2ProxyAddress,
    concat([settlementOf(paid), beside.payload.signature]),
  )
  assert.deepEqual(
    [await stateOf(small), await stateOf(whole), await stateOf(beside)],
    ['pending', 'pending', 'pending'],
  )
  assert.deepEqual(await look(record(payer.address, paid.payload, inSeconds(600))), {
    state: 'moved',
    transaction: hash,
  })
})

async function signMany(
  payer: PrivateKeyAccount,
): Promise<[Permit2Payment, Permit2Payment, Permit2Payment, Permit2Payment]> {
  const sign = (): Promise<Permit2Payment> => exactPermit2Payment(payer, offered())
  return [await sign(), await sign(), await sign(), await sign()]
}

test('evidence with too few blocks upon it waits for more', options, async () => {
  const payer = await chain.payer()
  const look = await openLook(3)
  const [direct, proxied] = [
    await exactPayment(payer, offered()),
    await exactPermit2Payment(payer, offered()),
  ]
  const sent = [
    [direct.payload, await chain.together([callFor(direct)])],
    [proxied.payload, await chain.sendRaw(payer, x402ExactPermit2ProxyAddress, settlementOf(proxied))],
  ] as const
  for (const [payload, transaction] of sent.slice(1)) {
    const found = await look(record(payer.address, payload, inSeconds(600)))
    assert.deepEqual(found, { state: 'pending', reason: 'settlement_pending', transaction })
  }
  await chain.tester.mine({ blocks: 2 })
  for (const [payload, transaction] of sent)
    assert.deepEqual(await look(record(payer.address, payload, inSeconds(600))), {
      state: 'moved',
      transaction,
    })
})
