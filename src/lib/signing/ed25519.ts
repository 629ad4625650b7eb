// Ed25519 keys as JWK (RFC 8037): made, derived from a secret, named by their thumbprint (RFC 7638), and the check of a signature.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

/** `x`: the public key. */
export type PublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string }
export type PrivateJwk = PublicJwk & { d: string }

export function newKey(): PrivateJwk {
  return exported(generateKeyPairSync('ed25519').privateKey)
}

/** The beginning of a private key in PKCS #8 (RFC 8410); the 32 bytes of the key follow. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The same secret and use always give the same key. */
export function deriveSigningKey(secret: string, use: string): PrivateJwk {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', use, 32))
  const der = Buffer.concat([pkcs8, seed])
  return exported(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

function exported(key: KeyObject): PrivateJwk {
  const { x = '', d = '' } = key.export({ format: 'jwk' })
  return { kty: 'OKP', crv: 'Ed25519', x, d }
}

/** RFC 7638: the name of a key that anyone can compute from it. */
export function thumbprint(x: string): string {
  return hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":${JSON.stringify(x)}}`, 'base64url')
}

/** Gives a function that signs text. */
export function makeSigner({ kty, crv, x, d }: PrivateJwk): (text: string) => string {
  const key = createPrivateKey({ key: { kty, crv, x, d }, format: 'jwk' })
  return text => sign(null, Buffer.from(text), key).toString('base64url')
}

/** False also for a key or a signature that is not written in its one form: no two texts are the same signature. */
export function isSignedBy(x: unknown, text: string, signature: unknown): boolean {
  if (typeof signature !== 'string') return false
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.length !== 64 || bytes.toString('base64url') !== signature || !isPublicKey(x)) return false
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return verify(null, Buffer.from(text), key, bytes)
  } catch {
    return false
  }
}

export function isPublicKey(x: unknown): x is string {
  if (typeof x !== 'string') return false
  const bytes = Buffer.from(x, 'base64url')
  return bytes.length === 32 && bytes.toString('base64url') === x
}
