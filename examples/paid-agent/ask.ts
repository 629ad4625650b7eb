// A program with a wallet, and no key: OpenAI's own SDK with a `fetch` that pays, at most five cents for a request.
import OpenAI from 'openai'
import { payingFetch } from 'turnwire/payments'
import { privateKeyToAccount } from 'viem/accounts'

const { PAYER_KEY = '', ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e' } = process.env

const fetch = payingFetch({
  wallet: privateKeyToAccount(PAYER_KEY as `0x${string}`),
  networks: ['eip155:84532'],
  assets: [ASSET],
  maxPerRequest: '50000',
  maxTotal: '1000000',
})
const baseURL = `${process.env['TURNWIRE_URL'] ?? 'http://127.0.0.1:4117'}/v1`
const openai = new OpenAI({ baseURL, apiKey: 'none', fetch })
const answer = await openai.responses.create({
  model: 'analyst',
  input: 'What is the stock quote of "ACME"?',
})
console.log(answer.output_text)
console.log(`paid ${Number(fetch.spent) / 1e6} USDC`)
