// Who is calling: a bearer key, a cookie of the console, an id that is as good as a key, or a wallet: one that
// signed in to the relay, or one that pays. Which requests are let in at all is up to the server.
import type { Context, MiddlewareHandler } from 'hono'
import { TurnwireError } from '../language/errors.ts'
import { parseBearer } from '../lib/http.ts'
import type { RelayServer } from '../relay/server/index.ts'
import { ownerByRunId } from '../wires/deltakit/index.ts'
import type { Principal, WireEnv, WireHost } from '../wires/host.ts'
import type { ConsoleCookies } from './console-cookie.ts'
import { type Keys, localOwner } from './keys.ts'
import type { Payments } from './payments.ts'

export function authenticate(
  keys: Keys,
  host: WireHost,
  cookies: ConsoleCookies,
  payments: Payments | undefined,
  relay: RelayServer | undefined,
): MiddlewareHandler<WireEnv> {
  return async (c, next) => {
    const signedIn = relay && walletOf(c, relay)
    if (signedIn) {
      c.set('principal', signedIn)
      return next()
    }
    if (keys.open) {
      c.set('principal', { owner: localOwner, name: localOwner, operator: true })
      return next()
    }
    const own = c.req.header('x-api-key') ?? c.req.header('x-goog-api-key')
    const bearer = parseBearer(c.req.header('authorization') ?? bearerOf(own))
    const principal =
      bearer === 'missing'
        ? (cookies.principal(c.env.incoming) ?? ownerOfRun(c, host) ?? payments?.bareCaller(c))
        : typeof bearer === 'string'
          ? undefined
          : // SDKs send some key, whatever it is: who has none that is known may still pay.
            (keys.find(bearer.token) ?? payments?.callerOf(bearer.token) ?? payments?.bareCaller(c))
    if (!principal) {
      c.env.outgoing.setHeader('WWW-Authenticate', 'Bearer')
      const words =
        bearer === 'malformed'
          ? 'The Authorization header must be: Bearer <key>.'
          : 'A valid key is needed: Authorization: Bearer <key>.'
      throw new TurnwireError('unauthorized', words)
    }
    c.set('principal', principal)
    return next()
  }
}

/** Two names under it are no agents. */
const relayed = /^\/v1\/responses(?:\/(?!compact$|input_tokens$)[^/]+)?$/

/** A wallet's token is good for requests to attached agents, and nothing else. */
function walletOf({ req }: Context<WireEnv>, relay: RelayServer): Principal | undefined {
  if (req.method !== 'POST' || !relayed.test(req.path)) return undefined
  const bearer = parseBearer(req.header('authorization'))
  return typeof bearer === 'string' ? undefined : relay.principalOf(bearer.token)
}

/** Some addresses name a run by an id that is as good as a key. */
function ownerOfRun(c: Context<WireEnv>, host: WireHost): Principal | undefined {
  const owner = ownerByRunId(host, c.req.method, c.req.path)
  return owner === undefined ? undefined : { owner, name: owner }
}

/** Some vendors' clients send the key under a header of their own. */
function bearerOf(key: string | undefined): string | undefined {
  return key === undefined ? undefined : `Bearer ${key}`
}
