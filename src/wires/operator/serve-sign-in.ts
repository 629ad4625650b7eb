// How a browser signs in and out: with a key, or at the identity provider. Both end with a cookie and a secret that count only
// together. No route here redirects: the page goes where the server says, and the server only ever names the provider.
import { Hono } from 'hono'
import { TurnwireError } from '../../language/errors.ts'
import { names } from '../../lib/json/fields.ts'
import { present } from '../../lib/json/present.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readCookie, readJsonObject, sendJson, writeCookie } from '../http/index.ts'
import type { C } from './access.ts'
import { cookieName, type OidcBackend, type OperatorBackend, oidcCookieName } from './backend.ts'
import { onlyKnown, optional, text } from './decode.ts'
import type { SignInOptions } from './schema.ts'

const KiB = 1024

/** Mounted before the caller is known: the body says who it is. */
export function signInRoutes(host: WireHost, backend: OperatorBackend): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.get('/operator/sign-in', c => {
    const { oidc } = backend
    const options: SignInOptions = oidc ? { oidc: { label: oidc.label, page: oidc.page } } : {}
    return sendJson(c, options)
  })
  app.post('/operator/sign-in', async c => {
    const body = await readJsonObject(c, { ...host.limits, bodyBytes: 4 * KiB })
    onlyKnown(body, names('key'), '')
    const signedIn = backend.signIn(text(body['key'], 'key', { max: 200 }))
    if (!signedIn) throw new TurnwireError('unauthorized', 'This key is not known. Look for a typing error.')
    setCookie(c, backend, cookieName, signedIn.cookie, signedIn.maxAgeS)
    return sendJson(c, { secret: signedIn.secret })
  })
  if (backend.oidc) oidcRoutes(app, host, backend, backend.oidc)
  return app
}

function oidcRoutes(app: Hono<WireEnv>, host: WireHost, backend: OperatorBackend, oidc: OidcBackend): void {
  app.post('/operator/sign-in/oidc/start', async c => {
    const { address, cookie } = await oidc.begin()
    setCookie(c, backend, oidcCookieName, cookie, oidc.maxAgeS)
    return sendJson(c, { address })
  })
  app.post('/operator/sign-in/oidc', async c => {
    const body = await readJsonObject(c, { ...host.limits, bodyBytes: 16 * KiB })
    onlyKnown(body, names('state code iss error'), '')
    const member = (name: string): string | undefined =>
      optional(body[name], name, (value, called) => text(value, called, { max: 8 * KiB }))
    const given = present({ code: member('code'), iss: member('iss'), error: member('error') })
    const state = text(body['state'], 'state', { max: 200 })
    // It is good for one try, whatever comes of it.
    setCookie(c, backend, oidcCookieName, '', 0)
    const signedIn = await oidc.finish(
      { state, ...given },
      readCookie(c.req.header('cookie'), oidcCookieName),
    )
    setCookie(c, backend, cookieName, signedIn.cookie, signedIn.maxAgeS)
    return sendJson(c, { secret: signedIn.secret })
  })
}

export function signOutRoute(app: Hono<WireEnv>, backend: OperatorBackend): void {
  app.post('/operator/sign-out', async c => {
    setCookie(c, backend, cookieName, '', 0)
    const address = await backend.oidc?.endSession(c.env.incoming)
    return address === undefined ? c.body(null, 204) : sendJson(c, { address })
  })
}

function setCookie(c: C, backend: OperatorBackend, name: string, value: string, maxAgeS: number): void {
  // Behind a proxy that speaks TLS the cookie never travels without it.
  const isSecure =
    c.req.header('x-forwarded-proto') === 'https' || backend.address()?.startsWith('https:') === true
  c.env.outgoing.appendHeader(
    'Set-Cookie',
    writeCookie(name, value, { sameSite: 'Strict', maxAgeS, isSecure }),
  )
}
