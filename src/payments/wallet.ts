// A wallet on one chain: reads contracts, and sends transactions one after the other. The caller gets the hash of a
// transaction before it is sent, and records it to find the transaction again after a crash.
import type { Hex } from '../callers/wallet.ts'
import { TurnwireError } from '../language/errors.ts'
import { type Call, type ChainClient, chainClient, hasConfirmations, type Viem } from './chain-client.ts'
import { loadViem } from './packages.ts'

export type WalletOptions = {
  key: string
  rpcUrl: string
  chainId: number
  /** How long a receipt is waited for. */
  waitMs: number
  confirmations?: number
  /** In gwei. */
  maxFeePerGas?: string
}

const defaultMaxFee = '1000'

/** `reverted`: the chain refused it. `waiting`: it has too few blocks yet. `absent`: the chain does not know it. */
export type TransactionState = 'done' | 'reverted' | 'waiting' | 'absent'

export class Wallet {
  readonly address: Hex
  readonly #viem: Viem
  readonly #options: WalletOptions
  readonly #client: ChainClient
  readonly #account: ReturnType<Viem['privateKeyToAccount']>
  /** Transactions are numbered, so one is sent after the other. */
  #last: Promise<unknown> = Promise.resolve()

  static async open(options: WalletOptions): Promise<Wallet> {
    return new Wallet(await loadViem(), options)
  }

  private constructor(viem: Viem, options: WalletOptions) {
    this.#viem = viem
    this.#options = options
    this.#client = chainClient(viem, options)
    this.#account = viem.privateKeyToAccount(options.key as Hex) // The configuration was checked.
    this.address = this.#account.address
  }

  /** Reads as this wallet: some contracts answer only the wallet that will settle. */
  read({ args = [], ...call }: Call): Promise<unknown> {
    return this.#client.readContract({ ...call, args, account: this.address })
  }

  codeAt(address: Hex): Promise<Hex | undefined> {
    return this.#client.getCode({ address })
  }

  /** Also for wallets that are contracts. */
  verifyTypedData(signed: unknown): Promise<boolean> {
    // A signed message is typed by its own `types`, which TypeScript cannot follow through a variable.
    return this.#client.verifyTypedData(signed as Parameters<ChainClient['verifyTypedData']>[0])
  }

  /** Fails if the call would fail. */
  async simulate({ address, ...call }: Call): Promise<void> {
    const data = this.#viem.encodeFunctionData({ ...call, args: call.args ?? [] })
    await this.#client.call({ account: this.address, to: address, data })
  }

  write(
    { address, ...call }: Call & { dataSuffix?: Hex; gas?: bigint },
    sending: (transaction: Hex) => Promise<void>,
  ): Promise<Hex> {
    const { dataSuffix, gas, ...called } = call
    const data = this.#viem.encodeFunctionData({ ...called, args: called.args ?? [] })
    const whole = dataSuffix === undefined ? data : this.#viem.concat([data, dataSuffix])
    return this.send({ to: address, data: whole, ...(gas !== undefined && { gas }) }, sending)
  }

  send(
    transaction: { to: Hex; data: Hex; gas?: bigint },
    sending: (transaction: Hex) => Promise<void>,
  ): Promise<Hex> {
    const sent = this.#last.then(() => this.#send(transaction, sending))
    this.#last = sent.catch(() => {})
    return sent
  }

  async #send(
    transaction: { to: Hex; data: Hex; gas?: bigint },
    sending: (transaction: Hex) => Promise<void>,
  ): Promise<Hex> {
    const { nonce, gas, chainId, maxFeePerGas, maxPriorityFeePerGas } =
      await this.#client.prepareTransactionRequest({
        account: this.#account,
        type: 'eip1559',
        ...transaction,
      })
    this.#refuseFee(maxFeePerGas)
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    const whole = { ...transaction, type: 'eip1559' as const, nonce, gas, chainId, ...fees }
    const signed = await this.#account.signTransaction(whole)
    const hash = this.#viem.keccak256(signed)
    await sending(hash)
    await this.#client.sendRawTransaction({ serializedTransaction: signed })
    return hash
  }

  /** A transaction that pays less than the chain wants would wait, and keep all later ones waiting. */
  #refuseFee(wanted: bigint): void {
    const { maxFeePerGas = defaultMaxFee } = this.#options
    const { parseGwei, formatGwei } = this.#viem
    if (wanted <= parseGwei(maxFeePerGas)) return
    throw new TurnwireError(
      'payment_failed',
      `The chain wants up to ${formatGwei(wanted)} gwei for a unit of gas, and payments.facilitator.maxFeePerGas is ${maxFeePerGas}. Nothing was sent.`,
    )
  }

  wait({ hash }: { hash: Hex }) {
    const { waitMs, confirmations = 1 } = this.#options
    return this.#client.waitForTransactionReceipt({ hash, timeout: waitMs, confirmations })
  }

  async #isFinal(block: bigint): Promise<boolean> {
    const { confirmations = 1 } = this.#options
    return (
      confirmations <= 1 ||
      hasConfirmations(await this.#client.getBlockNumber({ cacheTime: 0 }), block, confirmations)
    )
  }

  async transactionState(hash: Hex): Promise<TransactionState> {
    try {
      const { status, blockNumber } = await this.#client.getTransactionReceipt({ hash })
      if (!(await this.#isFinal(blockNumber))) return 'waiting'
      return status === 'success' ? 'done' : 'reverted'
    } catch (error) {
      if (!(error instanceof this.#viem.TransactionReceiptNotFoundError)) throw error
    }
    try {
      await this.#client.getTransaction({ hash })
      return 'waiting'
    } catch (error) {
      if (error instanceof this.#viem.TransactionNotFoundError) return 'absent'
      throw error
    }
  }
}
