// A `fetch` that pays: a request that is answered with 402 is sent again with a payment, if the payment is within the
// owner's limits. Pass it to any code that takes a `fetch`, such as `new OpenAI({ fetch })`. It runs in browsers and in
// Node. The packages that sign are loaded when the first payment is made.

/** The members that are used of a wallet. An account of viem has them. */
export type PayingWallet = {
  readonly address: `0x${string}`
  signTypedData(message: {
    domain: Record<string, unknown>
    types: Record<string, unknown>
    primaryType: string
    message: Record<string, unknown>
  }): Promise<`0x${string}`>
}

/** The payment terms that a server asks for. Amounts are in the smallest unit of the asset. */
export type PaymentTerms = {
  url: string
  scheme: string
  network: string
  asset: string
  payTo: string
  /** The most that can be taken. */
  amount: string
}

export type PaymentDone = PaymentTerms & {
  /** From the receipt, if there was one: metered streams are settled after their end. */
  transaction?: string
  charged?: string
}

export type PayingFetchOptions = {
  wallet: PayingWallet
  /** Networks as CAIP-2 writes them, such as "eip155:8453". Nothing is paid on others. */
  networks: readonly string[]
  /** Tokens by address. Nothing is paid in others. */
  assets: readonly string[]
  /** Recipients by address. Default: every recipient that a server names. */
  recipients?: readonly string[]
  /** Servers that may be paid, as origins. Default: every server that a request goes to. */
  origins?: readonly string[]
  /** The most for one request, in the smallest unit. */
  maxPerRequest: string
  /** The most for all requests of this function. A metered payment counts with its whole cap. */
  maxTotal: string
  /** Called before each payment. False: it is not made. */
  approve?: (terms: PaymentTerms) => boolean | Promise<boolean>
  onPayment?: (payment: PaymentDone) => void
  /** The function that sends the requests. Default: the global fetch. */
  fetch?: typeof fetch
  /** How often a request is sent again while its payment is pending. Default 10. */
  pendingTries?: number
}

export type PayingFetch = typeof fetch & {
  readonly spent: string
  /** Pays terms that did not come as an HTTP 402, such as for a tool over MCP. Throws PaymentRefused. */
  pay(
    required: Record<string, unknown>,
    url: string,
  ): Promise<{
    payment: Record<string, unknown>
    /** Called with the receipt when the answer has come. */
    settled: (receipt: unknown) => void
  }>
}

/** Nothing was signed: the terms go beyond what is allowed. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused'
}

type Required = { x402Version: number; resource?: { url?: string }; accepts: Record<string, unknown>[] }

export function payingFetch(options: PayingFetchOptions): PayingFetch {
  const payer = new Payer(options)
  const pay: typeof fetch = (input, init) => payer.fetch(new Request(input, init))
  return Object.defineProperties(pay, {
    spent: { get: () => payer.spent.toString() },
    pay: { value: payer.pay.bind(payer) satisfies PayingFetch['pay'] },
  }) as PayingFetch
}

/** JavaScript can pass anything, and limits of money must be what their writer meant. */
function checkLimits(options: PayingFetchOptions): void {
  for (const name of ['maxPerRequest', 'maxTotal'] as const)
    if (typeof options[name] !== 'string' || !/^\d+$/.test(options[name]))
      throw new TypeError(
        `payingFetch: ${name} must be a whole number as text, in the smallest unit of the asset. "500000" is half a dollar of USDC.`,
      )
  for (const name of ['networks', 'assets'] as const)
    if (!Array.isArray(options[name]))
      throw new TypeError(
        `payingFetch: ${name} must list what may be paid with. Nothing is paid with others.`,
      )
}

const defaultPendingTries = 10
const longestPauseMs = 10_000

class Payer {
  spent = 0n
  readonly #options: PayingFetchOptions

  constructor(options: PayingFetchOptions) {
    checkLimits(options)
    this.#options = options
  }

  async fetch(request: Request): Promise<Response> {
    const { fetch: ask = fetch } = this.#options
    const again = request.clone()
    const answer = await ask(request)
    if (answer.status !== 402) return answer
    const required = requiredIn(answer)
    // A server of another protocol, or one that takes older forms only.
    if (!required) return answer
    await answer.body?.cancel()
    const { payment, shown } = await this.#make(required, request.url)
    const { x402Client, x402HTTPClient } = await loadSigners()
    const headers = new x402HTTPClient(new x402Client()).encodePaymentSignatureHeader(payment)
    for (const [name, value] of Object.entries(headers)) again.headers.set(name, value)
    return this.#send(again, shown)
  }

  async pay(given: Record<string, unknown>, url: string): ReturnType<PayingFetch['pay']> {
    const required = given as Required // Checked by its readers.
    if (required.x402Version !== 2 || !Array.isArray(required.accepts))
      throw new PaymentRefused('Nothing was paid: what is asked for is not of x402 version 2.')
    const { payment, shown } = await this.#make(required, url)
    const settled = (receipt: unknown): void =>
      this.#options.onPayment?.({ ...shown, ...readReceipt(receipt) })
    return { payment: { ...payment }, settled }
  }

  /** Signs a payment within what is allowed. */
  async #make(required: Required, url: string) {
    const terms = this.#choose(required, url)
    const { approve } = this.#options
    if (approve && !(await approve(terms.shown))) throw new PaymentRefused('The payment was not approved.')
    this.#count(terms.shown)
    return { payment: await this.#sign(required, terms.accepted), shown: terms.shown }
  }

  /** A payment that is pending is good: the same one is sent again, and no other is made. */
  async #send(request: Request, terms: PaymentTerms): Promise<Response> {
    const { fetch: ask = fetch, pendingTries = defaultPendingTries, onPayment } = this.#options
    for (let tries = 0; ; tries += 1) {
      const answer = await ask(request.clone())
      if (tries < pendingTries && answer.headers.get('x-payment-state') === 'pending') {
        await answer.body?.cancel()
        await pause(Math.min(Number(answer.headers.get('retry-after') ?? 1) * 1000, longestPauseMs))
        continue
      }
      if (answer.ok) onPayment?.({ ...terms, ...receiptIn(answer) })
      return answer
    }
  }

  #choose(required: Required, url: string): { accepted: Record<string, unknown>; shown: PaymentTerms } {
    const reasons: string[] = []
    for (const accepted of required.accepts) {
      const shown = readTerms(accepted, url)
      const reason = shown ? this.#refusal(shown, required) : 'it cannot be read'
      if (shown && reason === undefined) return { accepted, shown }
      if (reason !== undefined) reasons.push(reason)
    }
    const why = reasons.length > 0 ? reasons.join('; ') : 'there are no terms'
    throw new PaymentRefused(`Nothing was paid: ${why}.`)
  }

  /** Why terms are not taken. Undefined: they are. */
  #refusal(terms: PaymentTerms, { resource }: Required): string | undefined {
    const { networks, assets, recipients, origins, maxPerRequest, maxTotal } = this.#options
    const has = (list: readonly string[], item: string): boolean =>
      list.some(each => each.toLowerCase() === item.toLowerCase())
    const amount = BigInt(terms.amount)
    if (terms.scheme !== 'exact' && terms.scheme !== 'upto')
      return `the scheme "${terms.scheme}" is not known`
    if (!has(networks, terms.network)) return `the network ${terms.network} is not allowed`
    if (!has(assets, terms.asset)) return `the asset ${terms.asset} is not allowed`
    if (recipients && !has(recipients, terms.payTo)) return `the recipient ${terms.payTo} is not allowed`
    if (origins && !has(origins, new URL(terms.url).origin)) return `the server ${terms.url} is not allowed`
    if (resource?.url !== undefined && !isSamePlace(resource.url, terms.url))
      return `it is for ${resource.url}, which was not asked for`
    if (amount > BigInt(maxPerRequest)) return `${amount} is more than the ${maxPerRequest} for one request`
    if (this.spent + amount > BigInt(maxTotal))
      return `${amount} is more than is left of ${maxTotal}: ${this.spent} is spent`
    return undefined
  }

  /** Before anything is signed, so that requests at the same time cannot spend more together. */
  #count({ amount }: PaymentTerms): void {
    this.spent += BigInt(amount)
  }

  async #sign(required: Required, accepted: Record<string, unknown>) {
    const { wallet, networks } = this.#options
    const { x402Client, ExactEvmScheme, UptoEvmScheme } = await loadSigners()
    const client = new x402Client().setSpendControls(false)
    for (const network of networks as readonly `${string}:${string}`[]) {
      client.register(network, new ExactEvmScheme(wallet))
      client.register(network, new UptoEvmScheme(wallet))
    }
    const only = { ...required, accepts: [accepted] } as unknown as Parameters<
      typeof client.createPaymentPayload
    >[0] // The package checks what it reads of it.
    return client.createPaymentPayload(only)
  }
}

async function loadSigners() {
  try {
    const [core, evm] = await Promise.all([import('@x402/core/client'), import('@x402/evm')])
    return { ...core, ExactEvmScheme: evm.ExactEvmScheme, UptoEvmScheme: evm.UptoEvmScheme }
  } catch (cause) {
    throw new Error('payingFetch needs two packages: npm install @x402/core @x402/evm viem', { cause })
  }
}

function requiredIn({ headers }: Response): Required | undefined {
  const header = headers.get('payment-required')
  if (header === null) return undefined
  try {
    const value = JSON.parse(new TextDecoder().decode(fromBase64(header))) as Required // Checked by its readers.
    return value.x402Version === 2 && Array.isArray(value.accepts) ? value : undefined
  } catch {
    return undefined
  }
}

function receiptIn({ headers }: Response): Pick<PaymentDone, 'transaction' | 'charged'> {
  const header = headers.get('payment-response')
  if (header === null) return {}
  try {
    return readReceipt(JSON.parse(new TextDecoder().decode(fromBase64(header))))
  } catch {
    return {}
  }
}

function readReceipt(receipt: unknown): Pick<PaymentDone, 'transaction' | 'charged'> {
  const { transaction, amount } = (receipt ?? {}) as Record<string, unknown>
  return {
    ...(typeof transaction === 'string' && { transaction }),
    ...(typeof amount === 'string' && { charged: amount }),
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), character => character.charCodeAt(0))
}

function readTerms(accepted: Record<string, unknown>, url: string): PaymentTerms | undefined {
  const { scheme, network, asset, payTo, amount } = accepted
  const texts = [scheme, network, asset, payTo, amount]
  if (!texts.every(text => typeof text === 'string') || !/^\d+$/.test(amount as string)) return undefined
  return { url, scheme, network, asset, payTo, amount } as PaymentTerms
}

/** The same path: a server behind a proxy may know itself by another name. */
function isSamePlace(given: string, asked: string): boolean {
  // By this x402 names a tool of the MCP server that was asked.
  if (given.startsWith('mcp://tool/')) return true
  return URL.canParse(given) && new URL(given).pathname === new URL(asked).pathname
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
