// Seals secrets before they are recorded: AES-256-GCM with a key from a file in the data folder that only its owner can
// read, or from TURNWIRE_VAULT_KEY. The use of a text is authenticated with it. Losing the key loses the secrets and nothing else.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Vault } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { SealUse } from '../language/seals.ts'
import { makeFileOnce } from '../lib/files/replace-file.ts'

/** Sealed texts with a use begin with this. Older ones have no use. */
const mark = '2.'
const sealedForm = /^[\w-]+$/

/** Older versions sealed without a use. Only what they left in logs and files is opened so, never what a client brings. */
const keptWithoutUse: ReadonlySet<SealUse> = new Set<SealUse>(['option', 'arguments', 'mcp tokens'])

/** `sign`: the same text always gets the same 43 characters. */
export type SigningVault = Vault & { sign(text: string): string }

export function createVault(key: Buffer): SigningVault {
  const signing = Buffer.from(hkdfSync('sha256', key, '', 'turnwire signatures', 32))
  return {
    sign: text => createHmac('sha256', signing).update(text).digest('base64url'),
    seal(text, use) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(use))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return mark + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
    },
    open(sealed, use) {
      const isMarked = sealed.startsWith(mark)
      const body = isMarked ? sealed.slice(mark.length) : sealed
      try {
        if (!(isMarked || keptWithoutUse.has(use)) || !sealedForm.test(body))
          throw new Error('It is not in the form of a sealed text.')
        const bytes = Buffer.from(body, 'base64url')
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
        if (isMarked) decipher.setAAD(Buffer.from(use))
        decipher.setAuthTag(bytes.subarray(12, 28))
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new TurnwireError(
          'config_invalid',
          'A sealed secret cannot be opened: the vault key is not the one it was sealed with, or it was sealed for another use.',
          { cause },
        )
      }
    },
  }
}

/**
 * The key from the environment, or from the data folder. Where there is none it is made from the secret that the nodes of a
 * cluster share, or else at random: once for a folder, without a folder for this process.
 */
export function vaultKey(
  folder: string | undefined,
  given = process.env['TURNWIRE_VAULT_KEY'],
  shared?: string,
): Buffer {
  if (given !== undefined && given !== '') return deriveKey(given, 'TURNWIRE_VAULT_KEY')
  const file = folder === undefined ? undefined : join(folder, 'vault.key')
  const hasFile = file !== undefined && existsSync(file)
  if (shared !== undefined && !hasFile) return deriveKey(shared, 'TURNWIRE_CLUSTER_SECRET')
  if (file === undefined) return randomBytes(32)
  if (!hasFile) makeFileOnce(file, randomBytes(32).toString('base64url'))
  return deriveKey(readFileSync(file, 'utf8').trim(), file)
}

function deriveKey(secret: string, source: string): Buffer {
  if (secret.length < 32)
    throw new TurnwireError(
      'config_invalid',
      `The key in ${source} is too short: it needs at least 32 characters.`,
    )
  return Buffer.from(hkdfSync('sha256', secret, '', 'turnwire vault', 32))
}
