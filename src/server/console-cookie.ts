// The cookie of the web console: it names a key by its hash and says until when. It is sealed, so it can be neither
// made up nor read, and the key behind it is looked up for each request: a key that is revoked ends its cookies. A
// browser sends a cookie to every port of a host, so a program on another port can read it: it counts only together
// with the secret that was given at the same sign-in, which the page keeps and sends in a header.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AdmittedKey, Keys } from '../callers/keys.ts'
import type { SigningVault } from '../data/vault.ts'
import { sha256 } from '../lib/json/hash.ts'
import { isJsonObject } from '../lib/json/index.ts'
import { consoleHeader, cookieName } from '../wires/operator/index.ts'

const maxAgeS = 12 * 60 * 60

export class ConsoleCookies {
  readonly #keys: Keys
  readonly #vault: Pick<SigningVault, 'seal' | 'open'>
  readonly #now: () => number

  constructor(keys: Keys, vault: Pick<SigningVault, 'seal' | 'open'>, now = Date.now) {
    this.#keys = keys
    this.#vault = vault
    this.#now = now
  }

  /** Undefined: the key is not known. */
  signIn(key: string): { cookie: string; secret: string; maxAgeS: number } | undefined {
    const hash = sha256(key)
    if (!this.#keys.findHash(hash)) return undefined
    const until = this.#now() + maxAgeS * 1000
    const secret = randomBytes(24).toString('base64url')
    const kept = { key: hash, until, secret: sha256(secret) }
    return { cookie: this.#vault.seal(JSON.stringify(kept), 'console cookie'), secret, maxAgeS }
  }

  /** Undefined: the request has no cookie that counts, or not the secret of its sign-in. */
  admit({ headers }: Pick<IncomingMessage, 'headers'>): AdmittedKey | undefined {
    const value = readCookie(headers.cookie)
    const secret = headers[consoleHeader]
    return value === undefined || typeof secret !== 'string' ? undefined : this.#read(value, sha256(secret))
  }

  #read(value: string, secretHash: string): AdmittedKey | undefined {
    try {
      const opened: unknown = JSON.parse(this.#vault.open(value, 'console cookie'))
      if (!isJsonObject(opened)) return undefined
      const { key, until, secret } = opened
      if (secret !== secretHash || typeof key !== 'string') return undefined
      if (typeof until !== 'number' || until <= this.#now()) return undefined
      const admitted = this.#keys.admit(key)
      return admitted && { ...admitted, holds: () => until > this.#now() && admitted.holds() }
    } catch {
      return undefined
    }
  }
}

function readCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === cookieName && value) return value.trim()
  }
  return undefined
}
