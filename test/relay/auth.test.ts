// Signing in with a wallet: challenges, signatures, tokens, and the page for browsers.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import test from 'node:test'
import { runInNewContext } from 'node:vm'
import { relayTokens } from '../../src/relay/server/jwt.ts'
import { cites } from '../requirements/manifest.ts'
import { ask, newWallet, RawMachine, relay, tokenOf } from './rig.ts'

type Challenge = { nonce: string; message: string }

async function challenge(url: string, address: string): Promise<Challenge> {
  return (await (await fetch(`${url}/auth/challenge?address=${address}`)).json()) as Challenge
}

async function verify(url: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/auth/verify`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

const lifeOf = (tokenMs: number) => ({ tokenMs, signInMs: 7_200_000 })

const part = (jwt: string, at: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[at]!, 'base64url').toString()) as Record<string, unknown>

test(cites('SIX-AUTH-01', 'SIX-AUTH-03', 'a wallet that signs the challenge gets a token'), async t => {
  const { url } = await relay(t, { tokenHours: 2 })
  const { address, sign: signed } = await newWallet()
  const { nonce, message } = await challenge(url, address)
  assert.ok(message.includes(address) && message.includes(nonce) && message.includes(url))
  const { status, body } = await verify(url, { address, nonce, signature: await signed(message) })
  assert.equal(status, 200)
  const { jwt, ...rest } = body
  assert.deepEqual(rest, { walletAddress: address, identitySource: 'local', agentId: address })
  assert.deepEqual(part(String(jwt), 0), { alg: 'ES256', typ: 'JWT' })
  const { sub, agentId, iat, exp, aud } = part(String(jwt), 1)
  assert.deepEqual([sub, agentId, Number(exp) - Number(iat), aud], [address, address, 7200, 'turnwire-relay'])
})

test(cites('SIX-AUTH-02', 'what does not prove the wallet is refused, and a nonce is good once'), async t => {
  const { url } = await relay(t)
  const [own, other] = [await newWallet(), await newWallet()]
  const { nonce, message } = await challenge(url, own.address)
  const signature = await own.sign(message)
  const refused = async (body: object, status: number, words: RegExp): Promise<void> => {
    const answer = await verify(url, body)
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    assert.match(String((answer.body['error'] as { message: string }).message), words)
  }
  const { address } = own
  await refused(
    { address, nonce, signature: await other.sign(message) },
    401,
    /signature is not that of this wallet/,
  )
  await refused({ address, nonce, signature: await own.sign(`${message} `) }, 401, /signature/)
  await refused({ address, nonce, signature: '0x12' }, 401, /signature/)
  await refused({ address: other.address, nonce, signature }, 401, /nonce is not one of this server/)
  await refused({ address, nonce: `${nonce}x`, signature }, 401, /nonce/)
  await refused({ address, nonce: 'zzz.é.ü', signature }, 401, /nonce/)
  await refused({ address, nonce, signature, agentId: 'erc8004:12' }, 403, /no ERC-8004 identities/)
  await refused({ address, nonce }, 400, /Send/)
  await refused({ address: '0x12', nonce, signature }, 400, /Send/)
  const twice = await Promise.all([1, 2, 3, 4].map(() => verify(url, { address, nonce, signature })))
  assert.deepEqual(
    twice.map(({ status }) => status).sort((a, b) => a - b),
    [200, 401, 401, 401],
  )
  await refused({ address, nonce, signature }, 401, /used before/)
  assert.equal((await fetch(`${url}/auth/challenge?address=me`)).status, 400)
  assert.equal((await fetch(`${url}/auth/challenge`)).status, 400)
})

test(cites('SIX-AUTH-02', 'a challenge expires'), async () => {
  const { Challenges } = await import('../../src/relay/server/challenge.ts')
  let now = 1_000_000
  const mac = (text: string): string => createHmac('sha256', 'k').update(text).digest('base64url')
  const challenges = new Challenges(
    mac,
    () => 'here',
    () => now,
  )
  const { address, sign: signed } = await newWallet()
  const made = challenges.make(address)
  const signature = await signed(made.message)
  now += 5 * 60_000
  assert.equal(await challenges.check(address, made.nonce, signature), 'unknown')
  now -= 1
  assert.equal(await challenges.check(address, made.nonce, signature), 'ok')
  assert.equal(await challenges.check(address, made.nonce, signature), 'used')
})

test(cites('SIX-AUTH-06', 'only the wallets of the setting may sign in'), async t => {
  const [own, other] = [await newWallet(), await newWallet()]
  const { url } = await relay(t, { owners: [own.address.toUpperCase().replace('0X', '0x')] })
  assert.ok(await tokenOf(url, own))
  await assert.rejects(tokenOf(url, other), /may not use this relay/)
})

test(
  cites('SIX-AUTH-03', 'a token that is forged, changed, expired or of another server passes nowhere'),
  async t => {
    const { url } = await relay(t)
    const { url: elsewhere } = await relay(t)
    const wallet = await newWallet()
    const jwt = await tokenOf(url, wallet)
    const [head, body, signature] = jwt.split('.') as [string, string, string]
    const packed = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = part(jwt, 1)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const own = sign('sha256', Buffer.from(`${head}.${body}`), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const none = packed({ alg: 'none', typ: 'JWT' })
    const hs = packed({ alg: 'HS256', typ: 'JWT' })
    const forged = {
      'signed by someone else': `${head}.${body}.${own.toString('base64url')}`,
      'not signed': `${none}.${body}.`,
      'not signed, with a signature': `${none}.${body}.${signature}`,
      'another algorithm': `${hs}.${body}.${createHmac('sha256', 'guess').update(`${hs}.${body}`).digest('base64url')}`,
      'another wallet': `${head}.${packed({ ...claims, sub: `0x${'2'.repeat(40)}` })}.${signature}`,
      'a later end': `${head}.${packed({ ...claims, exp: 9_999_999_999 })}.${signature}`,
      'of another server': await tokenOf(elsewhere, wallet),
      'cut off': `${head}.${body}`,
      'with more behind': `${jwt}.x`,
      empty: '',
    }
    for (const [what, token] of Object.entries(forged)) {
      const raw = await RawMachine.connect(t, url)
      raw.send({ type: 'auth', jwt: token, protocol: 2 })
      assert.match((await raw.frame('auth_error')).message, /not one of this server, or has expired/, what)
      assert.equal(await raw.closed, 1008)
      assert.equal(
        (await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${token}` } })).status,
        404,
        what,
      )
    }
  },
)

test(
  cites(
    'SIX-AUTH-03',
    'a token ends with its time, and keys of one installation are the same after a restart',
  ),
  () => {
    const secret = randomBytes(32)
    const wallet = `0x${'a'.repeat(40)}` as const
    const tokens = relayTokens(secret, lifeOf(3_600_000))
    const { jwt, claims } = tokens.issue(wallet, 1_000_000)
    assert.deepEqual(relayTokens(secret, lifeOf(1)).read(jwt, 1_000_001), claims)
    assert.equal(tokens.read(jwt, claims.expiresAt - 1)?.wallet, wallet)
    assert.equal(tokens.read(jwt, claims.expiresAt), undefined)
    assert.equal(relayTokens(randomBytes(32), lifeOf(1)).read(jwt, 1_000_001), undefined)
    // A secret that is no key of the curve makes another one.
    assert.ok(relayTokens(Buffer.alloc(32, 0xff), lifeOf(1)).issue(wallet, 0).jwt)
  },
)

test(
  cites('SIX-AUTH-04', 'SIX-AUTH-05', 'the page gives a token to programs on the person’s own machine only'),
  async t => {
    const { url } = await relay(t)
    const page = (callback: string): Promise<Response> =>
      fetch(`${url}/auth?callback=${encodeURIComponent(callback)}`)
    for (const callback of [
      'https://evil.example/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://evil.example@127.0.0.1/',
      'javascript:alert(1)',
      'http://user:pass@127.0.0.1:1/',
      '',
    ])
      assert.equal((await page(callback)).status, 400, callback)
    const good = await page('http://127.0.0.1:9/callback?x=</script><script>alert(1)</script>')
    const html = await good.text()
    assert.equal(good.status, 200)
    assert.equal(html.match(/<script/g)?.length, 1)
    const policy = good.headers.get('content-security-policy') ?? ''
    const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy) ?? []
    assert.ok(nonce && html.includes(`<script nonce="${nonce}">`))
    assert.match(policy, /frame-ancestors 'none'/)
  },
)

test(cites('SIX-AUTH-04', 'the script of the page signs in with the browser’s wallet'), async t => {
  const { url } = await relay(t)
  const wallet = await newWallet()
  const html = await (
    await fetch(`${url}/auth?callback=${encodeURIComponent('http://localhost:9/cb?state=1')}`)
  ).text()
  const [, script = ''] = /<script[^>]*>([\s\S]*)<\/script>/.exec(html) ?? []
  const state = { textContent: '' }
  let click = (): Promise<void> => Promise.resolve()
  const document = {
    getElementById: (id: string) =>
      id === 'state' ? state : { addEventListener: (_: string, run: () => Promise<void>) => (click = run) },
  }
  const ethereum = {
    request: ({ method, params = [] }: { method: string; params?: string[] }) =>
      method === 'personal_sign' ? wallet.sign(params[0]!) : Promise.resolve([wallet.address]),
  }
  const location = { href: '' }
  const relative = (path: string, init?: RequestInit): Promise<Response> => fetch(new URL(path, url), init)
  const globals = {
    document,
    window: { ethereum },
    location,
    fetch: relative,
    URL,
    Error,
    JSON,
    encodeURIComponent,
  }
  runInNewContext(script, globals)
  await click()
  const target = new URL(location.href)
  assert.equal(
    `${target.origin}${target.pathname}?state=${target.searchParams.get('state')}`,
    'http://localhost:9/cb?state=1',
  )
  const jwt = target.searchParams.get('jwt') ?? ''
  assert.equal((await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${jwt}` } })).status, 200)
  assert.match(state.textContent, /Signed in/)
})

test('without viem the relay says what to install', () => {
  const program = `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve(name, context, next) {
        if (/^viem/.test(name)) throw new Error('not installed')
        return next(name, context)
      },
    })
    const { recoverSigner, walletFromKey } = await import('./src/callers/wallet.ts')
    for (const use of [() => recoverSigner('a', '0x' + '1'.repeat(130)), () => walletFromKey('0x' + '1'.repeat(64))])
      await use().catch(error => console.log(error.code, error.message))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.equal(stdout.match(/config_invalid .*Install it: npm install viem/g)?.length, 2, stdout)
})

test('a wallet’s token is no key to anything else', async t => {
  const { newKey } = await import('../../src/callers/keys.ts')
  const { url } = await relay(t, {}, { server: { keys: [newKey('ana').entry], log: 'silent' } })
  const authorization = `Bearer ${await tokenOf(url)}`
  for (const path of [
    '/v1/models',
    '/meta',
    '/operator/system',
    '/v1/responses/resp_1',
    '/v1/conversations/c',
  ])
    assert.equal((await fetch(`${url}${path}`, { headers: { authorization } })).status, 401, path)
  for (const path of [
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/responses/x/cancel',
    '/v1/responses/compact',
    '/v1/responses/input_tokens',
    '/v1/conversations',
  ])
    assert.equal((await ask(url, {}, { token: authorization.slice(7), path })).status, 401, path)
})
