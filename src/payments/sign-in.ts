// Signing in with a wallet: the server gives a text, the wallet signs it, and gets a token with which it reads what it paid
// for, and continues it. Nothing is kept of it: the text holds its own proof, and so does the token.
import { readWalletAddress, recoverSigner } from '../callers/wallet.ts'
import { TurnwireError } from '../language/errors.ts'
import { isWallet, walletOwner } from '../language/payments.ts'
import type { SealUse } from '../language/seals.ts'
import { isJsonObject, parseJson } from '../lib/json/index.ts'

/** `sign`, `seal` and `unseal` as a vault has them. */
export type SignInPorts = {
  sign: (text: string) => string
  seal: (text: string, use: SealUse) => string
  unseal: (sealed: string, use: SealUse) => string
  now: () => number
}

export type WalletToken = { token: string; address: string; expiresAt: number }

const challengeMs = 5 * 60_000
const tokenMs = 24 * 60 * 60_000
const prefix = 'twp_'
const form =
  /^Sign in at (\S+) with your wallet\. This pays nothing\.\n\nAddress: (0x[0-9a-f]{40})\nExpires: (\d{1,16})\nProof: ([\w-]+)$/

/** The text for a wallet to sign. */
export function challengeFor({ sign, now }: SignInPorts, host: string, given: string): string {
  const address = readWalletAddress(given)
  if (address === undefined)
    throw new TurnwireError('bad_request', 'Give the address of your wallet: ?address=0x….')
  const expires = now() + challengeMs
  const proof = sign(proofText(host, address, String(expires)))
  return `Sign in at ${host} with your wallet. This pays nothing.\n\nAddress: ${address}\nExpires: ${expires}\nProof: ${proof}`
}

function proofText(host: string, address: string, expires: string): string {
  return JSON.stringify(['wallet-sign-in', host, address, expires])
}

export class SignIn {
  readonly #ports: SignInPorts

  constructor(ports: SignInPorts) {
    this.#ports = ports
  }

  /** Throws `unauthorized`. */
  async token(message: string, signature: string): Promise<WalletToken> {
    const [, host = '', address = '', expires = '', proof] = form.exec(message) ?? []
    const { sign, seal, now } = this.#ports
    if (proof === undefined || sign(proofText(host, address, expires)) !== proof)
      throw refuseSignIn('This text was not given out by this server. Ask for one first.')
    if (Number(expires) < now()) throw refuseSignIn('This text has expired. Ask for another one.')
    if ((await recoverSigner(message, signature)) !== address)
      throw refuseSignIn('The text was not signed by this wallet.')
    const expiresAt = now() + tokenMs
    const sealed = seal(JSON.stringify({ owner: walletOwner(address), expiresAt }), 'wallet token')
    return { token: `${prefix}${sealed}`, address, expiresAt }
  }

  /** The owner of a token. Undefined: it is no token of ours, or has expired. */
  owner(token: string): string | undefined {
    if (!token.startsWith(prefix)) return undefined
    try {
      const opened = parseJson(this.#ports.unseal(token.slice(prefix.length), 'wallet token'))
      if (!isJsonObject(opened)) return undefined
      const { owner, expiresAt } = opened
      const isGood = typeof owner === 'string' && isWallet(owner) && Number(expiresAt) > this.#ports.now()
      return isGood ? owner : undefined
    } catch {
      return undefined
    }
  }
}

function refuseSignIn(message: string): TurnwireError {
  return new TurnwireError('unauthorized', message)
}
