// The public keys of receipts, as they are published: a JWK Set (RFC 7517).

/** Where a server shows them, to everyone. */
export const receiptKeysPath = '/.well-known/turnwire-receipts.json'

/** `kid`: the thumbprint of the key (RFC 7638). `created`, `retired`: in milliseconds since 1970, where they are known. */
export type ReceiptKey = {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  kid: string
  use: 'sig'
  alg: 'EdDSA'
  created?: number
  retired?: number
}
