// The OAuth client for one MCP server that wants a token. The SDK does the protocol (metadata discovery, registration,
// PKCE, resource indicators, issuer checks). This file keeps the tokens and decides when a person is needed. A server
// process never opens a browser: without a valid token it reports that someone must log in.

import { randomBytes } from 'node:crypto'
import {
  type AuthProvider,
  auth,
  computeScopeUnion,
  createPrivateKeyJwtAuth,
  extractWWWAuthenticateParams,
  type OAuthClientInformationContext,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { TurnwireError } from '../../language/errors.ts'
import { present } from '../../lib/json/present.ts'
import { LoginNeeded } from './login-needed.ts'
import type { McpAuth, McpHttpServer } from './spec.ts'

/** The login data of one server that is stored between processes. */
export type KeptAuth = {
  client?: StoredOAuthClientInformation
  tokens?: StoredOAuthTokens
  /** The address that the client was registered with. */
  redirectUrl?: string
  /** Scopes that the server asked for beyond those of the token. */
  wanted?: string
}

/**
 * Contract: gives what was saved last, also by another process. `save` is durable when it returns; where there is `alone`, once
 * that has resolved.
 */
export type AuthStore = {
  load(): KeptAuth
  save(kept: KeptAuth): void
  /** Reads what other processes have saved. Absent: `load` does. */
  pull?(): Promise<void>
  /** Does something with the tokens while no other process does, with what is there then. */
  alone?<Result>(act: () => Promise<Result>): Promise<Result>
}

/** A person at a browser. `authorize` resolves with the parameters that came back. Undefined: they come to another place. */
export type AuthPerson = {
  redirectUrl: string
  authorize(url: URL): Promise<URLSearchParams | undefined>
}

/** A login that a person has not come back from. */
export type BegunLogin = { state: string; verifier: string; discovery?: OAuthDiscoveryState }

export function memoryAuthStore(first: KeptAuth = {}): AuthStore {
  let kept = first
  return {
    load: () => kept,
    save: next => {
      kept = next
    },
  }
}

export class ServerAuth implements OAuthClientProvider {
  readonly #spec: McpHttpServer
  readonly #settings: McpAuth
  readonly #store: AuthStore
  readonly #person: AuthPerson | undefined
  #verifier = ''
  #state = ''
  #discovery: OAuthDiscoveryState | undefined
  #isReturning = false
  /** The parameters of the browser's redirect, for `finishAuth`. */
  #returned: URLSearchParams | undefined

  constructor(spec: McpHttpServer, store: AuthStore, person: AuthPerson | undefined) {
    this.#spec = spec
    this.#settings = spec.auth ?? {}
    this.#store = store
    this.#person = person
    if (this.#settings.privateKey !== undefined) this.addClientAuthentication = this.#assertion()
    const { clientMetadataUrl } = this.#settings
    if (clientMetadataUrl !== undefined && !this.isMachine) this.clientMetadataUrl = clientMetadataUrl
  }

  readonly clientMetadataUrl?: string
  addClientAuthentication?: NonNullable<OAuthClientProvider['addClientAuthentication']>

  /** The provider for a transport. Without a person it refreshes the token, or reports that a login is needed. */
  get provider(): OAuthClientProvider | AuthProvider {
    if (this.#person || this.isMachine) return this
    const store = this.#store
    return {
      token: async () => {
        await store.pull?.()
        return store.load().tokens?.access_token
      },
      onUnauthorized: async ({ response, serverUrl, fetchFn }) => {
        const refused = store.load().tokens?.access_token
        const renew = async (): Promise<void> => {
          const { tokens } = store.load()
          // Another process has renewed it meanwhile: a refresh token is used once.
          if (tokens?.access_token !== refused) return
          if (tokens?.refresh_token === undefined) throw this.#loginNeeded()
          const { resourceMetadataUrl } = extractWWWAuthenticateParams(response)
          await auth(this, { serverUrl, fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
        }
        await (store.alone ? store.alone(renew) : renew())
      },
    }
  }

  /** The login that was begun last. */
  get begun(): BegunLogin {
    const discovery = this.#discovery
    return { state: this.#state, verifier: this.#verifier, ...(discovery && { discovery }) }
  }

  /** Goes on with a login that was begun elsewhere. */
  resume({ state, verifier, discovery }: BegunLogin): void {
    this.#state = state
    this.#verifier = verifier
    this.#discovery = discovery
    this.#isReturning = true
  }

  /** No person takes part. */
  get isMachine(): boolean {
    return this.#settings.grant === 'client_credentials'
  }

  get redirectUrl(): string | undefined {
    if (this.isMachine) return undefined
    return this.#person?.redirectUrl ?? this.#store.load().redirectUrl ?? 'http://127.0.0.1/callback'
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scope, privateKey } = this.#settings
    return {
      client_name: 'Turnwire',
      redirect_uris: this.redirectUrl === undefined ? [] : [this.redirectUrl],
      grant_types: this.isMachine ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
      response_types: this.isMachine ? [] : ['code'],
      ...(privateKey !== undefined && { token_endpoint_auth_method: 'private_key_jwt' }),
      ...(scope !== undefined && { scope }),
    }
  }

  state(): string {
    this.#isReturning = false
    this.#state = randomBytes(24).toString('base64url')
    return this.#state
  }

  clientInformation(context?: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret } = this.#settings
    const { client, redirectUrl } = this.#store.load()
    if (clientId !== undefined) {
      // Credentials are bound to the authorization server that the operator named, or else to the first one they went to.
      const first = client?.client_id === clientId ? client.issuer : undefined
      const issuer = this.#settings.issuer ?? first ?? context?.issuer
      return {
        client_id: clientId,
        ...present({ client_secret: clientSecret, issuer }),
      }
    }
    // A registration is for its redirect address. A document of our own is not: its address is the same everywhere.
    const isOther =
      this.#person && client?.client_id !== this.clientMetadataUrl && redirectUrl !== this.redirectUrl
    const isForeign = context && client?.issuer !== undefined && client.issuer !== context.issuer
    return isOther || isForeign ? undefined : client
  }

  saveClientInformation(given: StoredOAuthClientInformation): void {
    const { redirectUrl } = this
    const { client_secret: _, ...named } = given
    // The operator's own secret stays where the operator keeps it.
    const client = given.client_id === this.#settings.clientId ? named : given
    this.#keep({ client, ...(redirectUrl !== undefined && { redirectUrl }) })
  }

  tokens(context?: OAuthClientInformationContext): StoredOAuthTokens | undefined {
    const { tokens } = this.#store.load()
    const isForeign = context && tokens?.issuer !== undefined && tokens.issuer !== context.issuer
    return isForeign ? undefined : tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    const { wanted: _, ...kept } = this.#store.load()
    this.#store.save({ ...kept, tokens })
    this.#isReturning = false
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    if (!this.#person) throw this.#loginNeeded(url.searchParams.get('scope') ?? undefined)
    // The SDK asks for the scopes that the server named this time. Scopes that were missing before are added.
    const scope = computeScopeUnion(url.searchParams.get('scope') ?? undefined, this.#wantedScope)
    if (scope !== undefined) url.searchParams.set('scope', scope)
    const returned = await this.#person.authorize(url)
    if (!returned) return
    if (returned.get('state') !== this.#state)
      throw new TurnwireError('bad_request', 'The login came back with another state. Try again.')
    this.#returned = returned
    this.#isReturning = true
  }

  /** Once: the parameters with which the browser came back. */
  takeReturned(): URLSearchParams | undefined {
    const returned = this.#returned
    this.#returned = undefined
    return returned
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery
  }

  /** Kept for one login only: the server may name another authorization server the next time. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#isReturning ? this.#discovery : undefined
  }

  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    const { client, tokens, ...kept } = this.#store.load()
    if (what === 'all') this.#store.save(kept)
    else if (what === 'client') this.#store.save({ ...kept, ...(tokens && { tokens }) })
    else if (what === 'tokens') this.#store.save({ ...kept, ...(client && { client }) })
  }

  /** The server refused a token that lacks scopes. A person has to agree to more. */
  wantScope(scope: string | undefined): LoginNeeded {
    const { tokens, wanted } = this.#store.load()
    const union = computeScopeUnion(tokens?.scope, wanted, scope)
    if (union !== undefined) this.#keep({ wanted: union })
    return this.#loginNeeded(union)
  }

  get #wantedScope(): string | undefined {
    return computeScopeUnion(this.#settings.scope, this.#store.load().wanted)
  }

  prepareTokenRequest(scope?: string): URLSearchParams | undefined {
    if (!this.isMachine) return undefined
    const wanted = scope ?? this.#settings.scope
    return new URLSearchParams({
      grant_type: 'client_credentials',
      ...(wanted !== undefined && { scope: wanted }),
    })
  }

  #assertion(): NonNullable<OAuthClientProvider['addClientAuthentication']> {
    const { clientId = '', privateKey = '', algorithm = 'ES256', issuer } = this.#settings
    return createPrivateKeyJwtAuth({
      issuer: clientId,
      subject: clientId,
      privateKey,
      alg: algorithm,
      ...(issuer !== undefined && { audience: issuer }),
    })
  }

  #keep(more: Partial<KeptAuth>): void {
    this.#store.save({ ...this.#store.load(), ...more })
  }

  #loginNeeded(scope?: string): LoginNeeded {
    const { name } = this.#spec
    return new LoginNeeded(
      name,
      scope === undefined
        ? `The MCP server "${name}" wants a login.`
        : `The MCP server "${name}" wants a login with the scopes "${scope}".`,
      scope,
    )
  }
}
