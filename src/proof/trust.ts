// The public keys that someone trusts: those of the own installation, and those that were named. A signature proves nothing by
// itself, since anyone can make a key: it proves as much as the key is trusted.
import { readFileSync } from 'node:fs'
import { TurnwireError } from '../language/errors.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import { isRecord } from '../lib/checks/fields.ts'
import { isPublicKey, thumbprint } from '../lib/signing/ed25519.ts'

/** By the name of the key. `retired`: signatures that are dated later do not count. */
export type TrustedKeys = ReadonlyMap<string, { retired?: number }>

export function trustKeys(keys: readonly ReceiptKey[]): Map<string, { retired?: number }> {
  return new Map(
    keys.map(({ x, retired }) => [thumbprint(x), retired === undefined ? {} : { retired }] as const),
  )
}

/** `given`: a file with a JWK or a JWK Set, as a server shows it, or the name of a key. */
export function namedKeys(given: string): Map<string, { retired?: number }> {
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
