// Signing in to the console at a real identity provider, over HTTP without a browser: what a person is then, and attacks on the
// sign-in. The browser's part is in test/browser/console-oidc.test.ts.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { newKey } from '../../src/callers/keys.ts'
import type { OidcSettings } from '../../src/callers/oidc/settings.ts'
import { OidcSignIn } from '../../src/callers/oidc/sign-in.ts'
import type { ServerConfig } from '../../src/config/config.ts'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { goThrough, identityProvider, type People } from './identity-provider.ts'

const home = 'http://console.example/sign-in'
const people: People = {
  ana: { roles: ['finance', 'admin'], email: 'ana@acme.example', email_verified: true },
  eve: { email: 'boss@acme.example', email_verified: false },
}

type Over = Partial<OidcSettings>

/** A sign-in alone, with a clock and a fetch that a test may bend. */
async function open(t: TestContext, over: Over = {}) {
  const provider = await identityProvider(t, people)
  provider.register([
    { id: 'console', secret: 'a:secret/of ours', pages: [home] },
    { id: 'public', pages: [home] },
    { id: 'other', secret: 'theirs', pages: [home] },
  ])
  const settings: OidcSettings = {
    ...{ label: 'Acme', issuer: provider.issuer, clientId: 'console', clientSecret: 'a:secret/of ours' },
    ...over,
  }
  const clock = { now: Date.now() }
  const bend: { answer?: (url: string, text: string) => string } = {}
  const sent: { url: string; body: string }[] = []
  const logged: string[] = []
  const fetchIt = async (url: string, init?: RequestInit): Promise<Response> => {
    sent.push({ url, body: init?.body instanceof URLSearchParams ? init.body.toString() : '' })
    const answer = await fetch(url, init)
    return new Response(bend.answer?.(url, await answer.clone().text()) ?? answer.body, answer)
  }
  const make = (given: OidcSettings): OidcSignIn =>
    new OidcSignIn(given, {
      fetch: fetchIt,
      isTaken: name => name === 'boss',
      now: () => clock.now,
      log: (_, message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`),
      seal: text => Buffer.from(text).toString('base64url'),
      unseal: sealed => Buffer.from(sealed, 'base64url').toString(),
      signInPage: () => home,
    })
  return { ...{ signIn: make(settings), make, settings, provider, clock, bend, sent, logged } }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Begins, and goes through the provider's pages. `answer`: what the browser comes back with. */
async function goAs(signIn: OidcSignIn, name: string) {
  const { address, cookie } = await signIn.begin()
  const back = await goThrough(address, name, home)
  const answer = Object.fromEntries(back.searchParams) as { state: string; code: string; iss: string }
  return { address: new URL(address), cookie, answer }
}

/** Lets someone sign in, and keeps the provider's answer to it. */
async function tokensOf(
  signIn: OidcSignIn,
  { answer, cookie }: Awaited<ReturnType<typeof goAs>>,
  bend: Opened['bend'],
): Promise<string> {
  let taken = ''
  bend.answer = (url, text) => {
    if (url.endsWith('/token')) taken = text
    return text
  }
  await signIn.finish(answer, cookie)
  return taken
}

const refused = (message: RegExp) => ({ code: 'unauthorized', message })

describe('a sign-in at an identity provider', () => {
  test('gives the owner, the name and the roles that its claims say, as with tokens', async t => {
    const { signIn, provider } = await open(t, { owner: 'email', operatorRole: 'admin', prefix: 'acme:' })
    const gone = await goAs(signIn, 'ana')
    assert.equal(gone.address.origin, provider.issuer)
    assert.equal(gone.address.searchParams.get('code_challenge_method'), 'S256')
    const { principal } = await signIn.finish(gone.answer, gone.cookie)
    assert.deepEqual(principal, {
      ...{ owner: 'acme:ana@acme.example', name: 'acme:ana', operator: true },
      roles: ['finance', 'admin'],
    })
  })

  test('works for a client without a secret, and a sign-in lasts as long as is configured', async t => {
    const { make, settings, clock } = await open(t)
    const { clientSecret: _, ...rest } = settings
    const signIn = make({ ...rest, clientId: 'public', sessionS: 60 })
    const { answer, cookie } = await goAs(signIn, 'ana')
    const { until } = await signIn.finish(answer, cookie)
    assert.equal(until, clock.now + 60_000)
  })

  const attacks: Record<string, { over?: Over; play: (at: Opened) => Promise<unknown>; because: RegExp }> = {
    'with a state that was made up': {
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        return signIn.finish({ ...answer, state: 'x'.repeat(43) }, cookie)
      },
      because: /not begun in this browser/,
    },
    'in the browser of someone else, who never began it': {
      play: async ({ signIn }) => {
        const { answer } = await goAs(signIn, 'ana')
        return signIn.finish(answer, undefined)
      },
      because: /not begun in this browser/,
    },
    'in a browser that has begun another one': {
      play: async ({ signIn }) => {
        const { answer } = await goAs(signIn, 'ana')
        return signIn.finish(answer, (await signIn.begin()).cookie)
      },
      because: /not begun in this browser/,
    },
    'with a code that was used before': {
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        await signIn.finish(answer, cookie)
        return signIn.finish(answer, cookie)
      },
      because: /Acme does not take this sign-in any more/,
    },
    'with the code of another sign-in': {
      play: async ({ signIn }) => {
        const [mine, theirs] = [await goAs(signIn, 'eve'), await goAs(signIn, 'ana')]
        return signIn.finish({ ...mine.answer, code: theirs.answer.code }, mine.cookie)
      },
      because: /Acme does not take this sign-in any more/,
    },
    'with the token of another sign-in: another nonce': {
      play: async ({ signIn, bend }) => {
        const [mine, theirs] = [await goAs(signIn, 'eve'), await goAs(signIn, 'ana')]
        const stolen = await tokensOf(signIn, theirs, bend)
        bend.answer = (url, text) => (url.endsWith('/token') ? stolen : text)
        return signIn.finish(mine.answer, mine.cookie)
      },
      because: /refused: it is for another sign-in/,
    },
    'with the token of another program: another audience': {
      play: async ({ signIn, make, settings, bend }) => {
        const other = make({ ...settings, clientId: 'other', clientSecret: 'theirs' })
        const theirs = await goAs(other, 'ana')
        const stolen = await tokensOf(other, theirs, bend)
        delete bend.answer
        const mine = await goAs(signIn, 'eve')
        bend.answer = (url, text) => (url.endsWith('/token') ? stolen : text)
        return signIn.finish(mine.answer, mine.cookie)
      },
      because: /refused: it is for another audience/,
    },
    'with a token that has expired': {
      play: async ({ signIn, clock, bend }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        bend.answer = (url, text) => {
          // The time passes between the provider's answer and its check.
          if (url.endsWith('/token')) clock.now += 2 * 3_600_000
          return text
        }
        return signIn.finish(answer, cookie)
      },
      because: /refused: it has expired/,
    },
    'with a token whose claims were changed': {
      play: async ({ signIn, bend }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        bend.answer = (url, text) =>
          url.endsWith('/token')
            ? text.replace(/("id_token":"[^.]+\.)([^.]+)/, (_, head: string, body: string) => {
                const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
                return `${head}${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}`
              })
            : text
        return signIn.finish(answer, cookie)
      },
      because: /refused: its signature is wrong/,
    },
    'with an answer of another provider (mix-up)': {
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        return signIn.finish({ ...answer, iss: 'https://evil.example' }, cookie)
      },
      because: /not from Acme/,
    },
    'with an answer that names no provider, though this one always does': {
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        return signIn.finish({ state: answer.state, code: answer.code }, cookie)
      },
      because: /not from Acme/,
    },
    'that took too long': {
      play: async ({ signIn, clock }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        clock.now += 601_000
        return signIn.finish(answer, cookie)
      },
      because: /took too long/,
    },
    'with claims of another person from the second address': {
      over: { owner: 'email' },
      play: async ({ signIn, bend }) => {
        const { answer, cookie } = await goAs(signIn, 'eve')
        bend.answer = (url, text) => (url.endsWith('/me') ? text.replace('"eve"', '"ana"') : text)
        return signIn.finish(answer, cookie)
      },
      because: /cannot be reached now, or is not set up/,
    },
    'with an e-mail address that is not verified, where that is the owner': {
      over: { owner: 'email' },
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'eve')
        return signIn.finish(answer, cookie)
      },
      because: /e-mail address is not verified/,
    },
    'under the name of a key': {
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'boss')
        return signIn.finish(answer, cookie)
      },
      because: /name that is taken/,
    },
    'that the person cancelled': {
      play: async ({ signIn, settings }) => {
        const { address, cookie } = await signIn.begin()
        const state = new URL(address).searchParams.get('state') ?? ''
        return signIn.finish({ state, iss: settings.issuer, error: 'access_denied' }, cookie)
      },
      because: /Acme did not let you in, or the sign-in was cancelled/,
    },
    'with the wrong secret of this server': {
      over: { clientSecret: 'wrong' },
      play: async ({ signIn }) => {
        const { answer, cookie } = await goAs(signIn, 'ana')
        return signIn.finish(answer, cookie)
      },
      because: /Acme refused this server/,
    },
    'at a provider that calls itself otherwise': {
      play: async ({ signIn, bend }) => {
        bend.answer = (url, text) =>
          url.includes('.well-known')
            ? text.replace(/"issuer":"[^"]+"/, '"issuer":"https://evil.example"')
            : text
        return signIn.begin()
      },
      because: /not set up as it should be/,
    },
  }
  for (const [what, { over, play, because }] of Object.entries(attacks))
    test(`${what} is refused`, async t => {
      const at = await open(t, over)
      await assert.rejects(play(at), refused(because))
    })

  test('never asks the provider for a code that nobody asked for', async t => {
    const { signIn, sent } = await open(t)
    const { answer } = await goAs(signIn, 'ana')
    const before = sent.length
    await assert.rejects(signIn.finish(answer, 'made up'), refused(/not begun/))
    assert.equal(sent.length, before)
  })

  test('finds the keys of a provider that has changed them', async t => {
    const { signIn, provider, clock, bend } = await open(t)
    const first = await goAs(signIn, 'ana')
    // Another key is published than the one that signs.
    bend.answer = (url, text) =>
      url.endsWith('/jwks') ? text.replaceAll(/"kid":"[^"]+"/g, '"kid":"old"') : text
    await assert.rejects(signIn.finish(first.answer, first.cookie), refused(/its key is not known/))
    delete bend.answer
    clock.now += 11_000
    const { answer, cookie } = await goAs(signIn, 'ana')
    assert.equal((await signIn.finish(answer, cookie)).principal.name, 'ana')
    await provider.stop()
    clock.now += 3_600_001
    await assert.rejects(signIn.begin(), refused(/Acme cannot be reached now/))
  })
})

const cookieOf = (answer: Response, name: string): string =>
  answer.headers
    .getSetCookie()
    .findLast(line => line.startsWith(`${name}=`))
    ?.split(';')[0] ?? ''

/** A whole server with a provider beside it, on a folder that outlives it. */
async function serverWith(t: TestContext, more: Partial<ServerConfig> = {}) {
  const provider = await identityProvider(t, people)
  provider.register([{ id: 'console', secret: 's', pages: [home] }])
  const data = mkdtempSync(join(tmpdir(), 'turnwire-oidc-'))
  t.after(() => rmSync(data, { recursive: true }))
  const { key, entry } = newKey('boss', true)
  const oidc = { label: 'Acme', issuer: provider.issuer, clientId: 'console', clientSecret: 's' }
  const start = async (over: Over | 'none' = {}) => {
    const turnwire = await Turnwire.open({
      data,
      agents: [{ name: 'helper', model: scripted({ steps: [{ text: 'Hello.' }], whenOver: 'repeat-last' }) }],
      egress: { privateHosts: [provider.host] },
      server: {
        ...{ keys: [entry], graceMs: 100, publicUrl: 'http://console.example', ...more },
        ...(over !== 'none' && { oidc: { ...oidc, ...over } }),
      },
    })
    const server = await startServer(turnwire, { port: 0 })
    t.after(() => server.stop())
    return server
  }
  return { provider, start, key }
}

function post(url: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** Signs in as the page does. */
async function enter(url: string, name: string) {
  const begun = await post(`${url}/operator/sign-in/oidc/start`)
  const { address } = (await begun.json()) as { address: string }
  const back = await goThrough(address, name, home)
  const answer = Object.fromEntries(back.searchParams)
  const done = await post(`${url}/operator/sign-in/oidc`, answer, {
    cookie: cookieOf(begun, 'turnwire_oidc'),
  })
  assert.equal(done.status, 200, await done.clone().text())
  const { secret } = (await done.json()) as { secret: string }
  const headers = { cookie: cookieOf(done, 'turnwire_console'), 'x-turnwire-console': secret }
  const get = async (path: string): Promise<Response> => fetch(`${url}${path}`, { headers })
  return { begun, done, headers, get, secret }
}

describe('a server with an identity provider', () => {
  test('lets nobody in who has not signed in, and tells the page how one does', async t => {
    const server = await (await serverWith(t)).start()
    const options = await fetch(`${server.url}/operator/sign-in`)
    assert.deepEqual(await options.json(), { oidc: { label: 'Acme', page: home } })
    for (const path of ['/operator/me', '/operator/sessions', '/sessions'])
      assert.equal((await fetch(`${server.url}${path}`)).status, 401)
  })

  test('gives a cookie of the kind that keys have: with its secret alone, and for one owner', async t => {
    const server = await (await serverWith(t, { publicUrl: 'http://console.example' })).start()
    const ana = await enter(server.url, 'ana')
    for (const answer of [ana.begun, ana.done])
      for (const line of answer.headers.getSetCookie())
        assert.match(line, /; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
    assert.match(ana.done.headers.getSetCookie()[0] ?? '', /^turnwire_oidc=; .*Max-Age=0/)
    const me = (await (await ana.get('/operator/me')).json()) as object
    assert.deepEqual(
      { ...me, version: '', features: [] },
      {
        ...{ name: 'ana', owner: 'ana', operator: false, open: false, version: '', features: [] },
        roles: ['finance', 'admin'],
      },
    )
    const { cookie } = ana.headers
    for (const headers of [
      { cookie },
      { ...ana.headers, 'x-turnwire-console': 'x' },
      { 'x-turnwire-console': ana.secret },
    ])
      assert.equal((await fetch(`${server.url}/operator/me`, { headers })).status, 401)
    const made = await post(`${server.url}/operator/sessions`, { agent: 'helper' }, ana.headers)
    const { id } = (await made.json()) as { id: string }
    const eve = await enter(server.url, 'eve')
    assert.equal((await eve.get(`/operator/sessions/${id}`)).status, 404)
    assert.equal((await ana.get(`/operator/sessions/${id}`)).status, 200)
    assert.equal((await ana.get('/operator/system')).status, 403)
  })

  test('marks its cookies as secure where it is reached over TLS', async t => {
    const { start } = await serverWith(t, { publicUrl: 'https://console.example' })
    const server = await start()
    const begun = await post(`${server.url}/operator/sign-in/oidc/start`)
    assert.match(begun.headers.getSetCookie()[0] ?? '', /SameSite=Strict; Max-Age=600; Secure$/)
  })

  test('keeps sign-ins over a restart, but not under other settings, or without the provider', async t => {
    const { start } = await serverWith(t)
    const first = await start()
    const ana = await enter(first.url, 'ana')
    await first.stop()
    const statusAt = async (over: Over | 'none'): Promise<number> => {
      const server = await start(over)
      const { status } = await fetch(`${server.url}/operator/me`, { headers: ana.headers })
      await server.stop()
      return status
    }
    assert.equal(await statusAt({}), 200)
    assert.equal(await statusAt({ operatorRole: 'admin' }), 401)
    assert.equal(await statusAt('none'), 401)
  })

  test('ends the sign-in of a person whose name a new key takes', async t => {
    const { start, key } = await serverWith(t)
    const server = await start()
    const ana = await enter(server.url, 'ana')
    const bearer = { authorization: `Bearer ${key}` }
    assert.equal((await post(`${server.url}/operator/keys`, { name: 'ana' }, bearer)).status, 201)
    assert.equal((await ana.get('/operator/me')).status, 401)
  })

  test('signs out, and names the provider’s own sign-out where that is wanted', async t => {
    const { start } = await serverWith(t)
    const plain = await start()
    const ana = await enter(plain.url, 'ana')
    const out = await post(`${plain.url}/operator/sign-out`, undefined, ana.headers)
    assert.equal(out.status, 204)
    assert.match(out.headers.getSetCookie()[0] ?? '', /^turnwire_console=; .*Max-Age=0$/)
    await plain.stop()
    const both = await start({ endSession: true })
    const again = await enter(both.url, 'ana')
    const answer = await post(`${both.url}/operator/sign-out`, undefined, again.headers)
    const address = new URL(((await answer.json()) as { address: string }).address)
    assert.equal(address.pathname, '/session/end')
    assert.equal(address.searchParams.get('post_logout_redirect_uri'), home)
  })

  test('refuses a page of another origin, and a body that is none', async t => {
    const server = await (await serverWith(t)).start()
    const start = `${server.url}/operator/sign-in/oidc/start`
    assert.equal((await post(start, undefined, { origin: 'https://evil.example' })).status, 403)
    for (const body of [
      {},
      { state: 1 },
      { state: 'x', code: [] },
      { state: 'x', to: 'https://evil.example' },
    ])
      assert.equal((await post(`${server.url}/operator/sign-in/oidc`, body)).status, 400)
    const unknown = await post(`${server.url}/operator/sign-in/oidc`, { state: 'x', code: 'y' })
    assert.equal(unknown.status, 401)
    assert.match(await unknown.text(), /not begun in this browser/)
  })

  test('without a provider there is nothing to sign in at', async t => {
    const server = await (await serverWith(t)).start('none')
    assert.deepEqual(await (await fetch(`${server.url}/operator/sign-in`)).json(), {})
    assert.equal((await post(`${server.url}/operator/sign-in/oidc/start`)).status, 401)
  })
})

describe('the settings of an identity provider', () => {
  const good = { label: 'Acme', issuer: 'https://id.example', clientId: 'console' }
  const config = (server: object) =>
    Turnwire.open({ data: 'memory', agents: [{ name: 'a', model: scripted({ steps: [] }) }], server })

  const wrong: Record<string, { server: object; words: RegExp }> = {
    'no issuer': { server: { oidc: { label: 'Acme', clientId: 'x' } }, words: /server\.oidc\.issuer/ },
    'no TLS': { server: { oidc: { ...good, issuer: 'http://id.example' } }, words: /https:\/\// },
    'a secret that is not set': {
      server: { oidc: { ...good, clientSecret: undefined } },
      words: /clientSecret: is undefined\. Set the variable/,
    },
    'scopes without openid': {
      server: { oidc: { ...good, scopes: ['email'] } },
      words: /must have "openid"/,
    },
    'an issuer of tokens whose owners would meet its own': {
      server: {
        oidc: good,
        jwt: { issuer: 'https://other.example', audience: 'x', jwksUrl: 'https://other.example/k' },
      },
      words: /server\.oidc\.prefix: must differ/,
    },
    'the same issuer with another prefix': {
      server: {
        oidc: { ...good, prefix: 'a:' },
        jwt: { issuer: good.issuer, audience: 'x', jwksUrl: 'https://id.example/k' },
      },
      words: /must be that of the same issuer/,
    },
  }
  for (const [what, { server, words }] of Object.entries(wrong))
    test(`${what} is refused with what to do`, async () => {
      await assert.rejects(config(server), { code: 'config_invalid', message: words })
    })

  test('a server that others reach needs its public address for the way back', async t => {
    const turnwire = await config({ oidc: good, host: '0.0.0.0' })
    t.after(() => turnwire.close())
    await assert.rejects(startServer(turnwire, { port: 0 }), {
      message: /server\.oidc needs server\.publicUrl/,
    })
  })
})
