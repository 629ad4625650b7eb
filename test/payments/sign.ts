// Payments signed by hand, so that tests can send them often, late, changed, or for something else.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { authorizationTypes } from '@x402/evm'
import type { PrivateKeyAccount } from 'viem/accounts'
import { permitTypes } from '../../src/payments/terminal.ts'
import { type Hex, permit2Address } from './chain.ts'
import { decoded, post } from './rig.ts'

export type Offer = {
  scheme: string
  network: string
  asset: Hex
  amount: string
  payTo: Hex
  maxTimeoutSeconds: number
  extra: Record<string, string>
}

/** What a server asks of this request. */
export async function offersOf(
  url: string,
  path: string,
  body: object,
): Promise<{ resource: object; accepts: Offer[] }> {
  const answer = await post(url, path, body)
  assert.equal(answer.status, 402, await answer.clone().text())
  return decoded(answer.headers.get('payment-required')) as { resource: object; accepts: Offer[] }
}

export const inSeconds = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds)

export const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** The header of version 2 for an offer of `exact` over EIP-3009. `over` changes what is signed. */
export async function exactPayment(
  payer: PrivateKeyAccount,
  { resource, accepts }: { resource: object; accepts: Offer[] },
  over: Partial<Record<'to' | 'value' | 'validBefore' | 'validAfter' | 'nonce', string>> = {},
): Promise<{
  x402Version: number
  resource: object
  accepted: Offer
  payload: { signature: Hex; authorization: Record<string, string> }
}> {
  const [accepted] = accepts
  assert.ok(accepted)
  const authorization = {
    from: payer.address as string,
    to: accepted.payTo as string,
    value: accepted.amount,
    validAfter: '0',
    validBefore: inSeconds(accepted.maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    ...over,
  }
  const signature = await payer.signTypedData({
    domain: {
      name: accepted.extra['name'],
      version: accepted.extra['version'],
      chainId: Number(accepted.network.split(':')[1]),
      verifyingContract: accepted.asset,
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: payer.address,
      to: authorization.to as Hex,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as Hex,
    },
  })
  return { x402Version: 2, resource, accepted, payload: { signature, authorization } }
}

export const paidWith = (payment: object): Record<string, string> => ({
  'payment-signature': encoded(payment),
})

/** As Sixerr's client does it: a Permit2 signature whose spender is the terminal. */
export async function sixerrPayment(
  payer: PrivateKeyAccount,
  offer: Record<string, string>,
  over: { amount?: string; deadline?: number; token?: Hex; nonce?: string } = {},
): Promise<{
  sender: Hex
  permit: { permitted: { token: string; amount: string }; nonce: string; deadline: number }
  signature: Hex
}> {
  const permitted = {
    token: over.token ?? offer['asset'] ?? '',
    amount: over.amount ?? offer['maxCost'] ?? '',
  }
  const nonce = over.nonce ?? String(Date.now() * 1000 + Math.floor(Math.random() * 1000))
  const deadline = over.deadline ?? Math.floor(Date.now() / 1000) + Number(offer['maxTimeoutSeconds'])
  const signature = await payer.signTypedData({
    domain: {
      name: 'Permit2',
      chainId: Number((offer['network'] ?? '').split(':')[1]),
      verifyingContract: permit2Address,
    },
    // The contract on the chain checks that they are right.
    types: permitTypes,
    primaryType: 'PermitTransferFrom',
    message: {
      permitted: { token: permitted.token as Hex, amount: BigInt(permitted.amount) },
      spender: offer['permit2Terminal'] as Hex,
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
    },
  })
  return { sender: payer.address, permit: { permitted, nonce, deadline }, signature }
}

/** The headers of a wallet that signed in. */
export async function signIn(url: string, wallet: PrivateKeyAccount): Promise<Record<string, string>> {
  const asked = await fetch(`${url}/v1/wallet/challenge?address=${wallet.address}`)
  const { message } = (await asked.json()) as { message: string }
  const signature = await wallet.signMessage({ message })
  const answer = await post(url, '/v1/wallet/sign-in', { message, signature })
  assert.equal(answer.status, 200, await answer.clone().text())
  const { token } = (await answer.json()) as { token: string }
  return { authorization: `Bearer ${token}` }
}
