// OAuth against a strict authorization server: logins, refresh, more scopes, client credentials, and what must not happen.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { loginToServer } from '../../../src/config/mcp-login.ts'
import { tokenStore } from '../../../src/data/mcp-tokens.ts'
import { createVault } from '../../../src/data/vault.ts'
import { joinText } from '../../../src/language/content.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { memoryAuthStore } from '../../../src/tools/mcp/auth.ts'
import { type AuthStore, type McpAuth, type McpConnection, mcpServer } from '../../../src/tools/mcp/index.ts'
import { type AuthRig, startAuthRig } from './authorization-server.ts'

/** Logs in as `turnwire mcp login` does. The browser is the rig's. */
async function login(rig: AuthRig, store: AuthStore, auth?: McpAuth): Promise<URL[]> {
  const shown: URL[] = []
  await loginToServer(
    { name: 'notes', url: rig.url, ...(auth && { auth }) },
    {
      store,
      show: url => {
        shown.push(url)
        void fetch(url) // Follows the redirect to the page of the login.
      },
    },
  )
  return shown
}

async function connect(
  t: TestContext,
  rig: AuthRig,
  store: AuthStore,
  auth?: McpAuth,
): Promise<McpConnection> {
  const connection = await mcpServer(
    { name: 'notes', url: rig.url, ...(auth && { auth }) },
    { auth: { store } },
  )
  t.after(() => connection.close())
  return connection
}

async function use(connection: McpConnection, name: string): Promise<string> {
  const tool = connection.tools.find(each => each.name === `notes__${name}`)
  assert.ok(tool)
  return joinText((await tool.run({}, contextFor())).parts)
}

test('a person logs in, and the server process uses and refreshes the token', async t => {
  const rig = await startAuthRig(t)
  const store = memoryAuthStore()
  await assert.rejects(connect(t, rig, store), /wants a login.*turnwire mcp login notes/)
  assert.equal(rig.seen.length, 0, 'nothing is registered and nobody is asked without a person')
  const [url] = await login(rig, store)
  assert.equal(url?.searchParams.get('resource'), rig.url)
  assert.equal(url?.searchParams.get('code_challenge_method'), 'S256')
  const connection = await connect(t, rig, store)
  assert.equal(await use(connection, 'read_note'), 'as read')
  rig.expireTokens()
  assert.equal(await use(connection, 'read_note'), 'as read')
  assert.deepEqual(rig.refused, [])
  assert.ok(rig.seen.includes('grant refresh_token'))
})

test('a tool that needs more scopes says so, and the next login asks for them', async t => {
  const rig = await startAuthRig(t)
  const store = memoryAuthStore()
  await login(rig, store)
  const connection = await connect(t, rig, store)
  await assert.rejects(use(connection, 'write'), /wants a login with the scopes "read write"/)
  const [url] = await login(rig, store)
  assert.deepEqual(url?.searchParams.get('scope')?.split(' ').sort(), ['read', 'write'])
  assert.equal(await use(connection, 'write'), 'as read write')
})

test('with a person at hand more scopes are asked for during the call', async t => {
  const rig = await startAuthRig(t)
  const connection = await mcpServer(
    { name: 'notes', url: rig.url },
    {
      auth: {
        store: memoryAuthStore(),
        person: { redirectUrl: 'http://127.0.0.1:9/callback', authorize: url => rig.agree(url) },
      },
    },
  )
  t.after(() => connection.close())
  assert.equal(await use(connection, 'write'), 'as read write')
  assert.deepEqual(rig.refused, [])
})

test('a refresh token that is void leads to a login, and no other credential is tried', async t => {
  const rig = await startAuthRig(t)
  const store = memoryAuthStore()
  await login(rig, store)
  const connection = await connect(t, rig, store)
  const { tokens } = store.load()
  assert.ok(tokens)
  store.save({ ...store.load(), tokens: { ...tokens, refresh_token: 'stolen' } })
  rig.expireTokens()
  await assert.rejects(use(connection, 'read_note'), /turnwire mcp login notes/)
})

test('a server uses client credentials without a person', async t => {
  const rig = await startAuthRig(t)
  rig.registered('machine', {
    secret: 's3cret',
    method: 'client_secret_basic',
    redirects: [],
    grants: ['client_credentials'],
  })
  const auth: McpAuth = {
    grant: 'client_credentials',
    clientId: 'machine',
    clientSecret: 's3cret',
    issuer: rig.issuer,
  }
  const connection = await connect(t, rig, memoryAuthStore(), auth)
  assert.equal(await use(connection, 'read_note'), 'as read')
  rig.expireTokens()
  assert.equal(await use(connection, 'read_note'), 'as read')
  assert.deepEqual(rig.refused, [])
})

test('credentials do not go to another authorization server than the one that was named', async t => {
  const [rig, other] = [await startAuthRig(t), await startAuthRig(t)]
  const auth: McpAuth = {
    grant: 'client_credentials',
    clientId: 'machine',
    clientSecret: 's3cret',
    issuer: other.issuer,
  }
  await assert.rejects(connect(t, rig, memoryAuthStore(), auth))
  assert.ok(!rig.seen.includes('POST /token'))
})

for (const secret of [{ clientSecret: 's3cret' }, { privateKey: 'PEM' }])
  test(`${Object.keys(secret).join()} without an issuer is refused before anything is sent`, async t => {
    const rig = await startAuthRig(t)
    for (const grant of ['client_credentials', 'authorization_code'] as const)
      await assert.rejects(
        connect(t, rig, memoryAuthStore(), { grant, clientId: 'machine', ...secret }),
        /needs issuer beside/,
      )
    assert.deepEqual(rig.seen, [])
  })

test('headers of the settings go to the origin of the server only', async t => {
  const rig = await startAuthRig(t)
  const machine = { clientId: 'machine', clientSecret: 's3cret', issuer: rig.issuer }
  rig.registered('machine', {
    secret: 's3cret',
    method: 'client_secret_basic',
    redirects: [],
    grants: ['client_credentials'],
  })
  for (const auth of [{}, { grant: 'client_credentials' as const, ...machine }]) {
    const connection = await mcpServer(
      { name: 'notes', url: rig.url, headers: { 'x-api-key': 'k3y' }, auth },
      {
        auth: {
          store: memoryAuthStore(),
          person: { redirectUrl: 'http://127.0.0.1:9/callback', authorize: url => rig.agree(url) },
        },
      },
    )
    t.after(() => connection.close())
    assert.equal(await use(connection, 'read_note'), 'as read')
  }
  assert.ok(rig.headers.server.every(headers => headers.get('x-api-key') === 'k3y'))
  assert.ok(rig.seen.includes('POST /register') && rig.seen.includes('grant client_credentials'))
  assert.ok(rig.headers.issuer.every(headers => !headers.has('x-api-key')))
})

test('a client id document stands in for a registration', async t => {
  const rig = await startAuthRig(t, { documents: true, registration: false })
  const clientMetadataUrl = 'https://app.example/client.json'
  const [url] = await login(rig, memoryAuthStore(), { clientMetadataUrl })
  assert.equal(url?.searchParams.get('client_id'), clientMetadataUrl)
  assert.deepEqual(rig.refused, [])
})

test('tokens are sealed in a file of their owner, and are not given to another address', async t => {
  const rig = await startAuthRig(t)
  const folder = mkdtempSync(join(tmpdir(), 'tokens-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const vault = () => createVault(Buffer.alloc(32, 7))
  await login(rig, tokenStore(folder, { name: 'notes', url: rig.url }, vault))
  const [name = ''] = readdirSync(join(folder, 'mcp'))
  const file = join(folder, 'mcp', name)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const bytes = readFileSync(file, 'utf8')
  for (const token of rig.tokens.keys()) assert.ok(!bytes.includes(token))
  assert.ok(!/refresh|access|client/.test(Buffer.from(bytes, 'base64url').toString('latin1')))
  const again = tokenStore(folder, { name: 'notes', url: rig.url }, vault)
  const connection = await connect(t, rig, again)
  assert.equal(await use(connection, 'read_note'), 'as read')
  assert.deepEqual(tokenStore(folder, { name: 'notes', url: 'https://evil.example/mcp' }, vault).load(), {})
})

test('the login page takes only an answer with the state that was sent', async t => {
  const rig = await startAuthRig(t)
  const store = memoryAuthStore()
  const login = loginToServer(
    { name: 'notes', url: rig.url },
    {
      store,
      show: url => {
        const back = new URL(url.searchParams.get('redirect_uri') ?? '')
        back.search = '?code=stolen&state=guessed-by-another-page'
        void fetch(back)
      },
    },
  )
  await assert.rejects(login, /another state/)
  assert.equal(store.load().tokens, undefined)
  assert.ok(!rig.seen.includes('grant authorization_code'))
})

const inside = [
  'http://169.254.169.254/latest',
  'http://127.1/as',
  'http://0x7f.1/as',
  'http://2130706433/as',
  'http://[::ffff:127.0.0.1]/as',
  'http://10.0.0.1/as',
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
]

for (const address of inside)
  test(`T-17 discovery does not reach ${address}`, async t => {
    const rig = await startAuthRig(t, {
      resourceMetadata: ({ url }) => ({ resource: url, authorization_servers: [address] }),
    })
    const egress = new Egress()
    t.after(() => egress.close())
    const reports: string[] = []
    const connecting = mcpServer(
      // By name: of a server on this machine, other ports of the very same host are reached.
      { name: 'notes', url: rig.url.replace('127.0.0.1', 'localhost') },
      {
        auth: {
          store: memoryAuthStore(),
          person: { redirectUrl: 'http://127.0.0.1:9/callback', authorize: url => rig.agree(url) },
        },
        fetchOther: (url, init) =>
          egress.fetch(url, { ...init, report: ({ refused }) => void reports.push(refused ?? 'sent') }),
      },
    )
    await assert.rejects(connecting)
    if (address.startsWith('http')) assert.ok(reports.length > 0, 'the address was asked for')
    assert.ok(
      reports.every(words => /private address|Only http/.test(words)),
      reports.join('; '),
    )
    assert.deepEqual(rig.seen, [])
  })
