// An agent that answers whoever pays. The variables have the values of Base's test network, where coins cost nothing.
import { defineConfig, rehearsal, tool } from 'turnwire'
import * as z from 'zod'

const {
  WALLET_KEY = '',
  PAY_TO = '',
  RPC_URL = 'https://sepolia.base.org',
  ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  ASSET_NAME = 'USDC',
} = process.env

const quote = tool({
  name: 'stock_quote',
  description: 'The price of a share.',
  input: z.object({ symbol: z.string() }),
  trust: 'trusted',
  run: ({ symbol }) => `${symbol}: 42.10`,
})

export default defineConfig({
  agents: [
    {
      name: 'analyst',
      model: rehearsal(),
      tools: [quote],
      price: { request: '0.01' },
      // A client of the Responses API gets the answer, not the calls.
      responses: { serverTools: true },
    },
  ],
  payments: {
    network: 'eip155:84532',
    asset: { address: ASSET, name: ASSET_NAME, version: '2' },
    payTo: PAY_TO,
    // This server checks the payments itself, and its wallet pays the chain's fees.
    facilitator: { key: WALLET_KEY, rpcUrl: RPC_URL },
  },
})
