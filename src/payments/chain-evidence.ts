// What the chain shows of a payment that someone else was asked to move: whether it has moved, and by which transaction. It
// decides by what can be seen and nothing else. Where nothing can be seen, it says so.
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json.ts'
import { type ChainClient, chainClient, type Hex, isNonceUsed, nonceOf } from './chain-client.ts'
import { behindMs, type Moved, type Unsent } from './facilitator.ts'
import { textIn } from './given.ts'
import { loadViem } from './packages.ts'

type Range = { fromBlock: bigint; toBlock: bigint }

/** Blocks that are asked for at a time: servers of chains refuse longer ranges. */
const rangeBlocks = 500n
const mostRanges = 400
/** For payments of old logs, which do not say when they were reserved. */
const usualAgeMs = 24 * 3_600_000

export class ChainEvidence {
  readonly #client: ChainClient
  readonly #events: ReturnType<typeof eventsOf>

  static async open(options: { rpcUrl: string; chainId: number }): Promise<ChainEvidence> {
    const viem = await loadViem()
    return new ChainEvidence(chainClient(viem, options), eventsOf(viem))
  }

  private constructor(client: ChainClient, events: ReturnType<typeof eventsOf>) {
    this.#client = client
    this.#events = events
  }

  async look(record: PaymentRecord): Promise<Moved | Unsent> {
    const isOver = record.validUntil * 1000 + behindMs < Date.now()
    const isUsed = await isNonceUsed(call => this.#client.readContract({ args: [], ...call }), record)
    if (!isUsed)
      return isOver
        ? { state: 'failed', reason: 'authorization_expired' }
        : { state: 'unsent', mayMove: true }
    const shown =
      nonceOf(record).kind === 'eip3009' ? await this.#byEvents(record) : await this.#byTransfer(record)
    if (shown) return shown
    const reason = 'authorization_used_but_no_transfer_found'
    return { state: 'pending', reason, ...(isOver && { unclear: true }) }
  }

  /** A token with EIP-3009 tells of each nonce that was used, and of each that was taken back. */
  async #byEvents(record: PaymentRecord): Promise<Moved | undefined> {
    const { payer, asset } = record
    const { nonce } = nonceOf(record)
    const about = { authorizer: payer as Hex, nonce: nonce as Hex }
    const address = asset as Hex
    const { used, canceled } = this.#events
    const use = await this.#search(record, range =>
      this.#client.getLogs({ address, event: used, args: about, ...range }),
    )
    if (use !== undefined) {
      const { logs } = await this.#client.getTransactionReceipt({ hash: use })
      return hasTransfer(record, logs)
        ? { state: 'moved', transaction: use }
        : { state: 'failed', reason: 'authorization_used_elsewhere' }
    }
    const cancel = await this.#search(record, range =>
      this.#client.getLogs({ address, event: canceled, args: about, ...range }),
    )
    return cancel === undefined ? undefined : { state: 'failed', reason: 'authorization_canceled' }
  }

  /** Permit2 tells nothing. A transfer that was made with the payer's own signature is that of this payment. */
  async #byTransfer(record: PaymentRecord): Promise<Moved | undefined> {
    const { payer, payTo, asset, given } = record
    const signature = textIn(given['payload'] as JsonObject, 'signature')
      .slice(2)
      .toLowerCase()
    // The last byte of a key's signature may be written in two ways.
    const mark = signature.length === 130 ? signature.slice(0, 128) : signature
    const args = { from: payer as Hex, to: payTo as Hex }
    const { transfer } = this.#events
    const found = await this.#search(
      record,
      range => this.#client.getLogs({ address: asset as Hex, event: transfer, args, ...range }),
      async hash => (await this.#client.getTransaction({ hash })).input.toLowerCase().includes(mark),
    )
    return found === undefined ? undefined : { state: 'moved', transaction: found }
  }

  /** The transaction of the first log that is meant, from the newest block back to when the payment was reserved. */
  async #search(
    { reservedAt, validUntil }: PaymentRecord,
    ask: (range: Range) => Promise<readonly { transactionHash: Hex }[]>,
    isMeant: (transaction: Hex) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Hex | undefined> {
    const since = (reservedAt ?? validUntil * 1000 - usualAgeMs) - behindMs
    let toBlock = await this.#client.getBlockNumber()
    for (let ranges = 0; ranges < mostRanges; ranges += 1) {
      const fromBlock = toBlock > rangeBlocks ? toBlock - rangeBlocks : 0n
      for (const { transactionHash } of await ask({ fromBlock, toBlock }))
        if (await isMeant(transactionHash)) return transactionHash
      const { timestamp } = await this.#client.getBlock({ blockNumber: fromBlock })
      if (fromBlock === 0n || Number(timestamp) * 1000 < since) return undefined
      toBlock = fromBlock - 1n
    }
    throw new Error('The payment is too old to be looked up on the chain.')
  }
}

/** Whether the payment's money went from its payer to whom it is for. */
function hasTransfer(
  { payer, payTo, asset, amount, cap }: PaymentRecord,
  logs: readonly { address: Hex; topics: readonly Hex[]; data: Hex }[],
): boolean {
  const word = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')
  return logs.some(({ address, topics: [event, from, to], data }) => {
    const isOurs = address.toLowerCase() === asset.toLowerCase() && event === transferTopic
    const isFromTo = from?.slice(2) === word(payer) && to?.slice(2) === word(payTo)
    return isOurs && isFromTo && BigInt(data) === BigInt(amount ?? cap)
  })
}

/** Of the event Transfer(address,address,uint256). */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

function eventsOf({ parseAbiItem }: Awaited<ReturnType<typeof loadViem>>) {
  return {
    used: parseAbiItem('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
    canceled: parseAbiItem('event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)'),
    transfer: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
  }
}
