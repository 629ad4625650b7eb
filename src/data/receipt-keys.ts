// The keys that sign logs. They are in a file of the data folder that only its owner can read; the newest signs, and of the others
// only the public part is kept. Nodes of a cluster have no common folder: their key comes from TURNWIRE_RECEIPTS_KEY or from the
// secret that they share, so that each of them has the same one.
import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ReceiptSigner } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import { makeFileOnce, replaceFile, textOfFile } from '../lib/files/replace-file.ts'
import {
  deriveSigningKey,
  isPublicKey,
  makeSigner,
  newKey,
  type PrivateJwk,
  thumbprint,
} from '../lib/signing/ed25519.ts'

type KeptKey = ReceiptKey & { d?: string }
type KeyList = { keys: KeptKey[] }

const use = 'turnwire receipts'
const fileName = 'receipts.json'

export type ReceiptKeys = ReceiptSigner & {
  /** Every public key of this installation, the current one last. */
  published(): ReceiptKey[]
}

export type KeySource = {
  folder: string | undefined
  /** Secrets from the environment: the first signs. */
  given?: string | undefined
  /** The secret of a cluster. */
  shared?: string | undefined
}

/** Makes the file on first use. */
export function openReceiptKeys({
  folder,
  given = process.env['TURNWIRE_RECEIPTS_KEY'],
  shared,
}: KeySource): ReceiptKeys {
  const newSalt = (): string => randomBytes(16).toString('base64url')
  const secrets = (given ?? '').split(/\s+/).filter(secret => secret !== '')
  if (secrets.length > 0) return { ...fixedKeys(secrets.map(fromSecret('TURNWIRE_RECEIPTS_KEY'))), newSalt }
  const file = folder === undefined ? undefined : join(folder, fileName)
  const hasFile = file !== undefined && existsSync(file)
  if (shared !== undefined && !hasFile)
    return { ...fixedKeys([fromSecret('TURNWIRE_CLUSTER_SECRET')(shared)]), newSalt }
  if (file === undefined) return { ...fixedKeys([newKey()]), newSalt }
  if (!hasFile) makeFileOnce(file, encodeKeys({ keys: [madeKey()] }))
  return { ...fileKeys(file), newSalt }
}

function fromSecret(source: string): (secret: string) => PrivateJwk {
  return secret => {
    if (secret.length >= 32) return deriveSigningKey(secret, use)
    throw new TurnwireError(
      'config_invalid',
      `A key in ${source} is too short: it needs at least 32 characters.`,
    )
  }
}

type Signing = Pick<ReceiptKeys, 'current' | 'published'>

/** The first signs. */
function fixedKeys(keys: readonly PrivateJwk[]): Signing {
  const [newest] = keys
  if (!newest) throw new Error('There is no key.')
  const current = { key: newest.x, sign: makeSigner(newest) }
  return { current: () => current, published: () => keys.map(({ x }) => publicKey(x)).reverse() }
}

/** Read again when the file has changed: keys are rotated beside a server that runs. */
function fileKeys(file: string): Signing {
  let stamp = ''
  let known: { current: ReturnType<Signing['current']>; keys: KeptKey[] } | undefined
  const read = (): NonNullable<typeof known> => {
    const { mtimeMs, ino } = statSync(file)
    const now = `${ino} ${mtimeMs}`
    if (known && now === stamp) return known
    const { keys } = decodeKeys(textOfFile(file) ?? '', file)
    const newest = keys.at(-1)
    if (newest?.d === undefined) throw damagedFile(file)
    stamp = now
    known = { keys, current: { key: newest.x, sign: makeSigner({ ...jwk(newest.x), d: newest.d }) } }
    return known
  }
  return { current: () => read().current, published: () => read().keys.map(withoutSecret) }
}

/** From now on a new key signs. Gives it. */
export function rotateKey(folder: string, now: () => number): ReceiptKey {
  const file = join(folder, fileName)
  const text = textOfFile(file)
  const before = text === undefined ? [] : decodeKeys(text, file).keys
  const made = madeKey(now())
  replaceFile(file, encodeKeys({ keys: [...before.map(withoutSecret), made] }))
  // Until here a server may have signed with the key before.
  const retired = before.map(key => ({ ...withoutSecret(key), retired: key.retired ?? now() }))
  replaceFile(file, encodeKeys({ keys: [...retired, made] }))
  return withoutSecret(made)
}

/** Public keys that a folder has. Empty: it has signed nothing. */
export function keysInFolder(folder: string): ReceiptKey[] {
  const file = join(folder, fileName)
  const text = textOfFile(file)
  return text === undefined ? [] : decodeKeys(text, file).keys.map(withoutSecret)
}

const jwk = (x: string) => ({ kty: 'OKP', crv: 'Ed25519', x }) as const

function publicKey(x: string): ReceiptKey {
  return { ...jwk(x), kid: thumbprint(x), use: 'sig', alg: 'EdDSA' }
}

function madeKey(created = Date.now()): KeptKey {
  const { x, d } = newKey()
  return { ...publicKey(x), created, d }
}

function withoutSecret(kept: KeptKey): ReceiptKey {
  const { d: _, ...key } = kept
  return key
}

function encodeKeys(list: KeyList): string {
  return `${JSON.stringify(list, null, 2)}\n`
}

function decodeKeys(text: string, file: string): KeyList {
  try {
    const { keys } = JSON.parse(text) as KeyList // Checked next.
    if (Array.isArray(keys) && keys.every(({ x }) => isPublicKey(x))) return { keys }
  } catch {
    // The same as for other text.
  }
  throw damagedFile(file)
}

function damagedFile(file: string): TurnwireError {
  return new TurnwireError(
    'config_invalid',
    `The keys of receipts in ${file} cannot be read. Take the file from a copy of the data folder, or make new ones: turnwire receipts rotate. What was signed before can then be checked with the old public keys only.`,
  )
}
