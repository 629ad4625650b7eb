// The cookie of the web console: it names a key by its hash and says until when. It is sealed, so it can be neither made up
// nor read, and the key behind it is looked up for each request: a key that is revoked ends its cookies.
import type { IncomingMessage } from 'node:http'
import { TurnwireError } from '../language/errors.ts'
import { sha256 } from '../lib/hash.ts'
import { isJsonObject } from '../lib/json.ts'
import type { Principal } from '../wires/host.ts'
import { consoleHeader, cookieName } from '../wires/operator/index.ts'
import type { Keys } from './keys.ts'
import type { SigningVault } from './vault.ts'

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
  signIn(key: string): { cookie: string; maxAgeS: number } | undefined {
    if (!this.#keys.find(key)) return undefined
    const until = this.#now() + maxAgeS * 1000
    return { cookie: this.#vault.seal(JSON.stringify({ key: sha256(key), until })), maxAgeS }
  }

  /** Undefined: the request has no cookie that counts. Throws `forbidden` for a change without the console's header. */
  principal({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): Principal | undefined {
    const value = cookieOf(headers.cookie)
    const principal = value === undefined ? undefined : this.#read(value)
    if (principal && method !== 'GET' && method !== 'HEAD' && headers[consoleHeader] !== '1')
      throw new TurnwireError(
        'forbidden',
        'A request with the cookie of the console must carry the header X-Turnwire-Console: 1.',
      )
    return principal
  }

  #read(value: string): Principal | undefined {
    try {
      const opened: unknown = JSON.parse(this.#vault.open(value))
      if (!isJsonObject(opened)) return undefined
      const { key, until } = opened
      const isValid = typeof key === 'string' && typeof until === 'number' && until > this.#now()
      return isValid ? this.#keys.findHash(key) : undefined
    } catch {
      return undefined
    }
  }
}

function cookieOf(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === cookieName && value) return value.trim()
  }
  return undefined
}
