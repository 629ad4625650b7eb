// The packages that payments need, loaded only when payments are configured. They are optional peer dependencies: a
// server without payments does not install them.
import type { AbiFunction } from 'viem'
import { TurnwireError } from '../language/errors.ts'

const wanted = 'npm install @x402/core@2.27 @x402/evm@2.27 viem@2'

async function orExplain<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    throw new TurnwireError(
      'config_invalid',
      `Payments are configured, and need packages that are not installed: ${wanted}`,
      { cause },
    )
  }
}

/** The EVM schemes of x402's own packages. */
export function loadX402() {
  return orExplain(async () => {
    const [{ ExactEvmScheme }, { UptoEvmScheme }, { ExactEvmSchemeV1 }, v1] = await Promise.all([
      import('@x402/evm/exact/facilitator'),
      import('@x402/evm/upto/facilitator'),
      import('@x402/evm/exact/v1/facilitator'),
      import('@x402/evm/v1'),
    ])
    return {
      ExactEvmScheme,
      UptoEvmScheme,
      ExactEvmSchemeV1,
      names: v1.EVM_NETWORK_CHAIN_ID_MAP,
    }
  })
}

/** The contracts through which payments over Permit2 are settled. */
export function loadProxies() {
  return orExplain(async () => {
    const x402 = await import('@x402/evm')
    const settling = (abi: readonly unknown[]): AbiFunction[] =>
      (abi as readonly AbiFunction[]).filter(({ type }) => type === 'function') // x402 types them one by one.
    return {
      exact: { address: x402.x402ExactPermit2ProxyAddress, abi: settling(x402.x402ExactPermit2ProxyABI) },
      upto: { address: x402.x402UptoPermit2ProxyAddress, abi: settling(x402.x402UptoPermit2ProxyABI) },
    }
  })
}

export function loadViem() {
  return orExplain(async () => {
    const [viem, accounts] = await Promise.all([import('viem'), import('viem/accounts')])
    return { ...viem, privateKeyToAccount: accounts.privateKeyToAccount }
  })
}
