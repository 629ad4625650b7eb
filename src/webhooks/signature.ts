// How a message is signed, as the Standard Webhooks specification says: HMAC-SHA256 over id, time and body.
import { createHmac } from 'node:crypto'

const prefix = 'whsec_'
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

export function isSecretText(text: unknown): boolean {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return false
  const encoded = text.slice(prefix.length)
  if (!base64.test(encoded)) return false
  const { length } = Buffer.from(encoded, 'base64')
  return length >= 24 && length <= 64
}

/** One of the installation's own, the same each time. `sign`: the same text always gets the same signature. */
function derivedSecret(endpoint: string, sign: (text: string) => string): string {
  return prefix + Buffer.from(sign(`webhook ${endpoint}`), 'base64url').toString('base64')
}

/** Those of the configuration, or one of the installation's own. */
export function endpointSecrets(
  endpoint: string,
  given: string | readonly string[] | undefined,
  sign: (text: string) => string,
): readonly string[] {
  if (given === undefined) return [derivedSecret(endpoint, sign)]
  return typeof given === 'string' ? [given] : given
}

export type SignedMessage = { id: string; body: string; headers: Record<string, string> }

/** `at`: of this attempt, in milliseconds. Each secret signs, so that a receiver may know either while one is replaced. */
export function signMessage(
  { id, body }: { id: string; body: string },
  at: number,
  secrets: readonly string[],
): SignedMessage {
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    id,
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
  }
}
