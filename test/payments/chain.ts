// A real chain for the payment tests: anvil, with a token that has ERC-3009, Uniswap's Permit2 and x402's proxies at their
// own addresses, and a terminal as Sixerr has one. The chain has the id of Base Sepolia, because version 1 of x402 knows
// networks by name. A chain is started once for each test file.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { x402ExactPermit2ProxyAddress, x402UptoPermit2ProxyAddress } from '@x402/evm'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  http,
  parseAbi,
  parseSignature,
} from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

const binary = fileURLToPath(
  new URL('../../node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url),
)
const compiled = JSON.parse(
  readFileSync(new URL('./contracts/compiled.json', import.meta.url), 'utf8'),
) as Record<'token' | 'terminal' | 'exactProxy' | 'uptoProxy' | 'permit2' | 'reads', Hex>

export type Hex = `0x${string}`
export const network = 'eip155:84532'
/** Where every chain has Multicall3. */
const multicallAddress: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'
export const permit2Address: Hex = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

/** Anvil's own first account, which has the native coin. */
const fundedKey: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'

export const hasAnvil = existsSync(binary)
export const skipped = hasAnvil ? false : 'anvil is not installed on this platform'

const tokenAbi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function approve(address spender, uint256 amount) returns (bool)',
])

export type Chain = Awaited<ReturnType<typeof startChain>>

/** Ends with the test file. */
export async function startChain() {
  const anvil = spawn(binary, ['--port', '0', '--chain-id', '84532'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => void anvil.kill('SIGKILL'))
  const rpcUrl = await addressOf(anvil)
  const transport = http(rpcUrl)
  const reader = createPublicClient({ chain: baseSepolia, transport, pollingInterval: 50 })
  const tester = createTestClient({ mode: 'anvil', chain: baseSepolia, transport })
  const funded = privateKeyToAccount(fundedKey)
  const wallet = createWalletClient({ account: funded, chain: baseSepolia, transport })
  const deploy = async (data: Hex): Promise<Hex> => {
    const hash = await wallet.sendTransaction({ data })
    const { contractAddress } = await reader.waitForTransactionReceipt({ hash })
    assert.ok(contractAddress)
    return contractAddress
  }
  const token = await deploy(compiled.token)
  await tester.setCode({ address: multicallAddress, bytecode: compiled.reads })
  await tester.setCode({ address: permit2Address, bytecode: compiled.permit2 })
  await tester.setCode({ address: x402ExactPermit2ProxyAddress, bytecode: compiled.exactProxy })
  await tester.setCode({ address: x402UptoPermit2ProxyAddress, bytecode: compiled.uptoProxy })
  const call = async (
    args: { functionName: 'mint' | 'approve' | 'transfer'; args: [Hex, bigint] },
    from = funded,
  ) => {
    const client = createWalletClient({ account: from, chain: baseSepolia, transport })
    const hash = await client.writeContract({ address: token, abi: tokenAbi, ...args })
    await reader.waitForTransactionReceipt({ hash })
  }
  return {
    rpcUrl,
    reader,
    tester,
    token,
    /** Of x402's kind of asset in the configuration. */
    asset: { address: token, name: 'Test Dollar', version: '2' },
    /** A wallet that can pay fees. */
    async facilitator(): Promise<{ key: Hex; account: PrivateKeyAccount }> {
      const key = generatePrivateKey()
      const account = privateKeyToAccount(key)
      await tester.setBalance({ address: account.address, value: 10n ** 19n })
      return { key, account }
    },
    /** Gives an address money. */
    fund: (address: Hex, amount = 1_000_000_000n) => call({ functionName: 'mint', args: [address, amount] }),
    /** A wallet with money; `approved`: it has let Permit2 take it. */
    async payer(amount = 1_000_000_000n, approved = true): Promise<PrivateKeyAccount> {
      const account = privateKeyToAccount(generatePrivateKey())
      await call({ functionName: 'mint', args: [account.address, amount] })
      if (approved) {
        await tester.setBalance({ address: account.address, value: 10n ** 18n })
        await call({ functionName: 'approve', args: [permit2Address, 2n ** 256n - 1n] }, account)
      }
      return account
    },
    /** The terminal of an operator. */
    async terminal(operator: Hex, platform: Hex): Promise<Hex> {
      const word = (address: Hex): string => address.slice(2).toLowerCase().padStart(64, '0')
      return deploy(`${compiled.terminal}${word(operator)}${word(platform)}`)
    },
    /** An ordinary transfer. */
    send: (from: PrivateKeyAccount, to: Hex, amount: bigint) =>
      call({ functionName: 'transfer', args: [to, amount] }, from),
    /** What a payer does who takes an authorization of ERC-3009 back. */
    async cancel(account: PrivateKeyAccount, nonce: Hex): Promise<void> {
      const client = createWalletClient({ account, chain: baseSepolia, transport })
      const abi = parseAbi([
        'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
      ])
      const signature = await account.signTypedData({
        domain: { name: 'Test Dollar', version: '2', chainId: baseSepolia.id, verifyingContract: token },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: account.address, nonce },
      })
      const { r, s, yParity } = parseSignature(signature)
      const args = [account.address, nonce, 27 + yParity, r, s] as const
      const hash = await client.writeContract({
        address: token,
        abi,
        functionName: 'cancelAuthorization',
        args,
      })
      await reader.waitForTransactionReceipt({ hash })
    },
    /** One transaction with all of these calls. */
    async together(calls: readonly { target: Hex; callData: Hex }[]): Promise<Hex> {
      const abi = parseAbi([
        'function tryAggregate(bool, (address target, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
      ])
      const call = { address: multicallAddress, abi, functionName: 'tryAggregate' } as const
      const hash = await wallet.writeContract({ ...call, args: [true, calls] })
      await reader.waitForTransactionReceipt({ hash })
      return hash
    },
    /** A transaction of one's own making. */
    async sendRaw(account: PrivateKeyAccount, to: Hex, data: Hex): Promise<Hex> {
      const client = createWalletClient({ account, chain: baseSepolia, transport })
      const hash = await client.sendTransaction({ to, data })
      const { status } = await reader.waitForTransactionReceipt({ hash })
      assert.equal(status, 'success')
      return hash
    },
    /** What a payer does who takes a Permit2 authorization back. */
    async invalidate(account: PrivateKeyAccount, nonce: bigint): Promise<void> {
      const client = createWalletClient({ account, chain: baseSepolia, transport })
      const abi = parseAbi(['function invalidateUnorderedNonces(uint256 word, uint256 mask)'])
      const args = [nonce >> 8n, 1n << (nonce & 255n)] as const
      const functionName = 'invalidateUnorderedNonces'
      const hash = await client.writeContract({ address: permit2Address, abi, functionName, args })
      await reader.waitForTransactionReceipt({ hash })
    },
    balance: (address: Hex): Promise<bigint> =>
      reader.readContract({ address: token, abi: tokenAbi, functionName: 'balanceOf', args: [address] }),
  }
}

async function addressOf(anvil: ReturnType<typeof spawn>): Promise<string> {
  if (!anvil.stdout) throw new Error('anvil has no output.')
  for await (const line of createInterface({ input: anvil.stdout })) {
    const [, address] = /Listening on (\S+)/.exec(line) ?? []
    if (address !== undefined) {
      anvil.stdout.resume()
      return `http://${address}`
    }
  }
  throw new Error('anvil ended before it listened.')
}
