// The cookie of the web console: it names a key by its hash, or a person who signed in at the identity provider, and says until
// when. It is sealed, so it can be neither made up nor read. The key behind it is looked up for each request: a key that is revoked
// ends its cookies. A person's counts only under the settings of the sign-in. A browser sends a cookie to every port of a host, so a
// program on another port can read it: it counts only together with the secret that was given at the same sign-in, which the page
// keeps and sends in a header.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../callers/caller.ts'
import type { AdmittedKey, Keys } from '../callers/keys.ts'
import type { SigningVault } from '../data/vault.ts'
import { TurnwireError } from '../language/errors.ts'
import { sha256 } from '../lib/json/hash.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { readCookie } from '../wires/http/index.ts'
import { consoleHeader, cookieName, type SignedIn } from '../wires/operator/index.ts'

const maxAgeS = 12 * 60 * 60
/** Browsers drop a cookie of more than 4,096 bytes with its name and attributes, and say nothing. */
const longestCookie = 3_900

/** The sign-in of people whose cookies count. */
export type SignInOfPeople = { readonly settingsHash: string; isTaken(name: string): boolean }

export class ConsoleCookies {
  readonly #keys: Keys
  readonly #vault: Pick<SigningVault, 'seal' | 'open'>
  readonly #people: SignInOfPeople | undefined
  readonly #now: () => number

  /** `people`: undefined if no identity provider is configured. */
  constructor(
    keys: Keys,
    vault: Pick<SigningVault, 'seal' | 'open'>,
    people?: SignInOfPeople,
    now: () => number = Date.now,
  ) {
    this.#keys = keys
    this.#vault = vault
    this.#people = people
    this.#now = now
  }

  /** Undefined: the key is not known. */
  signIn(key: string): SignedIn | undefined {
    const hash = sha256(key)
    if (!this.#keys.findHash(hash)) return undefined
    return this.#make({ key: hash }, this.#now() + maxAgeS * 1000)
  }

  /** For a person whom the identity provider has named. Throws `unauthorized` if no cookie has room for their roles. */
  signInPerson({ owner, name, operator, roles }: Principal, until: number): SignedIn {
    const person = { owner, name, ...(operator && { operator }), ...(roles && { roles: [...roles] }) }
    const made = this.#make({ person, by: this.#people?.settingsHash ?? '' }, until)
    if (made.cookie.length <= longestCookie) return made
    throw new TurnwireError(
      'unauthorized',
      'You have too many roles for a sign-in. Tell the operator: server.oidc.roles has to name a claim with those for this server alone.',
    )
  }

  #make(who: JsonObject, until: number): SignedIn {
    const secret = randomBytes(24).toString('base64url')
    const kept = { ...who, until, secret: sha256(secret) }
    const cookie = this.#vault.seal(JSON.stringify(kept), 'console cookie')
    return { cookie, secret, maxAgeS: Math.max(1, Math.floor((until - this.#now()) / 1000)) }
  }

  /** Undefined: the request has no cookie that counts, or not the secret of its sign-in. */
  admit(request: Pick<IncomingMessage, 'headers'>): AdmittedKey | undefined {
    const opened = this.#open(request)
    if (!opened) return undefined
    const { key, person, by, until } = opened
    if (typeof until !== 'number' || until <= this.#now()) return undefined
    const admitted = typeof key === 'string' ? this.#keys.admit(key) : this.#admitPerson(person, by)
    return admitted && { ...admitted, holds: () => until > this.#now() && admitted.holds() }
  }

  /** The request is of a person who signed in at the identity provider. */
  isPerson(request: Pick<IncomingMessage, 'headers'>): boolean {
    return this.#open(request)?.['person'] !== undefined
  }

  /** Nobody else can seal one, so a person in it is as `signInPerson` wrote it. */
  #open({ headers }: Pick<IncomingMessage, 'headers'>): JsonObject | undefined {
    const value = readCookie(headers.cookie, cookieName)
    const secret = headers[consoleHeader]
    if (value === undefined || typeof secret !== 'string') return undefined
    try {
      const opened: unknown = JSON.parse(this.#vault.open(value, 'console cookie'))
      return isJsonObject(opened) && opened['secret'] === sha256(secret) ? opened : undefined
    } catch {
      return undefined
    }
  }

  /** A key of the same name may have been made since: then its sessions are not this person's. */
  #admitPerson(person: unknown, by: unknown): AdmittedKey | undefined {
    const people = this.#people
    if (!people || by !== people.settingsHash || !isJsonObject(person)) return undefined
    const principal = person as unknown as Principal // As it was sealed.
    const holds = (): boolean => !people.isTaken(principal.owner) && !people.isTaken(principal.name)
    return holds() ? { principal, holds } : undefined
  }
}
