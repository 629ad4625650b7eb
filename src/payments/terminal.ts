// Sixerr's form of a metered payment: a Permit2 signature for up to an amount, whose spender is a terminal contract that
// splits what is taken between the agent's wallet and the platform. Sixerr publishes no interface of its contract; ours is
// `settle(permit, owner, payTo, amount, fee, signature)`, and test/payments/contracts/spenders.sol has one. The payer
// signs neither the recipient nor the price: it trusts the contract and its callers.
import type { Hex } from '../callers/wallet.ts'
import { wordsOf } from '../language/errors.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { permit2 } from './chain-client.ts'
import type { Moved, SettleRequest, Verified } from './facilitator.ts'
import { type GivenPayment, textIn } from './given.ts'
import { findChainId } from './networks.ts'
import type { Wallet } from './wallet.ts'

/** A settlement takes some seconds. */
const slackSeconds = 6

/** The EIP-712 types of the message that a payer signs. */
export const permitTypes = {
  PermitTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
}

const hexIn = (value: JsonObject, name: string): Hex => textIn(value, name) as Hex

type Permit = { permitted: { token: Hex; amount: bigint }; nonce: bigint; deadline: bigint }

function readPermit(given: JsonObject): Permit {
  const permit = given['permit'] as JsonObject // It was read when it came.
  const permitted = permit['permitted'] as JsonObject
  return {
    permitted: { token: hexIn(permitted, 'token'), amount: BigInt(textIn(permitted, 'amount')) },
    nonce: BigInt(textIn(permit, 'nonce')),
    deadline: BigInt(textIn(permit, 'deadline')),
  }
}

export async function verifyTerminal(
  wallet: Wallet,
  given: GivenPayment,
  asked: JsonObject,
): Promise<Verified> {
  const permit = readPermit(given.raw)
  const spender = hexIn(asked, 'permit2Terminal')
  const payer = given.payer as Hex
  if (permit.permitted.token.toLowerCase() !== textIn(asked, 'asset').toLowerCase())
    return { ok: false, reason: 'permit2_token_mismatch' }
  if (given.validUntil < Date.now() / 1000 + slackSeconds)
    return { ok: false, reason: 'permit2_deadline_expired' }
  const isSigned = await wallet.verifyTypedData({
    address: payer,
    domain: {
      name: 'Permit2',
      chainId: findChainId(textIn(asked, 'network')),
      verifyingContract: permit2,
    },
    types: permitTypes,
    primaryType: 'PermitTransferFrom',
    message: { ...permit, spender },
    signature: hexIn(given.raw, 'signature'),
  })
  if (!isSigned) return { ok: false, reason: 'invalid_permit2_signature' }
  try {
    // The chain knows whether the nonce is unused, the allowance given and the money there.
    await wallet.simulate(terminalCall(given.raw, asked, payer, String(permit.permitted.amount), '0'))
    return { ok: true }
  } catch (error) {
    return { ok: false, reason: 'permit2_simulation_failed', message: wordsOf(error).split('\n')[0] ?? '' }
  }
}

export async function settleTerminal(
  wallet: Wallet,
  { record, amount, fee, ...request }: SettleRequest,
): Promise<Moved> {
  const call = terminalCall(record.given, record.asked, record.payer, amount, fee)
  const hash = await wallet.write(call, transaction => request.sending(transaction))
  const { status } = await wallet.wait({ hash })
  return status === 'success'
    ? { state: 'moved', transaction: hash }
    : { state: 'failed', reason: 'transaction_reverted' }
}

function terminalCall(given: JsonObject, asked: JsonObject, payer: string, amount: string, fee: string) {
  return {
    address: hexIn(asked, 'permit2Terminal'),
    abi: terminalAbi,
    functionName: 'settle',
    args: [
      readPermit(given),
      payer as Hex,
      hexIn(asked, 'payTo'),
      BigInt(amount),
      BigInt(fee),
      hexIn(given, 'signature'),
    ],
  }
}

const terminalAbi = [
  {
    type: 'function',
    name: 'settle',
    stateMutability: 'nonpayable',
    inputs: [
      {
        name: 'permit',
        type: 'tuple',
        components: [
          {
            name: 'permitted',
            type: 'tuple',
            components: [
              { name: 'token', type: 'address' },
              { name: 'amount', type: 'uint256' },
            ],
          },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      { name: 'owner', type: 'address' },
      { name: 'payTo', type: 'address' },
      { name: 'amount', type: 'uint256' },
      { name: 'fee', type: 'uint256' },
      { name: 'signature', type: 'bytes' },
    ],
    outputs: [],
  },
]
