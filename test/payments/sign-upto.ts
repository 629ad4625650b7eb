// Payments of x402 over Permit2, signed by hand: a witness names the recipient and, of the scheme `upto`, the facilitator.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  permit2WitnessTypes,
  uptoPermit2WitnessTypes,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Hex, permit2Address } from './chain.ts'
import { inSeconds, type Offer } from './sign.ts'

type Offered = { resource: object; accepts: Offer[] }

export function uptoPayment(payer: PrivateKeyAccount, offered: Offered) {
  const facilitator = offered.accepts[0]?.extra['facilitatorAddress'] as Hex
  return permit2Payment(payer, offered, x402UptoPermit2ProxyAddress, uptoPermit2WitnessTypes, { facilitator })
}

export function exactPermit2Payment(payer: PrivateKeyAccount, offered: Offered) {
  return permit2Payment(payer, offered, x402ExactPermit2ProxyAddress, permit2WitnessTypes, {})
}

async function permit2Payment(
  payer: PrivateKeyAccount,
  { resource, accepts }: Offered,
  spender: Hex,
  types: typeof permit2WitnessTypes | typeof uptoPermit2WitnessTypes,
  more: { facilitator?: Hex },
) {
  const [accepted] = accepts
  assert.ok(accepted)
  const authorization = {
    from: payer.address,
    permitted: { token: accepted.asset, amount: accepted.amount },
    spender,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: inSeconds(accepted.maxTimeoutSeconds),
    witness: { to: accepted.payTo, validAfter: '0', ...more },
  }
  const signature = await payer.signTypedData({
    domain: {
      name: 'Permit2',
      chainId: Number(accepted.network.split(':')[1]),
      verifyingContract: permit2Address,
    },
    types: types as typeof uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: accepted.asset, amount: BigInt(accepted.amount) },
      spender,
      nonce: BigInt(authorization.nonce),
      deadline: BigInt(authorization.deadline),
      // The types of each scheme take the members that they have.
      witness: { to: accepted.payTo, validAfter: 0n, facilitator: more.facilitator as Hex },
    },
  })
  return { x402Version: 2, resource, accepted, payload: { signature, permit2Authorization: authorization } }
}
