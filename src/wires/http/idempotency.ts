// The Idempotency-Key header: a key for a request, and a hash of the whole request. The engine records the key with the
// events of the request.
import type { Context } from 'hono'
import type { RequestKey } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { hashJson } from '../../lib/json/hash.ts'
import type { Json } from '../../lib/json/index.ts'
import type { WireEnv } from '../host.ts'

/** `asked` names the operation, so that a key means the same under every path of it. */
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
