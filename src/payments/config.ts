// An operator's settings for payments and prices: their types, and the tables that check the values. An amount that the
// asset cannot express is a mistake, never rounded.
import { readWalletAddress } from '../callers/wallet.ts'
import {
  anything,
  type Check,
  count,
  group,
  isRecord,
  matches,
  must,
  onOff,
  type SettingChecks,
  type Wrong,
} from '../lib/checks/fields.ts'
import { perToken, toSmallest } from './amounts.ts'

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

type RemoteFacilitatorConfig = {
  url: string
  headers?: Readonly<Record<string, string>>
  rpcUrl?: string
  confirmations?: number
}
type OwnFacilitatorConfig = { key: string; rpcUrl: string; confirmations?: number; maxFeePerGas?: string }
type TerminalConfig = { address: string; feeBps?: number }

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
  facilitator: RemoteFacilitatorConfig | OwnFacilitatorConfig
  /** Takes Sixerr's form of metered payments too. `address`: the contract that settles them. Needs a key. */
  terminal?: TerminalConfig
  /** Whether holders of a key pay too. Default false: they have an account. */
  keysPay?: boolean
  /** How long a payer's signature is valid. It must cover the answer. Default 600. */
  validSeconds?: number
  /** How long a settlement is waited for before it counts as pending. Default 60,000. */
  settleMs?: number
  /** How often pending settlements are looked at. Default 15,000. */
  reconcileMs?: number
}

// ---- the tables ------------------------------------------------------------------------------------------------

const usualDecimals = 6

const address = must(
  value => readWalletAddress(value) !== undefined,
  'must be an address: 0x and 40 hexadecimal digits.',
)
const url = must(
  value => typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value),
  'must be an address such as "https://…".',
)
const domain = (name: string): Check =>
  matches(/./s, `must be the ${name} of the token's EIP-712 domain, which payers sign.`)

function between(least: number, most: number): (value: unknown) => boolean {
  return value => Number.isInteger(value) && Number(value) >= least && Number(value) <= most
}

const isDecimals = between(0, 18)
const transfers: readonly unknown[] = ['eip3009', 'permit2']

const asset: SettingChecks<AssetConfig> = {
  address: { needed: address },
  name: { needed: domain('name') },
  version: { needed: domain('version') },
  decimals: must(isDecimals, 'must be a whole number from 0 to 18.'),
  transfer: must(
    ways => Array.isArray(ways) && ways.length > 0 && ways.every(way => transfers.includes(way)),
    'must list "eip3009", "permit2" or both.',
  ),
}

const remoteFacilitator: SettingChecks<RemoteFacilitatorConfig> = {
  url: { needed: url },
  headers: anything,
  rpcUrl: url,
  confirmations: count,
}

const ownFacilitator: SettingChecks<OwnFacilitatorConfig> = {
  maxFeePerGas: must(
    fee => typeof fee === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(fee) && Number(fee) > 0,
    'must be a number above 0 as text, in gwei: "2.5".',
  ),
  key: {
    // The value itself is not shown.
    needed: matches(
      /^0x[0-9a-fA-F]{64}$/,
      'must be 0x and 64 hexadecimal digits. Keep it outside of the file: process.env.WALLET_KEY.',
    ),
  },
  rpcUrl: { needed: url },
  confirmations: count,
}

const checkFacilitator: Check = (facilitator, key, wrong) => {
  const words = 'must be { url } of a facilitator, or { key, rpcUrl } of a wallet of your own.'
  if (!isRecord(facilitator) || 'url' in facilitator === 'key' in facilitator) {
    wrong(key, words)
    return
  }
  if ('key' in facilitator) {
    group(ownFacilitator, words)(facilitator, key, wrong)
    return
  }
  group(remoteFacilitator, words)(facilitator, key, wrong)
  if (facilitator['confirmations'] !== undefined && facilitator['rpcUrl'] === undefined)
    wrong(`${key}.confirmations`, 'needs rpcUrl: without a chain to look at nothing can be counted.')
}

const terminal: SettingChecks<TerminalConfig> = {
  address: { needed: address },
  feeBps: must(between(0, 10_000), 'must be a whole number from 0 to 10,000: ten-thousandths of a payment.'),
}

const settings: SettingChecks<PaymentsConfig> = {
  asset: { needed: group(asset, 'must be { address, name, version } of the token that is paid with.') },
  network: {
    needed: matches(
      /^eip155:[1-9]\d{0,15}$/,
      'must be an EVM chain as CAIP-2 writes it, such as "eip155:8453" for Base.',
    ),
  },
  payTo: { needed: address },
  keysPay: onOff,
  validSeconds: count,
  settleMs: count,
  reconcileMs: count,
  facilitator: { needed: checkFacilitator },
  terminal: group(terminal, 'must be { address } of the contract that settles.'),
}

/** `agents`: whose prices are checked with it. */
export function checkPayments(payments: unknown, agents: unknown, wrong: Wrong): void {
  if (payments !== undefined)
    group(settings, 'must be an object: docs/guide/payments.md shows one.')(payments, 'payments', wrong)
  const { asset: given, terminal: through, facilitator } = isRecord(payments) ? payments : {}
  if (through !== undefined && isRecord(facilitator) && 'url' in facilitator)
    wrong(
      'payments.terminal',
      'needs payments.facilitator with a key: a facilitator elsewhere does not settle through it.',
    )
  const decimals =
    isRecord(given) && isDecimals(given['decimals']) ? Number(given['decimals']) : usualDecimals
  if (!Array.isArray(agents)) return
  agents.forEach((agent: unknown, index) => {
    const price = isRecord(agent) ? agent['price'] : undefined
    const key = `agents[${index}].price`
    if (price === undefined) return
    if (payments === undefined)
      wrong(key, 'needs payments: say who is paid, and how, in `payments`. docs/guide/payments.md shows it.')
    checkPrice(price, key, decimals, wrong)
  })
}

const noMoney = /^0*(?:\.0*)?$/

function checkPrice(price: unknown, key: string, decimals: number, wrong: Wrong): void {
  const amount = (read: (text: string, decimals: number) => string | undefined): Check =>
    must(
      value => typeof value === 'string' && read(value, decimals) !== undefined,
      `must be a decimal text such as "0.01", which ${decimals} decimals can express.`,
    )
  const prices: SettingChecks<PriceConfig> = {
    request: amount(toSmallest),
    cap: amount(toSmallest),
    input: amount(perToken),
    output: amount(perToken),
    payTo: address,
  }
  group(prices, 'must be { request } for a fixed price, or { input, output, cap } by tokens.')(
    price,
    key,
    wrong,
  )
  if (!isRecord(price)) return
  const { request, input, output, cap } = price
  const isMetered = input !== undefined || output !== undefined
  if (!isMetered && request === undefined) wrong(key, 'must have `request`, or `input` and `output`.')
  if (!isMetered && typeof request === 'string' && noMoney.test(request))
    wrong(`${key}.request`, 'must be above 0. Leave the price out for an agent that costs nothing.')
  if (isMetered && (typeof cap !== 'string' || noMoney.test(cap)))
    wrong(
      `${key}.cap`,
      'must be above 0: it is the most that one request may cost, and what a payer signs for.',
    )
  if (!isMetered && cap !== undefined) wrong(`${key}.cap`, 'has no meaning with a fixed price.')
}
