// Identifies the caller by a bearer key or token, a cookie of the console, an id in the path that counts as a key, or a wallet
// that signed in to the relay or pays. Which requests are let in at all is decided in server.ts.
import type { IncomingMessage } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { AdmittedKey, Keys } from '../callers/keys.ts'
import type { Tokens } from '../callers/tokens/tokens.ts'
import type { OwnCaller, ServerConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'
import { sha256 } from '../lib/json/hash.ts'
import { parseBearer } from '../lib/net/http.ts'
import type { Payments } from '../payments/serve.ts'
import type { RelayServer } from '../relay/server/index.ts'
import type { Principal, WireEnv, WireHost } from '../wires/host.ts'
import type { ConsoleCookies } from './console-cookie.ts'
import type { WireTable } from './wires.ts'

export function authenticate(
  table: WireTable,
  keys: Keys,
  host: WireHost,
  cookies: ConsoleCookies,
  payments: Payments | undefined,
  relay: RelayServer | undefined,
): (c: Context<WireEnv>) => void {
  return c => {
    const signedIn = relay && table.isRelayed(c.req) ? findWallet(c, relay) : undefined
    if (signedIn) {
      c.set('principal', signedIn)
      return
    }
    const anyone = keys.admitAnyone()
    if (anyone) {
      enter(c, anyone)
      return
    }
    const bearer = parseBearer(c.req.header('authorization') ?? readBearer(ownKey(c)))
    const admitted =
      bearer === 'missing'
        ? cookies.admit(c.env.incoming)
        : typeof bearer === 'string'
          ? undefined
          : keys.admit(sha256(bearer.token))
    if (admitted) {
      enter(c, admitted)
      return
    }
    const principal =
      bearer === 'missing'
        ? (byAddress(table.ownerByAddress(c.req, host)) ?? payments?.bareCaller(c))
        : typeof bearer === 'string'
          ? undefined
          : // SDKs always send a key. A caller whose key is not known may still pay.
            (payments?.callerOf(bearer.token) ?? payments?.bareCaller(c))
    if (!principal) {
      c.env.outgoing.setHeader('WWW-Authenticate', 'Bearer')
      const words =
        bearer === 'malformed'
          ? 'The Authorization header must be: Bearer <key>.'
          : 'A valid key is needed: Authorization: Bearer <key>.'
      throw new TurnwireError('unauthorized', words)
    }
    c.set('principal', principal)
  }
}

/** A bearer token of an issuer that is named in the configuration. Other bearers are left to what comes next. */
export function identifyToken(tokens: Tokens): MiddlewareHandler<WireEnv> {
  return async (c, next) => {
    const known: Principal | undefined = c.get('principal')
    const bearer = known ? 'missing' : parseBearer(c.req.header('authorization') ?? readBearer(ownKey(c)))
    const admitted = typeof bearer === 'string' ? undefined : await admitToken(tokens, bearer.token, c)
    if (admitted) enter(c, admitted)
    return next()
  }
}

async function admitToken(
  tokens: Tokens,
  token: string,
  c: Context<WireEnv>,
): Promise<AdmittedKey | undefined> {
  try {
    return await tokens.admit(token)
  } catch (error) {
    c.env.outgoing.setHeader('WWW-Authenticate', 'Bearer error="invalid_token"')
    throw error
  }
}

/** Asks the application who calls. */
export function identifyCaller(
  identify: NonNullable<ServerConfig['authenticate']>,
): MiddlewareHandler<WireEnv> {
  return async (c, next) => {
    const known = await identify(c.req.raw, c.env.incoming)
    if (known) c.set('principal', toPrincipal(known))
    return next()
  }
}

/** The same for a request to open a WebSocket. Undefined: nobody that the application knows. */
export async function identifySocket(
  identify: NonNullable<ServerConfig['authenticate']>,
  incoming: IncomingMessage,
): Promise<Principal | undefined> {
  const { host = 'localhost', ...rest } = incoming.headers
  const headers = Object.entries(rest).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  )
  const known = await identify(new Request(`http://${host}${incoming.url ?? '/'}`, { headers }), incoming)
  return known ? toPrincipal(known) : undefined
}

/** For callers that the application does not know. */
export function unlessKnown(admit: (c: Context<WireEnv>) => void): (c: Context<WireEnv>) => void {
  return c => {
    const known: Principal | undefined = c.get('principal')
    if (!known) admit(c)
  }
}

function toPrincipal({ owner, name = owner, operator, roles = [] }: OwnCaller): Principal {
  if (typeof owner !== 'string' || owner === '' || owner.length > 256)
    throw new TypeError('server.authenticate must give { owner } with 1 to 256 characters, or undefined.')
  if (!Array.isArray(roles) || !roles.every(role => typeof role === 'string'))
    throw new TypeError('server.authenticate must give "roles" as a list of texts, or leave it out.')
  return { owner, name, ...(operator === true && { operator }), ...(roles.length > 0 && { roles }) }
}

/**
 * A stream may be open for days. Whichever wire or package writes to it, each frame and each heartbeat checks that the
 * key is still valid. The connection breaks off, so that no reader takes it for the end of its stream.
 */
function enter(c: Context<WireEnv>, { principal, holds }: AdmittedKey): void {
  c.set('principal', principal)
  const { outgoing } = c.env
  const write = outgoing.write.bind(outgoing) as (...given: unknown[]) => boolean // It has several forms.
  outgoing.write = (...given: unknown[]): boolean => {
    if (holds()) return write(...given)
    outgoing.destroy()
    return false
  }
}

/** A wallet's token is good for requests to attached agents, and nothing else. */
function findWallet({ req }: Context<WireEnv>, relay: RelayServer): Principal | undefined {
  const bearer = parseBearer(req.header('authorization'))
  return typeof bearer === 'string' ? undefined : relay.findPrincipal(bearer.token)
}

function byAddress(owner: string | undefined): Principal | undefined {
  return owner === undefined ? undefined : { owner, name: owner }
}

/** Some vendors' clients send the key under a header of their own. */
function ownKey({ req }: Context<WireEnv>): string | undefined {
  return req.header('x-api-key') ?? req.header('x-goog-api-key')
}

function readBearer(key: string | undefined): string | undefined {
  return key === undefined ? undefined : `Bearer ${key}`
}
