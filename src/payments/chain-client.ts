// Reads a chain: the client for it, and whether the chain has taken the nonce of a payment.
import type { Chain, HttpTransport, PublicClient } from 'viem'
import type { Hex } from '../callers/wallet.ts'
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { textIn } from './given.ts'
import type { loadViem } from './packages.ts'

export type Viem = Awaited<ReturnType<typeof loadViem>>
export type Call = {
  address: Hex
  abi: readonly unknown[]
  functionName: string
  args?: readonly unknown[]
}

/** The same on every chain. */
export const permit2: Hex = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

const pollMs = 500

export type ChainClient = PublicClient<HttpTransport, Chain>

export function chainClient(viem: Viem, at: { rpcUrl: string; chainId: number }): ChainClient {
  const { rpcUrl, chainId } = at
  const chain = viem.defineChain({
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
  return viem.createPublicClient({ chain, transport: viem.http(rpcUrl), pollingInterval: pollMs })
}

/** Whether a block has enough confirmations, itself among them, for its transactions to count. */
export function hasConfirmations(head: bigint, block: bigint, wanted: number): boolean {
  return head - block + 1n >= BigInt(wanted)
}

/** The nonce of a payer's signature. The chain takes it once. */
export type Nonce = { kind: 'eip3009'; nonce: Hex } | { kind: 'permit2'; nonce: bigint }

export function readNonce({ form, given }: PaymentRecord): Nonce {
  const payload = (form === 'sixerr' ? given : given['payload']) as JsonObject // It was read when it came.
  const permit = (payload['permit2Authorization'] ?? payload['permit']) as JsonObject | undefined
  if (permit) return { kind: 'permit2', nonce: BigInt(textIn(permit, 'nonce')) }
  const { nonce } = payload['authorization'] as { nonce: Hex }
  return { kind: 'eip3009', nonce }
}

/** Whether the chain has taken the nonce of a payment: for the payment, or because its payer took it back. */
export async function isNonceUsed(
  read: (call: Call) => Promise<unknown>,
  record: PaymentRecord,
): Promise<boolean> {
  const { payer, asset } = record
  const found = readNonce(record)
  if (found.kind === 'eip3009') {
    const args = [payer, found.nonce]
    const call = { abi: authorizationState, functionName: 'authorizationState', args }
    return (await read({ address: asset as Hex, ...call })) === true
  }
  const { nonce } = found
  const args = [payer, nonce >> 8n]
  const word = await read({ address: permit2, abi: nonceBitmap, functionName: 'nonceBitmap', args })
  return ((word as bigint) >> (nonce & 255n)) % 2n === 1n
}

const view = { type: 'function', stateMutability: 'view' } as const
const authorizationState = [
  {
    ...view,
    name: 'authorizationState',
    inputs: [{ type: 'address' }, { type: 'bytes32' }],
    outputs: [{ type: 'bool' }],
  },
]
const nonceBitmap = [
  {
    ...view,
    name: 'nonceBitmap',
    inputs: [{ type: 'address' }, { type: 'uint256' }],
    outputs: [{ type: 'uint256' }],
  },
]
