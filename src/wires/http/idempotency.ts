// The Idempotency-Key header: a key for a request and a hash of all that it asked for. Remembering the key is the
// engine's work, which records it with the events that the request gave.
import type { Context } from 'hono'
import type { RequestKey, SessionState } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { hashJson } from '../../lib/hash.ts'
import type { Json } from '../../lib/json.ts'
import type { WireEnv } from '../host.ts'

/** `asked` names the operation, so that a key means the same under every spelling of its path. */
export function requestKey(c: Context<WireEnv>, asked: string, body: Json): RequestKey | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TurnwireError(
      'bad_request',
      'An Idempotency-Key has 1 to 255 visible ASCII characters and no spaces.',
    )
  return { key, hash: hashJson([asked, body]) }
}

/** How often what has this key was put to the model: again each time after it has failed. */
export function triesOf({ requests }: SessionState, key: string): number {
  let tries = 1
  while (requests.has(nthOf(key, tries + 1))) tries += 1
  return tries
}

export function nthOf(key: string, nth: number): string {
  return nth === 1 ? key : `${key}#${nth}`
}
