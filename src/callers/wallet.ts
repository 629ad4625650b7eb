// Wallets that sign in: their addresses and signatures. The package that knows these is an optional peer, loaded when the first
// wallet signs in or signs.
import { TurnwireError } from '../language/errors.ts'

export type Hex = `0x${string}`

/** An address as it is compared and shown: lower case. Undefined: it is none. */
export function readWalletAddress(value: unknown): Hex | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)
    ? (value.toLowerCase() as Hex)
    : undefined
}

/** The wallet that signed the message (EIP-191, personal_sign). Undefined: it is no signature. */
export async function recoverSigner(message: string, signature: string): Promise<Hex | undefined> {
  if (!/^0x[0-9a-f]{130}$/i.test(signature)) return undefined
  const { recoverMessageAddress } = await loadModule(() => import('viem'))
  try {
    return readWalletAddress(await recoverMessageAddress({ message, signature: signature as Hex }))
  } catch {
    return undefined
  }
}

export type Wallet = { address: Hex; sign: (message: string) => Promise<Hex> }

/** `key`: 32 bytes in hexadecimal, after 0x. */
export async function walletFromKey(key: string): Promise<Wallet> {
  const { privateKeyToAccount } = await loadModule(() => import('viem/accounts'))
  const account = privateKeyToAccount(key as Hex)
  return {
    address: readWalletAddress(account.address) ?? '0x',
    sign: message => account.signMessage({ message }),
  }
}

async function loadModule<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    throw new TurnwireError(
      'config_invalid',
      'Wallets that sign in need the package viem, which is not installed here. Install it: npm install viem',
      { cause },
    )
  }
}
