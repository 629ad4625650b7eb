// Proof that a caller owns a wallet: the server gives a message with a nonce, the wallet signs it, and the signature is
// good once. A nonce carries its own time and signature, so nothing is kept for those who never come back, and any node
// of an installation can check it.
import { randomBytes } from 'node:crypto'
import { type Hex, recoverSigner } from '../../callers/wallet.ts'
import { isSameText } from '../../lib/signing/same-text.ts'

export type Challenge = { nonce: string; message: string }

const goodForMs = 5 * 60_000
/** Nonces that were used and have not expired yet. More at a time are refused. */
const mostUsed = 100_000

export class Challenges {
  readonly #sign: (text: string) => string
  readonly #name: () => string
  readonly #now: () => number
  /** By nonce, when it expires. Oldest first. */
  readonly #used = new Map<string, number>()

  /** `sign`: the same text always gets the same signature. `name`: of this server, for the wallet's owner to read. */
  constructor(sign: (text: string) => string, name: () => string, now: () => number) {
    this.#sign = sign
    this.#name = name
    this.#now = now
  }

  make(wallet: Hex): Challenge {
    const expiresAt = this.#now() + goodForMs
    const free = `${expiresAt.toString(36)}.${randomBytes(16).toString('base64url')}`
    const nonce = `${free}.${this.#seal(wallet, free)}`
    return { nonce, message: this.#messageFor(wallet, nonce) }
  }

  /** Says why not, if the wallet did not sign this challenge just now. */
  async check(
    wallet: Hex,
    nonce: string,
    signature: string,
  ): Promise<'ok' | 'unknown' | 'used' | 'signature'> {
    const [time = '', chance = '', seal = '', ...more] = nonce.split('.')
    const expiresAt = Number.parseInt(time, 36)
    const isOurs = more.length === 0 && isSameText(seal, this.#seal(wallet, `${time}.${chance}`))
    if (!isOurs || !(expiresAt > this.#now())) return 'unknown'
    this.#forget()
    if (this.#used.has(nonce) || this.#used.size >= mostUsed) return 'used'
    if ((await recoverSigner(this.#messageFor(wallet, nonce), signature)) !== wallet) return 'signature'
    // Another request may have used it while this one waited.
    if (this.#used.has(nonce)) return 'used'
    this.#used.set(nonce, expiresAt)
    return 'ok'
  }

  #messageFor(wallet: Hex, nonce: string): string {
    return `Sign in to the agent relay ${this.#name()}\n\nWallet: ${wallet}\nNonce: ${nonce}\n\nThis proves that you own the wallet. It allows no payment.`
  }

  #seal(wallet: Hex, free: string): string {
    return this.#sign(`relay challenge ${wallet} ${free}`)
  }

  #forget(): void {
    for (const [nonce, expiresAt] of this.#used) {
      if (expiresAt > this.#now()) return
      this.#used.delete(nonce)
    }
  }
}
