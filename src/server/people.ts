// People who sign in at the identity provider, as the server has them: the sign-in, and its part of the operator API.
import type { IncomingMessage } from 'node:http'
import type { Keys } from '../callers/keys.ts'
import type { OidcSettings } from '../callers/oidc/settings.ts'
import type { OidcSignIn } from '../callers/oidc/sign-in.ts'
import type { Runtime } from '../runtime.ts'
import type { OidcBackend } from '../wires/operator/index.ts'
import type { ConsoleCookies } from './console-cookie.ts'

/** Its parts are loaded only when a provider is configured. */
export async function openSignIn(runtime: Runtime, settings: OidcSettings, keys: Keys): Promise<OidcSignIn> {
  const { OidcSignIn: SignIn } = await import('../callers/oidc/sign-in.ts')
  const { vault, log } = runtime
  return new SignIn(settings, {
    fetch: runtime.fetchIssuer(),
    isTaken: name => keys.hasName(name),
    log,
    seal: text => vault.seal(text, 'oidc sign-in'),
    unseal: sealed => vault.open(sealed, 'oidc sign-in'),
    signInPage: () => `${runtime.address ?? ''}/sign-in`,
  })
}

export function oidcBackend(people: OidcSignIn, cookies: ConsoleCookies): OidcBackend {
  return {
    label: people.label,
    page: people.page,
    maxAgeS: people.maxAgeS,
    begin: () => people.begin(),
    finish: async (answer, cookie) => {
      const { principal, until } = await people.finish(answer, cookie)
      return cookies.signInPerson(principal, until)
    },
    endSession: async (request: Pick<IncomingMessage, 'headers'>) =>
      cookies.isPerson(request) ? people.endSession() : undefined,
  }
}
