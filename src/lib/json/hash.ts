// One hash for identity: SHA-256 in base64url (43 characters), of text or of a JSON value's canonical form.
// Not for secrets: a value with little entropy can be guessed from its hash.

import { hash } from 'node:crypto'
import { canonicalJson, type Json } from './index.ts'

export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}

export function hashJson(value: Json): string {
  return sha256(canonicalJson(value))
}
