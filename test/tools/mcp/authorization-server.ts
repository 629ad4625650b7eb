// A strict authorization server, and an MCP server that takes its tokens. It refuses what the specification forbids or a careful
// server would refuse: no PKCE, no resource, another redirect address, a code or refresh token that was used, another client.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { serve } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'

type Client = { secret?: string; method: string; redirects: string[]; grants: string[] }
type Code = {
  client: string
  challenge: string
  redirect: string
  resource: string
  scope: string
  account: string
}
type Token = { client: string; resource: string; scope: string; account: string; expiresAt: number }

export type AuthRig = {
  /** Of the MCP server. */
  url: string
  issuer: string
  /** What the authorization server was asked, in order, and what it refused. */
  seen: string[]
  refused: string[]
  /** The headers of each request to the authorization server, and to the MCP server. */
  headers: { issuer: Headers[]; server: Headers[] }
  /** Whose account it is that agrees next. */
  account: string
  /** A person opens the address and agrees: gives the parameters that come back. */
  agree(url: URL): Promise<URLSearchParams>
  /** All access tokens are void from now on. */
  expireTokens(): void
  registered(client: string, known: Client): void
  tokens: Map<string, Token>
}

type Settings = {
  /** Seconds. */
  lifetime?: number
  /** What the resource metadata says; for attacks. */
  resourceMetadata?: (rig: AuthRig) => object
  registration?: boolean
  documents?: boolean
}

const secret = (): string => randomBytes(16).toString('hex')
const refusal = (error: string, why: string, status = 400): Response =>
  Response.json({ error, error_description: why }, { status })

export async function startAuthRig(t: TestContext, settings: Settings = {}): Promise<AuthRig> {
  const rig: AuthRig = {
    url: '',
    issuer: '',
    seen: [],
    refused: [],
    headers: { issuer: [], server: [] },
    tokens: new Map(),
    account: 'somebody',
    agree: async url => {
      const response = await fetch(url, { redirect: 'manual' })
      const location = response.headers.get('location')
      if (location === null) throw new Error(`Refused: ${await response.text()}`)
      return new URL(location).searchParams
    },
    expireTokens: () => {
      for (const token of rig.tokens.values()) token.expiresAt = 0
    },
    registered: (id, client) => void authorization.clients.set(id, client),
  }
  const authorization = new AuthorizationServer(rig, settings)
  rig.issuer = await listen(t, request => authorization.answer(request))
  rig.url = `${await listen(t, request => resourceServer(rig, settings, request))}/mcp`
  return rig
}

async function listen(t: TestContext, answer: (request: Request) => Promise<Response>): Promise<string> {
  const server = serve({ fetch: answer, port: 0, hostname: '127.0.0.1' })
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on TCP.
  return `http://127.0.0.1:${port}`
}

class AuthorizationServer {
  readonly clients = new Map<string, Client>()
  readonly #codes = new Map<string, Code>()
  readonly #refresh = new Map<string, Token>()
  readonly #rig: AuthRig
  readonly #settings: Settings

  constructor(rig: AuthRig, settings: Settings) {
    this.#rig = rig
    this.#settings = settings
  }

  async answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    this.#rig.seen.push(`${request.method} ${pathname}`)
    this.#rig.headers.issuer.push(request.headers)
    const response = await this.#route(pathname, searchParams, request)
    if (response.status >= 400 && pathname !== '/.well-known/openid-configuration')
      this.#rig.refused.push(`${pathname}: ${await response.clone().text()}`)
    return response
  }

  async #route(pathname: string, query: URLSearchParams, request: Request): Promise<Response> {
    if (pathname === '/.well-known/oauth-authorization-server') return Response.json(this.#metadata())
    if (pathname === '/register' && request.method === 'POST') return this.#register(await request.json())
    if (pathname === '/authorize') return this.#authorize(query)
    if (pathname === '/revoke' && request.method === 'POST')
      return this.#revoke(request, new URLSearchParams(await request.text()))
    if (pathname === '/token' && request.method === 'POST')
      return this.#token(request, new URLSearchParams(await request.text()))
    return refusal('not_found', pathname, 404)
  }

  #metadata(): object {
    const { issuer } = this.#rig
    const { registration = true, documents = false } = this.#settings
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      revocation_endpoint: `${issuer}/revoke`,
      ...(registration && { registration_endpoint: `${issuer}/register` }),
      ...(documents && { client_id_metadata_document_supported: true }),
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ['read', 'write'],
    }
  }

  #register(metadata: unknown): Response {
    const {
      redirect_uris: redirects,
      grant_types: grants = [],
      token_endpoint_auth_method: method = 'client_secret_basic',
    } = metadata as { redirect_uris?: string[]; grant_types?: string[]; token_endpoint_auth_method?: string }
    if (!redirects?.every(each => /^http:\/\/127\.0\.0\.1:\d+\/(callback|connect\/back)$/.test(each)))
      return refusal('invalid_redirect_uri', 'A loopback address is wanted.')
    const id = secret()
    const client: Client = { method, redirects, grants, ...(method !== 'none' && { secret: secret() }) }
    this.clients.set(id, client)
    return Response.json(
      {
        ...(metadata as object),
        client_id: id,
        client_secret: client.secret,
        token_endpoint_auth_method: method,
      },
      { status: 201 },
    )
  }

  #authorize(query: URLSearchParams): Response {
    const id = query.get('client_id') ?? ''
    const redirect = query.get('redirect_uri') ?? ''
    const isDocument = this.#settings.documents === true && id.startsWith('https://')
    const client = this.clients.get(id)
    if (!client && !isDocument) return refusal('invalid_client', 'It is not registered.')
    if (client && !client.redirects.includes(redirect))
      return refusal('invalid_request', 'Another redirect_uri.')
    if (query.get('code_challenge_method') !== 'S256') return refusal('invalid_request', 'PKCE is wanted.')
    if (query.get('resource') !== this.#rig.url)
      return refusal('invalid_target', `Not ${query.get('resource')}`)
    if ((query.get('state') ?? '').length < 16) return refusal('invalid_request', 'The state is too short.')
    const code = secret()
    this.#codes.set(code, {
      client: id,
      challenge: query.get('code_challenge') ?? '',
      redirect,
      resource: this.#rig.url,
      scope: query.get('scope') ?? 'read',
      account: this.#rig.account,
    })
    const back = new URL(redirect)
    back.search = String(
      new URLSearchParams({ code, state: query.get('state') ?? '', iss: this.#rig.issuer }),
    )
    return new Response(null, { status: 302, headers: { location: back.href } })
  }

  #token(request: Request, form: URLSearchParams): Response {
    const client = this.#clientOf(request, form)
    if (client === undefined) return refusal('invalid_client', 'The client did not prove itself.', 401)
    if (form.get('resource') !== this.#rig.url) return refusal('invalid_target', 'The resource is missing.')
    const grant = form.get('grant_type')
    this.#rig.seen.push(`grant ${grant}`)
    if (grant === 'authorization_code') return this.#exchange(client, form)
    if (grant === 'refresh_token') return this.#refreshed(client, form)
    if (grant === 'client_credentials' && this.clients.get(client)?.grants.includes(grant))
      return this.#issue({ client, scope: form.get('scope') ?? 'read', account: client }, false)
    return refusal('unsupported_grant_type', String(grant))
  }

  #clientOf(request: Request, form: URLSearchParams): string | undefined {
    const basic = /^Basic (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1]
    const [id = '', given] =
      basic === undefined
        ? [form.get('client_id') ?? '']
        : Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
    const client = this.clients.get(id)
    if (!client) return this.#settings.documents && id.startsWith('https://') ? id : undefined
    return client.method === 'none' || client.secret === given ? id : undefined
  }

  #exchange(client: string, form: URLSearchParams): Response {
    const code = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!code || code.client !== client || code.redirect !== form.get('redirect_uri'))
      return refusal('invalid_grant', 'The code is not for this.')
    if (code.challenge !== challenge) return refusal('invalid_grant', 'The verifier does not fit.')
    return this.#issue({ client, scope: code.scope, account: code.account }, true)
  }

  /** A refresh token is used once. */
  #refreshed(client: string, form: URLSearchParams): Response {
    const given = form.get('refresh_token') ?? ''
    const token = this.#refresh.get(given)
    this.#refresh.delete(given)
    if (!token || token.client !== client)
      return refusal('invalid_grant', 'The refresh token was used before.')
    return this.#issue(token, true)
  }

  #revoke(request: Request, form: URLSearchParams): Response {
    const client = this.#clientOf(request, form)
    const given = form.get('token') ?? ''
    const token = this.#refresh.get(given) ?? this.#rig.tokens.get(given)
    if (client === undefined || (token && token.client !== client))
      return refusal('invalid_client', 'It is not the token of this client.', 401)
    this.#refresh.delete(given)
    this.#rig.tokens.delete(given)
    this.#rig.seen.push(`revoked ${given.split('-')[0]}`)
    return new Response(null, { status: 200 })
  }

  #issue(
    { client, scope, account }: { client: string; scope: string; account: string },
    withRefresh: boolean,
  ): Response {
    const { lifetime = 3600 } = this.#settings
    const expiresAt = Date.now() + lifetime * 1000
    const token = { client, scope, account, resource: this.#rig.url, expiresAt }
    const [access, refresh] = [`access-${secret()}`, `refresh-${secret()}`]
    this.#rig.tokens.set(access, token)
    if (withRefresh) this.#refresh.set(refresh, token)
    return Response.json(
      {
        access_token: access,
        token_type: 'Bearer',
        expires_in: lifetime,
        scope,
        ...(withRefresh && { refresh_token: refresh }),
      },
      { headers: { 'cache-control': 'no-store' } },
    )
  }
}

// ---- the MCP server ------------------------------------------------------------------------------------------------

async function resourceServer(rig: AuthRig, settings: Settings, request: Request): Promise<Response> {
  rig.headers.server.push(request.headers)
  const { pathname, origin } = new URL(request.url)
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
  if (pathname === '/.well-known/oauth-protected-resource/mcp')
    return Response.json(
      settings.resourceMetadata?.(rig) ?? {
        resource: rig.url,
        authorization_servers: [rig.issuer],
        scopes_supported: ['read', 'write'],
      },
    )
  if (pathname !== '/mcp') return new Response('', { status: 404 })
  const given = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
  const token = rig.tokens.get(given)
  if (!token || token.resource !== rig.url || token.expiresAt < Date.now())
    return challenge(401, `resource_metadata="${metadata}", scope="read"`)
  const body = (await request.clone().text()).includes('"write"')
  if (body && !token.scope.split(' ').includes('write'))
    return challenge(403, `error="insufficient_scope", scope="write", resource_metadata="${metadata}"`)
  return createMcpHandler(() => notes(token)).fetch(request)
}

function challenge(status: number, words: string): Response {
  return new Response('', { status, headers: { 'www-authenticate': `Bearer ${words}` } })
}

function notes(token: Token): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  const said = () => ({ content: [{ type: 'text' as const, text: `as ${token.scope}` }] })
  const whose = () => ({ content: [{ type: 'text' as const, text: `the notes of ${token.account}` }] })
  server.registerTool('read_note', { description: 'Reads.' }, said)
  server.registerTool('whose', { description: 'Says whose notes these are.' }, whose)
  // Lists of tools can say something of an account.
  server.registerTool(`of_${token.account.replace(/\W/g, '_')}`, { description: 'Reads.' }, whose)
  server.registerTool('write', { description: 'Writes.' }, said)
  return server
}
