// The login of one owner at an MCP server, in two halves: the address that the person opens, and the exchange of the code that
// comes back, which another process may do. The caller keeps what stands between the two. Nothing here knows sessions.
import {
  auth,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  type FetchLike,
  LATEST_PROTOCOL_VERSION,
} from '@modelcontextprotocol/client'
import { TurnwireError } from '../../language/errors.ts'
import { clientCredentials } from '../../lib/net/client-credentials.ts'
import { type BegunLogin, type KeptAuth, memoryAuthStore, ServerAuth } from './auth.ts'
import type { OtherFetch } from './other-hosts.ts'
import type { McpHttpServer } from './spec.ts'
import { clientInfo, serverFetch } from './transport.ts'

/** `redirectUrl`: where the person comes back to. */
export type LoginPlace = { spec: McpHttpServer; redirectUrl: string; fetchOther?: OtherFetch }

/** What is kept until the person comes back. `kept`: the client that was registered. */
export type PendingLogin = { begun: BegunLogin; kept: KeptAuth }

const maxAnswerBytes = 1024 * 1024
const timeoutMs = 20_000

/** Tokens that are there are not used: the person may choose another account. Rejects with `bad_request` if the server wants no login. */
export async function beginLogin(
  place: LoginPlace,
  before: KeptAuth,
): Promise<PendingLogin & { address: string }> {
  const { spec, redirectUrl } = place
  const { tokens: _, ...rest } = before
  const store = memoryAuthStore(rest)
  let address: string | undefined
  const provider = new ServerAuth(spec, store, {
    redirectUrl,
    authorize: async url => {
      address = url.href
      return undefined
    },
  })
  const fetchFn = loginFetch(place)
  const { resourceMetadataUrl, scope } = await askForLogin(spec, fetchFn)
  await auth(provider, {
    serverUrl: spec.url,
    fetchFn,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
    ...(scope !== undefined && { scope }),
  })
  if (address === undefined) throw new TurnwireError('internal', 'A login gave no address.')
  return { address, begun: provider.begun, kept: store.load() }
}

/** Gives the tokens. Rejects if the person did not agree, or the answer is not from the right server. */
export async function finishLogin(
  place: LoginPlace,
  { begun, kept }: PendingLogin,
  returned: URLSearchParams,
): Promise<KeptAuth> {
  const { spec, redirectUrl } = place
  const store = memoryAuthStore(kept)
  const provider = new ServerAuth(spec, store, {
    redirectUrl,
    // Only a refused code leads here.
    authorize: () => Promise.reject(new TurnwireError('bad_request', 'The login was refused. Begin again.')),
  })
  provider.resume(begun)
  const [code, iss] = [returned.get('code'), returned.get('iss')]
  if (code === null)
    throw new TurnwireError('bad_request', `"${spec.name}" was not connected: nobody agreed to it there.`)
  await auth(provider, {
    serverUrl: spec.url,
    authorizationCode: code,
    fetchFn: loginFetch(place),
    ...(iss !== null && { iss }),
  })
  const { wanted: _, ...done } = store.load()
  return done
}

/** Tells the authorization server that the tokens are not needed any more (RFC 7009). False: it has no place for that. */
export async function revokeTokens(place: LoginPlace, kept: KeptAuth): Promise<boolean> {
  const { spec, redirectUrl } = place
  const { tokens } = kept
  if (!tokens) return false
  const person = { redirectUrl, authorize: async () => undefined }
  const provider = new ServerAuth(spec, memoryAuthStore(kept), person)
  const fetchFn = loginFetch(place)
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = await discoverOAuthServerInfo(
    spec.url,
    { fetchFn },
  )
  const issuer = metadata?.issuer ?? String(authorizationServerUrl)
  const revoking = metadata && 'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined
  // Tokens go to the server that gave them, and to no other.
  if (revoking === undefined || (tokens.issuer ?? issuer) !== issuer) return false
  const { client_id: id = '', client_secret: secret } = provider.clientInformation({ issuer }) ?? {}
  for (const [hint, token] of [
    ['refresh_token', tokens.refresh_token],
    ['access_token', tokens.access_token],
  ] as const) {
    if (token === undefined) continue
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
    const body = new URLSearchParams({ token, token_type_hint: hint })
    if (provider.addClientAuthentication)
      await provider.addClientAuthentication(headers, body, revoking, metadata)
    else if (secret !== undefined) headers.set('authorization', clientCredentials(id, secret))
    else body.set('client_id', id)
    const answer = await fetchFn(revoking, { method: 'POST', headers, body })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`The authorization server answered ${answer.status}.`)
  }
  return true
}

function loginFetch({ spec, fetchOther }: LoginPlace): FetchLike {
  const reach = serverFetch(spec, maxAnswerBytes, fetchOther)
  return (url, init) => reach(url, { ...init, signal: AbortSignal.timeout(timeoutMs) })
}

/** Where the server says that its logins are, and the scopes that it wants. */
async function askForLogin(
  spec: McpHttpServer,
  reach: FetchLike,
): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const hello = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo },
  }
  const answer = await reach(spec.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(hello),
  })
  await answer.body?.cancel()
  if (answer.status === 401 || answer.status === 403) return extractWWWAuthenticateParams(answer)
  throw new TurnwireError(
    'bad_request',
    answer.ok
      ? `The MCP server "${spec.name}" wants no login: it can be used without "auth".`
      : `The MCP server "${spec.name}" cannot be used now: it answered ${answer.status}.`,
  )
}
