// A payment of x402's scheme `upto`, signed by hand: Permit2 with a witness that names recipient and facilitator.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { uptoPermit2WitnessTypes, x402UptoPermit2ProxyAddress } from '@x402/evm'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Hex, permit2Address } from './chain.ts'
import { inSeconds, type Offer } from './sign.ts'

export async function uptoPayment(
  payer: PrivateKeyAccount,
  { resource, accepts }: { resource: object; accepts: Offer[] },
) {
  const [accepted] = accepts
  assert.ok(accepted)
  const facilitator = accepted.extra['facilitatorAddress'] as Hex
  const authorization = {
    from: payer.address,
    permitted: { token: accepted.asset, amount: accepted.amount },
    spender: x402UptoPermit2ProxyAddress,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: inSeconds(accepted.maxTimeoutSeconds),
    witness: { to: accepted.payTo, facilitator, validAfter: '0' },
  }
  const signature = await payer.signTypedData({
    domain: {
      name: 'Permit2',
      chainId: Number(accepted.network.split(':')[1]),
      verifyingContract: permit2Address,
    },
    types: uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: accepted.asset, amount: BigInt(accepted.amount) },
      spender: x402UptoPermit2ProxyAddress,
      nonce: BigInt(authorization.nonce),
      deadline: BigInt(authorization.deadline),
      witness: { to: accepted.payTo, facilitator, validAfter: 0n },
    },
  })
  return { x402Version: 2, resource, accepted, payload: { signature, permit2Authorization: authorization } }
}
