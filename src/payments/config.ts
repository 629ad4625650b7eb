// The types of an operator's settings for payments. src/payments/check-settings.ts checks the values.

/** Amounts are decimal texts in whole units of the asset: "0.01" is a cent, if the asset is a dollar. */
export type PriceConfig = {
  /** Paid for every answered request. Alone it is a fixed price, which is moved before the answer begins. */
  request?: string
  /** Per million tokens. The payer signs for `cap` and pays what was used, once the answer is whole. */
  input?: string
  output?: string
  /** The most that one request may cost. Needed with `input` or `output`. */
  cap?: string
  /** The wallet that is paid, if it is not that of `payments`. */
  payTo?: string
}

export type AssetConfig = {
  /** Of the token's contract. */
  address: string
  /** The EIP-712 domain of the token, which payers sign: of USDC on Base "USD Coin" and "2". */
  name: string
  version: string
  /** Default 6. */
  decimals?: number
  /** How a fixed price may be paid. `permit2` needs x402's proxy contracts on the network. Default: `eip3009` only. */
  transfer?: readonly ('eip3009' | 'permit2')[]
}

export type PaymentsConfig = {
  /** The chain, as CAIP-2 writes it: "eip155:8453" is Base. */
  network: string
  asset: AssetConfig
  /** The wallet that is paid. */
  payTo: string
  /**
   * The facilitator: it checks payments and moves the money. `url`: a remote one, by x402's protocol; with `rpcUrl` the
   * chain is read when it does not say how a settlement ended. `key`: this server, with a wallet that pays the chain's
   * fees; the key is 32 bytes as 0x and 64 hexadecimal digits. `confirmations`: the blocks after which a transaction
   * counts where the chain is read, its own among them. Default 1. `maxFeePerGas`: the most that the wallet pays for a
   * unit of gas, in gwei. While the chain wants more, nothing is sent, and payments are pending. Default "1000".
   */
  facilitator:
    | { url: string; headers?: Readonly<Record<string, string>>; rpcUrl?: string; confirmations?: number }
    | { key: string; rpcUrl: string; confirmations?: number; maxFeePerGas?: string }
  /** Takes Sixerr's form of metered payments too. `address`: the contract that settles them. Needs a key. */
  terminal?: { address: string; feeBps?: number }
  /** Whether holders of a key pay too. Default false: they have an account. */
  keysPay?: boolean
  /** How long a payer's signature is valid. It must cover the answer. Default 600. */
  validSeconds?: number
  /** How long a settlement is waited for before it counts as pending. Default 60,000. */
  settleMs?: number
  /** How often pending settlements are looked at. Default 15,000. */
  reconcileMs?: number
}
