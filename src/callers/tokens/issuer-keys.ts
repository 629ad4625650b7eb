// The public keys of an issuer: given, or fetched from its address. They are fetched again when they are old, and when a token
// names a key that is not among them, but not more often than once in a while: a stranger can name any key.
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import { deadline } from '../../lib/async/abort.ts'
import { isJsonObject } from '../../lib/json/index.ts'

export type FetchAddress = (url: string, init?: RequestInit) => Promise<Response>

/** Between two fetches for keys that are not known, and after one that failed. */
const cooldownMs = 10_000
/** An address that does not answer must not hold up everyone whose key is known. */
const patienceMs = 5_000
/** Keys are used this much longer if their address does not answer. */
const graceMs = 3_600_000
const mostBytes = 1024 * 1024

export class IssuerKeys {
  readonly #url: string
  readonly #maxAgeMs: number
  readonly #fetch: FetchAddress
  readonly #now: () => number
  #found: { keys: JWTVerifyGetKey; at: number } | undefined
  #failedAt = -Infinity
  #loading: Promise<JWTVerifyGetKey> | undefined

  constructor(url: string, maxAgeS: number, fetch: FetchAddress, now: () => number) {
    this.#url = url
    this.#maxAgeMs = maxAgeS * 1000
    this.#fetch = fetch
    this.#now = now
  }

  /** The key that a token names. Rejects if there is none. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#current()
    try {
      return await keys(header, token)
    } catch (error) {
      const age = this.#now() - Math.max(this.#found?.at ?? 0, this.#failedAt)
      if (!(error instanceof errors.JWKSNoMatchingKey) || age < cooldownMs) throw error
      return (await this.#load())(header, token)
    }
  }

  async #current(): Promise<JWTVerifyGetKey> {
    const found = this.#found
    const age = found ? this.#now() - found.at : 0
    if (found && age <= this.#maxAgeMs) return found.keys
    const usable = age <= this.#maxAgeMs + graceMs ? found?.keys : undefined
    if (usable && this.#now() - this.#failedAt < cooldownMs) return usable
    try {
      return await this.#load()
    } catch (error) {
      if (usable) return usable
      throw error
    }
  }

  #load(): Promise<JWTVerifyGetKey> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<JWTVerifyGetKey> {
    const patience = deadline(patienceMs)
    try {
      const { signal } = patience
      const keys = createLocalJWKSet(onlyPublic(await readJson(this.#fetch, this.#url, { signal })))
      this.#found = { keys, at: this.#now() }
      return keys
    } catch (error) {
      this.#failedAt = this.#now()
      throw error
    } finally {
      patience.clear()
    }
  }
}

/** A token that names no key may be of any that fits: an issuer without names for its keys has two while it changes them. */
export async function verifyToken(
  token: string,
  find: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, find, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    for await (const key of error)
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure
      }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** Keys with a shared secret have no place in a public list: one there would make anyone an issuer. */
export function onlyPublic(given: unknown): JSONWebKeySet {
  const keys = isJsonObject(given) && Array.isArray(given['keys']) ? given['keys'] : []
  return { keys: keys.filter(isJsonObject).filter(({ kty }) => kty !== 'oct') } as JSONWebKeySet // Each is checked when it is used.
}

/** Throws for an answer that is no JSON, or too large. */
export async function readJson(fetch: FetchAddress, url: string, init?: RequestInit): Promise<unknown> {
  const headers = new Headers(init?.headers)
  if (!headers.has('accept')) headers.set('accept', 'application/json')
  const answer = await fetch(url, { ...init, headers })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${new URL(url).host} answered ${answer.status}: ${text.slice(0, 200)}`)
  if (text.length > mostBytes) throw new Error(`${new URL(url).host} answered with too much.`)
  return JSON.parse(text)
}
