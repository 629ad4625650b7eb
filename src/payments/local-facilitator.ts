// The facilitator in this process: x402's own code checks and settles payments with a wallet of this server, which pays the
// fees of the chain. Sixerr's form is checked and settled here, through a terminal contract.
import type { Hex } from '../callers/wallet.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { isNonceUsed } from './chain-client.ts'
import type { PaymentsConfig } from './config.ts'
import {
  behindMs,
  type Facilitator,
  type Moved,
  type SettleRequest,
  type Unsent,
  type Verified,
} from './facilitator.ts'
import type { GivenPayment } from './given.ts'
import { findChainId, networkNameV1 } from './networks.ts'
import { loadX402 } from './packages.ts'
import { settleTerminal, verifyTerminal } from './terminal.ts'
import type { Abilities } from './terms.ts'
import { type TransactionState, Wallet } from './wallet.ts'

type X402 = Awaited<ReturnType<typeof loadX402>>
type Scheme = Pick<InstanceType<X402['ExactEvmScheme']>, 'verify' | 'settle'>
type Payload = Parameters<Scheme['verify']>[0]
type Requirements = Parameters<Scheme['verify']>[1]
type Signer = ConstructorParameters<X402['ExactEvmScheme']>[0]

/** `sending`: is told the hash of a transaction before it is sent. `withheld`: why none was sent, if that may change. */
type Sending = { sending: (transaction: Hex) => Promise<void>; withheld?: (why: string) => void }

type LocalOptions = Pick<PaymentsConfig, 'network' | 'asset' | 'terminal'> & {
  key: string
  rpcUrl: string
  settleMs: number
  confirmations?: number
  maxFeePerGas?: string
}

export class LocalFacilitator implements Facilitator {
  readonly #x402: X402
  readonly #wallet: Wallet
  readonly #options: LocalOptions

  static async open(options: LocalOptions): Promise<LocalFacilitator> {
    const { key, rpcUrl, settleMs, network, confirmations, maxFeePerGas } = options
    const chainId = findChainId(network) ?? 0
    const wallet = await Wallet.open({
      key,
      rpcUrl,
      chainId,
      waitMs: settleMs,
      ...(confirmations !== undefined && { confirmations }),
      ...(maxFeePerGas !== undefined && { maxFeePerGas }),
    })
    return new LocalFacilitator(await loadX402(), wallet, options)
  }

  private constructor(x402: X402, wallet: Wallet, options: LocalOptions) {
    this.#x402 = x402
    this.#wallet = wallet
    this.#options = options
  }

  async abilities(): Promise<Abilities> {
    const v1Network = await networkNameV1(this.#options.network)
    return {
      uptoBy: this.#wallet.address,
      terminal: this.#options.terminal !== undefined,
      ...(v1Network !== undefined && { v1Network }),
    }
  }

  async verify(given: GivenPayment, asked: JsonObject): Promise<Verified> {
    if (given.form === 'sixerr') return verifyTerminal(this.#wallet, given, asked)
    const scheme = this.#scheme(given.form, asked, { sending: async () => {} })
    const { payload, requirements } = typed(given.raw, asked)
    const { isValid, invalidReason, invalidMessage, payer } = await scheme.verify(payload, requirements)
    if (isValid) return { ok: true, ...(payer !== undefined && { payer }) }
    const message = invalidMessage === undefined ? {} : { message: invalidMessage }
    return { ok: false, reason: invalidReason ?? 'invalid_payment', ...message }
  }

  async settle(request: SettleRequest): Promise<Moved> {
    const { record, amount } = request
    const known: { transaction?: string; withheld?: string } = {}
    const tell = async (transaction: string): Promise<void> => {
      known.transaction = transaction
      await request.sending(transaction)
    }
    try {
      if (record.form === 'sixerr') return await settleTerminal(this.#wallet, { ...request, sending: tell })
      const asked = record.form === 'x402-2' ? { ...record.asked, amount } : record.asked
      const { payload, requirements } = typed(record.given, asked)
      const withheld = (why: string): void => {
        known.withheld = why
      }
      const scheme = this.#scheme(record.form, asked, { sending: tell, withheld })
      const { success, transaction, errorReason } = await scheme.settle(payload, requirements)
      if (success) return { state: 'moved', transaction }
      if (known.transaction === undefined && known.withheld !== undefined)
        return { state: 'pending', reason: known.withheld }
      if (known.transaction === undefined)
        return { state: 'failed', reason: errorReason ?? 'settlement_failed' }
    } catch (error) {
      if (known.transaction === undefined) return { state: 'pending', reason: wordsOf(error) }
    }
    // Something was sent: only the chain can say what came of it.
    return this.#moved(record, known.transaction)
  }

  async #moved(record: PaymentRecord, transaction: string): Promise<Moved> {
    const sent = [...(record.sent ?? []), transaction]
    const found = await this.look({ ...record, sent }).catch(() => undefined)
    if (found?.state === 'moved') return found
    if (found?.state === 'failed') return found
    return { state: 'pending', reason: 'settlement_pending', transaction }
  }

  /**
   * Only a transaction of this wallet shows that the money has moved: a payer can use a nonce up without paying, by cancelling
   * it or spending it elsewhere.
   */
  async look(record: PaymentRecord): Promise<Moved | Unsent> {
    const states = new Map<string, TransactionState>()
    for (const hash of record.sent ?? []) {
      const state = await this.#wallet.transactionState(hash as Hex) // A hash of ours.
      if (state === 'done') return { state: 'moved', transaction: hash }
      states.set(hash, state)
    }
    for (const [transaction, state] of states)
      if (state === 'waiting') return { state: 'pending', reason: 'settlement_pending', transaction }
    const all = [...states.values()]
    if (all.at(-1) === 'reverted') return { state: 'failed', reason: 'transaction_reverted' }
    if (!(await isNonceUsed(call => this.#wallet.read(call), record))) return { state: 'unsent' }
    // A node of the chain that is behind may not know our transaction yet.
    if (all.includes('absent') && Date.now() < record.validUntil * 1000 + behindMs)
      return { state: 'pending', reason: 'settlement_pending' }
    return { state: 'failed', reason: 'authorization_used_elsewhere' }
  }

  async refund(
    record: PaymentRecord,
    amount: string,
    sending: (transaction: string) => Promise<void>,
  ): Promise<Moved | undefined> {
    if (record.payTo.toLowerCase() !== this.#wallet.address.toLowerCase()) return undefined
    const address = record.asset as Hex
    const args = [record.payer, BigInt(amount)]
    const hash = await this.#wallet.write({ address, abi: transfer, functionName: 'transfer', args }, sending)
    try {
      const { status } = await this.#wallet.wait({ hash })
      if (status === 'success') return { state: 'moved', transaction: hash }
      return { state: 'failed', reason: 'transaction_reverted' }
    } catch (error) {
      return { state: 'pending', reason: wordsOf(error), transaction: hash }
    }
  }

  async lookRefund(transaction: string): Promise<Moved | Unsent> {
    const state = await this.#wallet.transactionState(transaction as Hex)
    if (state === 'done') return { state: 'moved', transaction }
    if (state === 'waiting') return { state: 'pending', reason: 'refund_pending', transaction }
    return state === 'absent' ? { state: 'unsent' } : { state: 'failed', reason: 'transaction_reverted' }
  }

  #scheme(form: string, asked: JsonObject, { sending, withheld }: Sending): Scheme {
    const wallet = this.#wallet
    // x402's code takes every failure for one of the payment.
    const told = (error: unknown): never => {
      if (error instanceof TurnwireError) withheld?.(error.message)
      throw error
    }
    const signer: Signer = {
      getAddresses: () => [wallet.address],
      readContract: call => wallet.read(call),
      verifyTypedData: signed => wallet.verifyTypedData(signed),
      writeContract: call => wallet.write(call, sending).catch(told),
      sendTransaction: transaction => wallet.send(transaction, sending).catch(told),
      waitForTransactionReceipt: ({ hash }) => wallet.wait({ hash }),
      getCode: ({ address }) => wallet.codeAt(address),
    }
    const { ExactEvmScheme, ExactEvmSchemeV1, UptoEvmScheme } = this.#x402
    if (form === 'x402-1') return new ExactEvmSchemeV1(signer)
    return asked['scheme'] === 'upto' ? new UptoEvmScheme(signer) : new ExactEvmScheme(signer)
  }
}

/** x402's code checks the members that it reads. */
function typed(given: JsonObject, asked: JsonObject): { payload: Payload; requirements: Requirements } {
  return { payload: given as unknown as Payload, requirements: asked as unknown as Requirements }
}

const transfer = [
  {
    type: 'function',
    stateMutability: 'nonpayable',
    name: 'transfer',
    inputs: [{ type: 'address' }, { type: 'uint256' }],
    outputs: [{ type: 'bool' }],
  },
]
