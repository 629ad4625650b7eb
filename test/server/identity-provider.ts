// A real identity provider (the package oidc-provider) on loopback, and a person who goes through its pages without a browser.
// Anyone may sign in by writing a name; the roles of a person are given by the test.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type Configuration, Provider } from 'oidc-provider'

export type People = Record<string, Record<string, unknown>>
type Client = { id: string; secret?: string; pages: string[]; out?: string[] }
export type IdentityProvider = {
  issuer: string
  host: string
  /** It answers from here on. Its address is known before, for those whose own address its clients name. */
  register(clients: Client[]): void
  stop(): Promise<void>
}

/** `people`: further claims by the name that they sign in with. */
export async function identityProvider(
  t: Pick<TestContext, 'after'>,
  people: People = {},
): Promise<IdentityProvider> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // It listens on TCP.
  const issuer = `http://${host}`
  const register = (clients: Client[]): void => {
    const provider = new Provider(issuer, settingsFor(clients, people))
    const answer = provider.callback()
    server.on('request', (incoming, outgoing) => void answer(incoming, outgoing))
  }
  const stop = (): Promise<void> => closeServer(server)
  t.after(stop)
  return { issuer, host, register, stop }
}

function settingsFor(clients: Client[], people: People): Configuration {
  return {
    clients: clients.map(({ id, secret, pages, out = [] }) => ({
      client_id: id,
      ...(secret !== undefined && { client_secret: secret }),
      token_endpoint_auth_method: secret === undefined ? 'none' : 'client_secret_basic',
      redirect_uris: pages,
      post_logout_redirect_uris: out,
    })),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'roles'] },
    pkce: { required: () => true },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['of a test'] },
  }
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => void server.close(() => resolve()))
}

/** Goes through the provider's pages as this person. Gives the address to which the provider sends them in the end. */
export async function goThrough(address: string, name: string, home: string): Promise<URL> {
  const jar = new Map<string, string>()
  let [url, form] = [new URL(address), undefined as URLSearchParams | undefined]
  for (let pages = 0; pages < 20; pages += 1) {
    if (url.href.startsWith(home)) return url
    const answer: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([key, value]) => `${key}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(key, value)
    }
    const page = await answer.text()
    const location = answer.headers.get('location')
    if (location !== null) [url, form] = [new URL(location, url), undefined]
    else {
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
      const action = /action="([^"]+)"/.exec(page)?.[1]
      if (prompt === undefined || action === undefined)
        throw new Error(`The provider shows: ${page.slice(0, 500)}`)
      url = new URL(action.replaceAll('&amp;', '&'), url)
      form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login: name, password: 'x' }) })
    }
  }
  throw new Error('The provider goes round in circles.')
}
