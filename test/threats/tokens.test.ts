// Attacks on bearer tokens: forged, for someone else, out of time, signed with keys that are no longer good. The issuer stands on
// loopback, and its clock and that of the server are the test's.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, type TestContext, test } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { TokenIssuer } from '../../src/callers/tokens/settings.ts'
import { Tokens } from '../../src/callers/tokens/tokens.ts'
import { Turnwire } from '../../src/index.ts'
import { Egress } from '../../src/lib/net/egress.ts'

type Pair = { kid: string; alg: string; secret: CryptoKey; jwk: JWK; pem: string }

const issuer = 'https://id.example/'
const start = Date.UTC(2026, 0, 1)

async function makePair(kid: string, alg = 'RS256'): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
  return { kid, alg, secret: privateKey, jwk, pem: await exportSPKI(publicKey) }
}

function sign({ kid, alg, secret }: Pair, claims: Record<string, unknown> = {}): Promise<string> {
  const now = start / 1000
  const all = { iss: issuer, aud: 'turnwire', sub: 'ana', iat: now, exp: now + 600, ...claims }
  return new SignJWT(all).setProtectedHeader({ alg, kid }).sign(secret)
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

let one: Pair
let two: Pair
before(async () => {
  ;[one, two] = await Promise.all([makePair('one'), makePair('two', 'ES256')])
})

type Meanwhile = (signal: AbortSignal | null | undefined) => Promise<Response> | undefined

/** `published`: what the address of the keys gives now. `meanwhile`: what happens in place of a fetch. */
async function open(t: TestContext, over: Partial<TokenIssuer> = {}, meanwhile?: Meanwhile) {
  const published = { keys: [one.jwk], status: 200, asked: 0 }
  const server = createServer((_, answer) => {
    published.asked += 1
    answer.writeHead(published.status).end(JSON.stringify({ keys: published.keys }))
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // It listens on TCP.
  const egress = new Egress({ privateHosts: [host] })
  t.after(() => egress.close())
  const clock = { now: start }
  const settings = { issuer, audience: 'turnwire', jwksUrl: `http://${host}/keys`, ...over }
  const tokens = new Tokens(settings, {
    fetch: async (url, init) => (await meanwhile?.(init?.signal)) ?? egress.fetch(url, init),
    isTaken: name => name === 'boss',
    now: () => clock.now,
    log() {},
  })
  return { tokens, published, clock, host }
}

describe('a token', () => {
  test('that is in order gives its owner, name and roles', async t => {
    const { tokens } = await open(t, { roles: ['realm', 'roles'], owner: 'org', operatorRole: 'admin' })
    const token = await sign(one, { org: 'acme', realm: { roles: ['finance', 'admin'] } })
    const admitted = await tokens.admit(token)
    assert.deepEqual(admitted?.principal, {
      ...{ owner: 'acme', name: 'ana', operator: true },
      roles: ['finance', 'admin'],
    })
  })

  test('holds until it expires, within the clock skew, also on a connection that is open', async t => {
    const { tokens, clock } = await open(t, { clockSkewS: 10 })
    const admitted = await tokens.admit(await sign(one))
    clock.now = start + 609_000
    assert.equal(admitted?.holds(), true)
    clock.now = start + 611_000
    assert.equal(admitted?.holds(), false)
  })

  const refused: Record<string, { token: () => Promise<string>; because: RegExp }> = {
    'that is not signed': {
      token: async () => `${encoded({ alg: 'none' })}.${(await sign(one)).split('.')[1]}.`,
      because: /algorithm is not allowed/,
    },
    'that is signed with the public key as a shared secret': {
      token: async () => {
        const claims = { iss: issuer, aud: 'turnwire', sub: 'ana', exp: start / 1000 + 60 }
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(new TextEncoder().encode(one.pem))
      },
      because: /algorithm is not allowed/,
    },
    'whose claims were changed': {
      token: async () => {
        const [header, , signature] = (await sign(one)).split('.')
        const claims = { iss: issuer, aud: 'turnwire', sub: 'ben', exp: start / 1000 + 60 }
        return `${header}.${encoded(claims)}.${signature}`
      },
      because: /signature is wrong/,
    },
    'that another key signed under the name of a known one': {
      token: async () => sign({ ...(await makePair('one')), kid: 'one' }),
      because: /signature is wrong/,
    },
    'whose key is not known': { token: () => sign({ ...two, kid: 'three' }), because: /key is not known/ },
    'for another audience': { token: () => sign(one, { aud: 'other' }), because: /another audience/ },
    'without an audience': { token: () => sign(one, { aud: undefined }), because: /another audience/ },
    'that has expired': { token: () => sign(one, { exp: start / 1000 - 31 }), because: /expired/ },
    'that never expires': { token: () => sign(one, { exp: undefined }), because: /claim "exp"/ },
    'whose time has not come': { token: () => sign(one, { nbf: start / 1000 + 31 }), because: /not come/ },
    'without an owner': { token: () => sign(one, { sub: undefined }), because: /claim "sub"/ },
    'with the name of a key': { token: () => sign(one, { sub: 'boss' }), because: /taken/ },
    'with the name of this machine’s own sessions': {
      token: () => sign(one, { sub: 'local' }),
      because: /taken/,
    },
    'with the name of a wallet': { token: () => sign(one, { sub: 'wallet:0x1' }), because: /taken/ },
    'with an owner that is no text': {
      token: () => sign(one, { sub: ['ana'] }),
      because: /claim "sub"/,
    },
  }
  for (const [what, { token, because }] of Object.entries(refused))
    test(`${what} is refused`, async t => {
      const { tokens } = await open(t)
      await assert.rejects(tokens.admit(await token()), { code: 'unauthorized', message: because })
    })

  test('of another issuer is none of ours, and text that is no token neither', async t => {
    const { tokens } = await open(t)
    assert.equal(await tokens.admit(await sign(one, { iss: 'https://evil.example/' })), undefined)
    for (const text of ['tw_abc', 'a.b.c', '..', `${encoded({})}.${encoded({})}.`])
      assert.equal(await tokens.admit(text), undefined)
  })
})

describe('keys of an issuer', () => {
  test('that are new are fetched when a token names them, but not for each stranger', async t => {
    const { tokens, published, clock } = await open(t)
    await tokens.admit(await sign(one))
    published.keys = [one.jwk, two.jwk]
    await assert.rejects(tokens.admit(await sign(two)), { message: /key is not known/ })
    assert.equal(published.asked, 1)
    clock.now += 11_000
    assert.equal((await tokens.admit(await sign(two)))?.principal.name, 'ana')
    for (let attempt = 0; attempt < 20; attempt += 1)
      await assert.rejects(tokens.admit(await sign({ ...two, kid: `x${attempt}` })))
    assert.equal(published.asked, 2)
  })

  test('that were taken back count no more', async t => {
    const { tokens, published, clock } = await open(t, { keysMaxAgeS: 60 })
    await tokens.admit(await sign(one))
    published.keys = [two.jwk]
    clock.now += 61_000
    await assert.rejects(tokens.admit(await sign(one)), { message: /key is not known/ })
    await tokens.admit(await sign(two))
  })

  test('are fetched once for many tokens, and used for a while when their address is down', async t => {
    const { tokens, published, clock } = await open(t, { keysMaxAgeS: 60 })
    const token = await sign(one)
    await Promise.all(Array.from({ length: 20 }, () => tokens.admit(token)))
    assert.equal(published.asked, 1)
    published.status = 500
    clock.now += 61_000
    assert.ok(await tokens.admit(token))
    assert.equal(published.asked, 2)
    // The address is not asked again for each request while it is down.
    for (let request = 0; request < 5; request += 1) assert.ok(await tokens.admit(token))
    await assert.rejects(tokens.admit(await sign(two)), { message: /key is not known/ })
    assert.equal(published.asked, 2)
    published.status = 200
    published.keys = [two.jwk]
    clock.now += 11_000
    await assert.rejects(tokens.admit(token), { message: /key is not known/ })
  })

  const limited = { timeout: 20_000 }
  test(
    'are used again after a moment when their address takes a request and never answers',
    limited,
    async t => {
      const { tokens, clock } = await open(t, { keysMaxAgeS: 60 }, signal => {
        if (clock.now === start) return undefined
        t.mock.timers.tick(5_000)
        return new Promise((_, fail) => {
          if (signal?.aborted) fail(signal.reason as Error)
        })
      })
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const token = await sign(one)
      await tokens.admit(token)
      clock.now += 61_000
      assert.ok(await tokens.admit(token))
    },
  )

  test('without names are tried one after another, so that an issuer can change them', async t => {
    const { tokens, published } = await open(t)
    const next = await makePair('next')
    const nameless = (pair: Pair) => {
      const { kid: _, ...jwk } = pair.jwk
      return jwk
    }
    published.keys = [nameless(one), nameless(next)]
    const unnamed = (pair: Pair): Promise<string> => {
      const now = start / 1000
      return new SignJWT({ iss: issuer, aud: 'turnwire', sub: 'ana', exp: now + 600 })
        .setProtectedHeader({ alg: pair.alg })
        .sign(pair.secret)
    }
    for (const pair of [one, next])
      assert.equal((await tokens.admit(await unnamed(pair)))?.principal.name, 'ana')
    await assert.rejects(tokens.admit(await unnamed(await makePair('other'))), {
      message: /signature is wrong/,
    })
  })

  test('with a shared secret in the list are no keys', async t => {
    const { tokens, published } = await open(t, { algorithms: ['RS256'] })
    published.keys = [{ kty: 'oct', kid: 'one', k: 'c2VjcmV0', alg: 'HS256' }]
    await assert.rejects(tokens.admit(await sign(one)), { message: /key is not known/ })
  })

  test('are not fetched where the egress rule forbids it', async t => {
    const { host } = await open(t)
    const egress = new Egress()
    t.after(() => egress.close())
    const said: string[] = []
    const tokens = new Tokens(
      { issuer, audience: 'turnwire', jwksUrl: `http://${host}/keys` },
      {
        fetch: (url, init) => egress.fetch(url, init),
        isTaken: () => false,
        now: () => start,
        log: (_, message, { error = '' }) => void said.push(`${message} ${error}`),
      },
    )
    await assert.rejects(tokens.admit(await sign(one)), {
      code: 'unauthorized',
      message: /cannot be checked/,
    })
    assert.match(said.join(), /egress\.privateHosts/)
  })
})

test('settings that would weaken the check are refused', async () => {
  const jwksUrl = 'https://id.example/keys'
  const wrong: [unknown, RegExp][] = [
    [{ issuer, audience: 'a' }, /jwksUrl/],
    [{ issuer, jwksUrl }, /aud/],
    [{ issuer, audience: 'a', jwksUrl: 'http://id.example/keys' }, /https/],
    [{ issuer, audience: 'a', jwksUrl, algorithms: ['HS256'] }, /shared secret/],
    [{ issuer, audience: 'a', jwksUrl, algorithms: ['none'] }, /RS256/],
    [{ issuer, audience: 'a', keys: [{ kty: 'oct', k: 'x' }] }, /public keys/],
    [
      [
        { issuer, audience: 'a', jwksUrl },
        { issuer: 'b', audience: 'a', jwksUrl },
      ],
      /prefix/,
    ],
    [{ issuer, audience: 'a', jwksUrl, onwer: 'sub' }, /Did you mean "owner"/],
  ]
  for (const [jwt, because] of wrong) {
    const config = { agents: [], data: 'memory', server: { jwt } } as unknown as Parameters<
      typeof Turnwire.open
    >[0] // As a file may have it.
    await assert.rejects(Turnwire.open(config), { code: 'config_invalid', message: because })
  }
})
