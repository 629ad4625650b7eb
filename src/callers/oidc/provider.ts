// The identity provider as this server talks to it: what it says of itself (discovery), its keys, the exchange of a code, and
// the check of an ID token. Every address is the provider's own, and is fetched within the egress rule.
import type { JWTPayload } from 'jose'
import { isJsonObject, parseObject } from '../../lib/json/index.ts'
import { clientCredentials } from '../../lib/net/client-credentials.ts'
import { type FetchAddress, IssuerKeys, readJson, verifyToken } from '../tokens/issuer-keys.ts'
import { isSafeAddress } from '../tokens/settings.ts'
import { defaultAlgorithms, defaultSkewS } from '../tokens/tokens.ts'
import type { OidcSettings } from './settings.ts'

/** After this long the provider is asked again what it says of itself. */
const discoveryMs = 3_600_000
const keysMaxAgeS = 300

/** The provider answered, and its answer is a refusal. `code` is one of OAuth's. */
export class ProviderRefused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** An ID token that is signed well, and is not for this sign-in. */
export class WrongToken extends Error {}

export type ProviderAddresses = {
  authorize: string
  token: string
  userInfo: string | undefined
  endSession: string | undefined
  /** Its answers name it in `iss` (RFC 9207). */
  namesItself: boolean
  /** It takes the client's secret in the body only. */
  secretInBody: boolean
}

type Found = ProviderAddresses & { keys: IssuerKeys; at: number }
export type ProviderTokens = { idToken: string; accessToken: string | undefined }

export class OidcProvider {
  readonly #settings: OidcSettings
  readonly #fetch: FetchAddress
  readonly #now: () => number
  #found: Found | undefined
  #loading: Promise<Found> | undefined

  constructor(settings: OidcSettings, fetch: FetchAddress, now: () => number) {
    this.#settings = settings
    this.#fetch = fetch
    this.#now = now
  }

  /** Rejects if the provider does not answer, or says that it is another. */
  addresses(): Promise<ProviderAddresses> {
    return this.#current()
  }

  async #current(): Promise<Found> {
    if (this.#found && this.#now() - this.#found.at < discoveryMs) return this.#found
    this.#loading ??= this.#discover().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #discover(): Promise<Found> {
    const { issuer } = this.#settings
    const said = await readJson(this.#fetch, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    if (!isJsonObject(said)) throw new Error('The provider does not describe itself.')
    if (said['issuer'] !== issuer)
      throw new Error(`The provider calls itself ${JSON.stringify(said['issuer'])}, not ${issuer}.`)
    const methods = said['token_endpoint_auth_methods_supported']
    const jwksUrl = needAddress(said['jwks_uri'], 'jwks_uri')
    this.#found = {
      authorize: needAddress(said['authorization_endpoint'], 'authorization_endpoint'),
      token: needAddress(said['token_endpoint'], 'token_endpoint'),
      userInfo: readAddress(said['userinfo_endpoint']),
      endSession: readAddress(said['end_session_endpoint']),
      namesItself: said['authorization_response_iss_parameter_supported'] === true,
      secretInBody: Array.isArray(methods) && !methods.includes('client_secret_basic'),
      keys: new IssuerKeys(jwksUrl, keysMaxAgeS, this.#fetch, this.#now),
      at: this.#now(),
    }
    return this.#found
  }

  /** Throws `ProviderRefused` for a code that is used up, expired, of another client, or without its verifier. */
  async exchange(code: string, verifier: string, redirectUri: string): Promise<ProviderTokens> {
    const { token, secretInBody } = await this.#current()
    const { clientId, clientSecret } = this.#settings
    const body = new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri },
      ...((clientSecret === undefined || secretInBody) && { client_id: clientId }),
      ...(clientSecret !== undefined && secretInBody && { client_secret: clientSecret }),
    })
    const headers = new Headers({ accept: 'application/json' })
    if (clientSecret !== undefined && !secretInBody)
      headers.set('authorization', clientCredentials(clientId, clientSecret))
    const answer = await this.#fetch(token, { method: 'POST', headers, body, redirect: 'error' })
    const said = parseObject(await answer.text())
    if (!said) throw new Error(`${new URL(token).host} answered ${answer.status} without JSON.`)
    const { id_token: idToken, access_token: accessToken, error, error_description: why } = said
    if (typeof error === 'string') throw new ProviderRefused(error, typeof why === 'string' ? why : error)
    if (!answer.ok || typeof idToken !== 'string')
      throw new Error(`${new URL(token).host} answered ${answer.status} without an ID token.`)
    return { idToken, accessToken: typeof accessToken === 'string' ? accessToken : undefined }
  }

  /** The claims of an ID token that this provider signed, for this client and this sign-in, and whose time is not over. */
  async verify(idToken: string, nonce: string): Promise<JWTPayload> {
    const { clientId, issuer, algorithms = defaultAlgorithms, clockSkewS = defaultSkewS } = this.#settings
    const { keys } = await this.#current()
    const payload = await verifyToken(idToken, keys.find, {
      issuer,
      audience: clientId,
      algorithms: [...algorithms],
      clockTolerance: clockSkewS,
      requiredClaims: ['exp', 'iat', 'sub'],
      currentDate: new Date(this.#now()),
    })
    if (payload['nonce'] !== nonce) throw new WrongToken('it is for another sign-in')
    const { aud, azp } = payload
    if (azp === undefined ? Array.isArray(aud) && aud.length > 1 : azp !== clientId)
      throw new WrongToken('it was given to another program')
    return payload
  }

  /** Further claims of the same person. Undefined: the provider has none. */
  async userInfo({ accessToken }: ProviderTokens, subject: string): Promise<JWTPayload | undefined> {
    const { userInfo } = await this.#current()
    if (userInfo === undefined || accessToken === undefined) return undefined
    const headers = { authorization: `Bearer ${accessToken}` }
    const said = await readJson(this.#fetch, userInfo, { headers, redirect: 'error' })
    // Claims of another person must never be added to these.
    if (!isJsonObject(said) || said['sub'] !== subject)
      throw new Error('The provider told of another person than the one who signed in.')
    return said
  }
}

function readAddress(value: unknown): string | undefined {
  return typeof value === 'string' && isSafeAddress(value) ? value : undefined
}

function needAddress(value: unknown, member: string): string {
  const address = readAddress(value)
  if (address === undefined)
    throw new Error(`The provider's "${member}" is no address with https:// (or http:// on this machine).`)
  return address
}
