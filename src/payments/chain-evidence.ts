// Looks up on the chain whether a payment that a remote facilitator was asked to move has moved, and by which
// transaction. It decides by the chain's logs and nothing else. Where they show nothing, it says so.

import type { AbiFunction } from 'viem'
import type { Hex } from '../callers/wallet.ts'
import type { PaymentRecord } from '../language/payments.ts'
import {
  type ChainClient,
  chainClient,
  hasConfirmations,
  isNonceUsed,
  readNonce,
  type Viem,
} from './chain-client.ts'
import { behindMs, type Moved, type Unsent } from './facilitator.ts'
import { loadProxies, loadViem } from './packages.ts'

type BlockRange = { fromBlock: bigint; toBlock: bigint }

/** Blocks that are asked for at a time: servers of chains refuse longer ranges. */
const rangeBlocks = 500n
const mostRanges = 400
/** For payments of old logs, which do not say when they were reserved. */
const usualAgeMs = 24 * 3_600_000

type Proxies = Awaited<ReturnType<typeof loadProxies>>
/** The permit and the payer that a call of one of x402's proxies settles. */
type Settled = { permit: { nonce: bigint; permitted: { token: Hex } }; owner: Hex }
type ChainLog = { address: Hex; topics: readonly Hex[]; data: Hex; logIndex: number }

export type EvidenceOptions = { rpcUrl: string; chainId: number; confirmations?: number }

export class ChainEvidence {
  readonly #client: ChainClient
  readonly #viem: Viem
  readonly #proxies: Proxies
  readonly #confirmations: number
  readonly #events: ReturnType<typeof chainEvents>

  static async open(options: EvidenceOptions): Promise<ChainEvidence> {
    return new ChainEvidence(await loadViem(), await loadProxies(), options)
  }

  private constructor(viem: Viem, proxies: Proxies, { confirmations = 1, ...at }: EvidenceOptions) {
    this.#client = chainClient(viem, at)
    this.#viem = viem
    this.#proxies = proxies
    this.#confirmations = confirmations
    this.#events = chainEvents(viem)
  }

  async look(record: PaymentRecord): Promise<Moved | Unsent> {
    const isOver = record.validUntil * 1000 + behindMs < Date.now()
    const isUsed = await isNonceUsed(call => this.#client.readContract({ args: [], ...call }), record)
    if (!isUsed)
      return isOver
        ? { state: 'failed', reason: 'authorization_expired' }
        : { state: 'unsent', mayMove: true }
    const shown =
      readNonce(record).kind === 'eip3009' ? await this.#byEvents(record) : await this.#byTransfer(record)
    if (shown) return shown
    const reason = 'authorization_used_but_no_transfer_found'
    return { state: 'pending', reason, ...(isOver && { unclear: true }) }
  }

  /**
   * A token with EIP-3009 tells of each nonce that was used, and directly after that of the transfer; and of each that was
   * taken back. Other transfers of the same transaction belong to other nonces.
   */
  async #byEvents(record: PaymentRecord): Promise<Moved | undefined> {
    const { payer, asset } = record
    const { nonce } = readNonce(record)
    const about = { authorizer: payer as Hex, nonce: nonce as Hex }
    const address = asset as Hex
    const { used, canceled } = this.#events
    const use = await this.#search(record, range =>
      this.#client.getLogs({ address, event: used, args: about, ...range }),
    )
    if (use) {
      const { transactionHash, logIndex } = use
      const logs = await this.#readLogs(transactionHash)
      if (!logs) return waiting(transactionHash)
      const next = logs.find(log => log.logIndex === logIndex + 1)
      if (next && isTransfer(record, next)) return { state: 'moved', transaction: transactionHash }
      // A token that tells in another order says nothing of this payment.
      return next && isSpent(record, next)
        ? { state: 'failed', reason: 'authorization_used_elsewhere' }
        : undefined
    }
    const cancel = await this.#search(record, range =>
      this.#client.getLogs({ address, event: canceled, args: about, ...range }),
    )
    if (!cancel) return undefined
    const isFinal = await this.#readLogs(cancel.transactionHash)
    return isFinal ? { state: 'failed', reason: 'authorization_canceled' } : waiting(cancel.transactionHash)
  }

  /**
   * Permit2 tells nothing. A transfer of the whole amount in a transaction that asked x402's proxy to settle this very nonce is
   * that of this payment: the proxy and Permit2 take a nonce once, and the transaction fails without the transfer.
   */
  async #byTransfer(record: PaymentRecord): Promise<Moved | undefined> {
    const { payer, payTo, asset } = record
    const args = { from: payer as Hex, to: payTo as Hex }
    const { transfer } = this.#events
    const found = await this.#search(
      record,
      range => this.#client.getLogs({ address: asset as Hex, event: transfer, args, ...range }),
      log => this.#settles(record, log),
    )
    if (!found) return undefined
    const { transactionHash } = found
    const isFinal = await this.#readLogs(transactionHash)
    return isFinal ? { state: 'moved', transaction: transactionHash } : waiting(transactionHash)
  }

  async #settles(record: PaymentRecord, log: ChainLog & { transactionHash: Hex }): Promise<boolean> {
    if (!isTransfer(record, log)) return false
    const { to, input } = await this.#client.getTransaction({ hash: log.transactionHash })
    const { address, abi } = this.#proxies[record.asked['scheme'] === 'upto' ? 'upto' : 'exact']
    if (to?.toLowerCase() !== address.toLowerCase()) return false
    const settled = this.#settledBy(abi, input)
    const same = (one: string | undefined, other: string): boolean =>
      one?.toLowerCase() === other.toLowerCase()
    return (
      settled?.permit.nonce === readNonce(record).nonce &&
      same(settled.owner, record.payer) &&
      same(settled.permit.permitted.token, record.asset)
    )
  }

  /** Decodes a call of a proxy. Undefined: it settles nothing. */
  #settledBy(abi: readonly AbiFunction[], data: Hex): Settled | undefined {
    const item = abi.find(each => this.#viem.toFunctionSelector(each) === data.slice(0, 10))
    if (!item || !/^settle/.test(item.name)) return undefined
    try {
      const values = this.#viem.decodeAbiParameters(item.inputs, `0x${data.slice(10)}`)
      const named = Object.fromEntries(item.inputs.map(({ name }, at) => [name ?? '', values[at]]))
      return named as unknown as Settled // All calls of the proxies that settle have these parameters.
    } catch {
      return undefined
    }
  }

  /** Of a transaction with so many blocks that it is final. Undefined: there are too few yet. */
  async #readLogs(hash: Hex): Promise<readonly ChainLog[] | undefined> {
    const { blockNumber, logs } = await this.#client.getTransactionReceipt({ hash })
    if (this.#confirmations <= 1) return logs
    return hasConfirmations(
      await this.#client.getBlockNumber({ cacheTime: 0 }),
      blockNumber,
      this.#confirmations,
    )
      ? logs
      : undefined
  }

  /** The first log that is meant, from the newest block back to when the payment was reserved. */
  async #search<Found extends { transactionHash: Hex }>(
    { reservedAt, validUntil }: PaymentRecord,
    ask: (range: BlockRange) => Promise<readonly Found[]>,
    isMeant: (log: Found) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Found | undefined> {
    const since = (reservedAt ?? validUntil * 1000 - usualAgeMs) - behindMs
    let toBlock = await this.#client.getBlockNumber({ cacheTime: 0 })
    for (let ranges = 0; ranges < mostRanges; ranges += 1) {
      const fromBlock = toBlock > rangeBlocks ? toBlock - rangeBlocks : 0n
      for (const log of await ask({ fromBlock, toBlock })) if (await isMeant(log)) return log
      const { timestamp } = await this.#client.getBlock({ blockNumber: fromBlock })
      if (fromBlock === 0n || Number(timestamp) * 1000 < since) return undefined
      toBlock = fromBlock - 1n
    }
    throw new Error('The payment is too old to be looked up on the chain.')
  }
}

function waiting(transaction: Hex): Moved {
  return { state: 'pending', reason: 'settlement_pending', transaction }
}

/** Whether a log shows a transfer of exactly the payment's amount from its payer to its recipient. */
function isTransfer(record: PaymentRecord, log: ChainLog): boolean {
  const { payTo, amount, cap } = record
  const isTo = isSpent(record, log) && log.topics[2] === topic(payTo)
  return isTo && BigInt(log.data) === BigInt(amount ?? cap)
}

/** Whether a log tells that its payer's money went somewhere. */
function isSpent({ payer, asset }: PaymentRecord, { address, topics: [event, from] }: ChainLog): boolean {
  return address.toLowerCase() === asset.toLowerCase() && event === transferTopic && from === topic(payer)
}

function topic(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/** Of the event Transfer(address,address,uint256). */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

function chainEvents({ parseAbiItem }: Awaited<ReturnType<typeof loadViem>>) {
  return {
    used: parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
    canceled: parseAbiItem('event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)'),
    transfer: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
  }
}
