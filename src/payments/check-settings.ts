// Checks what an operator wrote about payments and prices: every mistake with its key and what to do. An amount that the
// asset cannot express is a mistake, never rounded.

import { checkKinds, checkKnown, type Fields, isRecord, type Wrong } from '../lib/checks/fields.ts'
import { perToken, toSmallest } from './amounts.ts'

const address = /^0x[0-9a-fA-F]{40}$/
const noMoney = /^0*(?:\.0*)?$/

/** `agents`: whose prices are checked with it. */
export function checkPayments(payments: unknown, agents: unknown, wrong: Wrong): void {
  const decimals = checkAsset(payments, wrong)
  if (payments !== undefined) checkSettings(payments, wrong)
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

function checkAsset(payments: unknown, wrong: Wrong): number {
  const asset = isRecord(payments) ? payments['asset'] : undefined
  if (payments === undefined) return 6
  if (!isRecord(asset)) {
    wrong('payments.asset', 'must be { address, name, version } of the token that is paid with.')
    return 6
  }
  checkKnown(asset, ['address', 'name', 'version', 'decimals', 'transfer'], 'payments.asset.', wrong)
  checkAddress(asset['address'], 'payments.asset.address', wrong)
  for (const name of ['name', 'version'])
    if (typeof asset[name] !== 'string' || asset[name] === '')
      wrong(`payments.asset.${name}`, `must be the ${name} of the token's EIP-712 domain, which payers sign.`)
  const { decimals = 6, transfer } = asset
  const isCount = Number.isInteger(decimals) && Number(decimals) >= 0 && Number(decimals) <= 18
  if (!isCount) wrong('payments.asset.decimals', 'must be a whole number from 0 to 18.')
  const ways = ['eip3009', 'permit2']
  const isWays = Array.isArray(transfer) && transfer.length > 0 && transfer.every(way => ways.includes(way))
  if (transfer !== undefined && !isWays)
    wrong('payments.asset.transfer', 'must list "eip3009", "permit2" or both.')
  return isCount ? Number(decimals) : 6
}

const settings = [
  'network',
  'asset',
  'payTo',
  'facilitator',
  'terminal',
  'keysPay',
  'validSeconds',
  'settleMs',
  'reconcileMs',
]

function checkSettings(payments: unknown, wrong: Wrong): void {
  if (!isRecord(payments)) {
    wrong('payments', 'must be an object: docs/guide/payments.md shows one.')
    return
  }
  checkKnown(payments, settings, 'payments.', wrong)
  const { network } = payments
  if (typeof network !== 'string' || !/^eip155:[1-9]\d{0,15}$/.test(network))
    wrong('payments.network', 'must be an EVM chain as CAIP-2 writes it, such as "eip155:8453" for Base.')
  checkAddress(payments['payTo'], 'payments.payTo', wrong)
  checkKinds(payments, { keysPay: 'boolean' }, 'payments.', wrong)
  for (const name of ['validSeconds', 'settleMs', 'reconcileMs']) {
    const value = payments[name]
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) > 0))
      wrong(`payments.${name}`, 'must be a whole number above 0.')
  }
  checkFacilitator(payments['facilitator'], wrong)
  checkTerminal(payments, wrong)
}

function checkFacilitator(facilitator: unknown, wrong: Wrong): void {
  const key = 'payments.facilitator'
  if (!isRecord(facilitator) || 'url' in facilitator === 'key' in facilitator) {
    wrong(key, 'must be { url } of a facilitator, or { key, rpcUrl } of a wallet of your own.')
    return
  }
  if ('url' in facilitator) {
    checkKnown(facilitator, ['url', 'headers', 'rpcUrl', 'confirmations'], `${key}.`, wrong)
    checkUrl(facilitator['url'], `${key}.url`, wrong)
    if (facilitator['rpcUrl'] !== undefined) checkUrl(facilitator['rpcUrl'], `${key}.rpcUrl`, wrong)
    checkConfirmations(facilitator, key, wrong)
    if (facilitator['confirmations'] !== undefined && facilitator['rpcUrl'] === undefined)
      wrong(`${key}.confirmations`, 'needs rpcUrl: without a chain to look at nothing can be counted.')
    return
  }
  checkKnown(facilitator, ['key', 'rpcUrl', 'confirmations', 'maxFeePerGas'], `${key}.`, wrong)
  const { key: secret, maxFeePerGas } = facilitator
  const isFee = typeof maxFeePerGas === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(maxFeePerGas)
  if (maxFeePerGas !== undefined && !(isFee && Number(maxFeePerGas) > 0))
    wrong(`${key}.maxFeePerGas`, 'must be a number above 0 as text, in gwei: "2.5".')
  if (typeof secret !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(secret))
    // The value itself is not shown.
    wrong(
      `${key}.key`,
      'must be 0x and 64 hexadecimal digits. Keep it outside of the file: process.env.WALLET_KEY.',
    )
  checkUrl(facilitator['rpcUrl'], `${key}.rpcUrl`, wrong)
  checkConfirmations(facilitator, key, wrong)
}

function checkConfirmations({ confirmations }: Fields, key: string, wrong: Wrong): void {
  if (confirmations !== undefined && !(Number.isSafeInteger(confirmations) && Number(confirmations) > 0))
    wrong(`${key}.confirmations`, 'must be a whole number above 0.')
}

function checkTerminal({ terminal, facilitator }: Fields, wrong: Wrong): void {
  if (terminal === undefined) return
  const key = 'payments.terminal'
  if (!isRecord(terminal)) {
    wrong(key, 'must be { address } of the contract that settles.')
    return
  }
  checkKnown(terminal, ['address', 'feeBps'], `${key}.`, wrong)
  checkAddress(terminal['address'], `${key}.address`, wrong)
  const { feeBps = 0 } = terminal
  if (!(Number.isInteger(feeBps) && Number(feeBps) >= 0 && Number(feeBps) <= 10_000))
    wrong(`${key}.feeBps`, 'must be a whole number from 0 to 10,000: ten-thousandths of a payment.')
  if (isRecord(facilitator) && 'url' in facilitator)
    wrong(key, 'needs payments.facilitator with a key: a facilitator elsewhere does not settle through it.')
}

function checkPrice(price: unknown, key: string, decimals: number, wrong: Wrong): void {
  if (!isRecord(price)) {
    wrong(key, 'must be { request } for a fixed price, or { input, output, cap } by tokens.')
    return
  }
  checkKnown(price, ['request', 'input', 'output', 'cap', 'payTo'], `${key}.`, wrong)
  const smallest = (text: string): string | undefined => toSmallest(text, decimals)
  const token = (text: string): string | undefined => perToken(text, decimals)
  for (const [name, read] of [
    ['request', smallest],
    ['cap', smallest],
    ['input', token],
    ['output', token],
  ] as const) {
    const value = price[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || read(value) === undefined)
      wrong(
        `${key}.${name}`,
        `must be a decimal text such as "0.01", which ${decimals} decimals can express.`,
      )
  }
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
  if (price['payTo'] !== undefined) checkAddress(price['payTo'], `${key}.payTo`, wrong)
}

function checkAddress(value: unknown, key: string, wrong: Wrong): void {
  if (typeof value !== 'string' || !address.test(value))
    wrong(key, 'must be an address: 0x and 40 hexadecimal digits.')
}

function checkUrl(value: unknown, key: string, wrong: Wrong): void {
  if (typeof value !== 'string' || !/^https?:\/\//.test(value) || !URL.canParse(value))
    wrong(key, 'must be an address such as "https://…".')
}
