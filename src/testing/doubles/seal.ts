// Opaque tokens that a double can verify without remembering them: thinking signatures, thought signatures, encrypted
// search results. A token proves that a double made it, and for which content.
// The key is no secret: it only tells our tokens from foreign ones.
import { createHash, createHmac, randomBytes } from 'node:crypto'

const KEY = 'turnwire-testing-double'
const VERSION = 0x54
const PART = 16

/** `foreign`: not made by a double, or changed since. `altered`: genuine, but made for other content. */
type SealVerdict = 'valid' | 'altered' | 'foreign'

const mac = (purpose: string, ...parts: Uint8Array[]): Buffer => {
  const hmac = createHmac('sha256', KEY).update(purpose)
  for (const part of parts) hmac.update(part)
  return hmac.digest().subarray(0, PART)
}

const contentMac = (purpose: string, nonce: Uint8Array, content: string): Buffer =>
  mac(`${purpose}:content`, nonce, Buffer.from(content, 'utf8'))

/** Mints a token (standard base64) for this content. */
export function seal(purpose: string, content: string): string {
  const nonce = randomBytes(PART)
  const bound = contentMac(purpose, nonce, content)
  return Buffer.concat([Uint8Array.of(VERSION), nonce, bound, mac(purpose, nonce, bound)]).toString('base64')
}

export function inspectSeal(purpose: string, token: string, content: string): SealVerdict {
  const bytes = Buffer.from(token, 'base64')
  if (bytes.length !== 1 + 3 * PART || bytes[0] !== VERSION || bytes.toString('base64') !== token)
    return 'foreign'
  const nonce = bytes.subarray(1, 1 + PART)
  const bound = bytes.subarray(1 + PART, 1 + 2 * PART)
  if (!mac(purpose, nonce, bound).equals(bytes.subarray(1 + 2 * PART))) return 'foreign'
  return contentMac(purpose, nonce, content).equals(bound) ? 'valid' : 'altered'
}

/**
 * Judges a signature that came back. `signatures` holds those that a script wrote, with the content they went out with.
 * With `trustForeign`, an unknown signature is accepted unless it is empty.
 */
export function judgeSignature(
  purpose: string,
  token: string,
  content: string,
  { signatures, trustForeign }: { signatures: ReadonlyMap<string, string>; trustForeign: boolean },
): SealVerdict {
  const scripted = signatures.get(token)
  if (scripted !== undefined) return scripted === content ? 'valid' : 'altered'
  const verdict = inspectSeal(purpose, token, content)
  return verdict === 'foreign' && trustForeign && token !== '' ? 'valid' : verdict
}

/** Ids that look like a vendor's: a prefix and 24 characters, made from a counter. */
export function mintId(prefix: string, counter: number, salt = ''): string {
  const digest = createHash('sha256').update(`${prefix}:${salt}:${counter}`).digest('base64')
  return `${prefix}${digest.replace(/[^A-Za-z0-9]/g, '').slice(0, 24)}`
}
