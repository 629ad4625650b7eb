// A page with a wallet in it, as an extension of a browser puts one there: the key is elsewhere, and the page can only ask it
// to sign. `window.buy` pays for one answer.
import OpenAI from 'openai'
import { type PayingWallet, type PaymentDone, payingFetch } from '../../../src/client/payments.ts'

type Settings = { url: string; address: `0x${string}`; network: string; asset: string; most: string }

declare global {
  interface Window {
    /** The wallet: it is given typed data as JSON, and signs it. */
    signWithWallet(json: string): Promise<`0x${string}`>
    buy(
      settings: Settings,
    ): Promise<{ text: string; streamed: string; spent: string; payments: PaymentDone[] }>
  }
}

window.buy = async ({ url, address, network, asset, most }) => {
  const wallet: PayingWallet = {
    address,
    // Numbers of this size are texts in JSON, as wallets take them.
    signTypedData: data =>
      window.signWithWallet(
        JSON.stringify(data, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
      ),
  }
  const payments: PaymentDone[] = []
  const fetch = payingFetch({
    wallet,
    networks: [network],
    assets: [asset],
    maxPerRequest: most,
    maxTotal: '1000000',
    onPayment: payment => void payments.push(payment),
  })
  const openai = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: 'none',
    fetch,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
  })
  // The SDK says only that the connection failed; why is its cause.
  const whole = await openai.responses
    .create({ model: 'helper', input: 'Hi', store: false })
    .catch((error: Error) => Promise.reject(error.cause ?? error))
  let streamed = ''
  const stream = await openai.responses.create({
    model: 'helper',
    input: 'Again',
    store: false,
    stream: true,
  })
  for await (const event of stream) if (event.type === 'response.output_text.delta') streamed += event.delta
  return { text: whole.output_text, streamed, spent: fetch.spent, payments }
}
