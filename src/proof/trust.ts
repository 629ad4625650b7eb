// The public keys that someone trusts: those of the own installation, and those that were named. A signature proves nothing by
// itself, since anyone can make a key: it proves as much as the key is trusted.
import { readFileSync } from 'node:fs'
import { TurnwireError } from '../language/errors.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { present } from '../lib/json/present.ts'
import { isPublicKey, thumbprint } from '../lib/signing/ed25519.ts'

/** `retired`: signatures that are dated later do not count. `list`: of the installation that published it with others. */
type TrustedKey = { created?: number; retired?: number; list?: number }

/** By the name of the key. */
export type TrustedKeys = ReadonlyMap<string, TrustedKey>

export function trustKeys(keys: readonly ReceiptKey[]): Map<string, TrustedKey> {
  return new Map(
    keys.map(({ x, created, retired }) => [thumbprint(x), present({ created, retired })] as const),
  )
}

/** Each of `given`: a file with a JWK or a JWK Set, as a server shows it, or the name of a key. */
export function namedKeys(given: readonly string[]): Map<string, TrustedKey> {
  const all = new Map<string, TrustedKey>()
  for (const [index, keys] of given.map(readKeys).entries()) {
    // An older or newer file of the same installation.
    const list = [...keys.keys()].map(kid => all.get(kid)?.list).find(known => known !== undefined) ?? index
    // A key that is named too, or stands in an older file, stays retired.
    for (const [kid, key] of keys) all.set(kid, { ...all.get(kid), ...key, list })
  }
  return all
}

function readKeys(given: string): Map<string, TrustedKey> {
  if (/^[\w-]{43}$/.test(given)) return new Map([[given, {}]])
  let value: unknown
  try {
    value = JSON.parse(readFileSync(given, 'utf8'))
  } catch (cause) {
    throw badKey(given, cause)
  }
  const list: unknown[] = isRecord(value) && Array.isArray(value['keys']) ? value['keys'] : [value]
  const keys = list.filter((key): key is ReceiptKey => isRecord(key) && isPublicKey(key['x']))
  if (keys.length === 0) throw badKey(given)
  return trustKeys(keys)
}

function badKey(given: string, cause?: unknown): TurnwireError {
  return new TurnwireError(
    'bad_request',
    `"${given}" is no key. Name the file that the server shows at /.well-known/turnwire-receipts.json, or the 43 characters that name a key there ("kid").`,
    { cause },
  )
}

/** Why a signature of this key and time does not count. Undefined: it does. */
export function distrust(trusted: TrustedKeys, x: string, at: number): string | undefined {
  const kid = thumbprint(x)
  const key = trusted.get(kid)
  if (!key) return `it was signed with the key ${kid}, which is none of those that you trust`
  if (key.retired !== undefined && at > key.retired) return `it is dated after the key ${kid} was retired`
  return undefined
}

/** The keys that sign one log, in the order of its signatures. */
export class SigningKeys {
  readonly #trusted: TrustedKeys
  /** When the newest of the keys that have signed was made, by their lists: no installation knows when another rotates its key. */
  readonly #newest = new Map<number | undefined, number>()

  constructor(trusted: TrustedKeys) {
    this.#trusted = trusted
  }

  /** As above. `at`: of the signature, or of the last event that it covers. */
  distrust(x: string, at: number): string | undefined {
    const why = distrust(this.#trusted, x, at)
    if (why !== undefined) return why
    const kid = thumbprint(x)
    const { created = 0, retired, list } = this.#trusted.get(kid) ?? {}
    const newest = this.#newest.get(list) ?? 0
    // Its holder chooses what date a signature has, but not its place behind those of newer keys.
    if (retired !== undefined && created < newest)
      return `it was signed with the key ${kid}, which is retired, after a newer key had signed`
    this.#newest.set(list, Math.max(newest, created))
    return undefined
  }
}
