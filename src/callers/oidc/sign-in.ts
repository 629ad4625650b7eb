// The sign-in of a person at the identity provider: authorization code with PKCE, a state and a nonce. The server keeps nothing
// between its beginning and its end: the browser carries that, sealed, in a cookie of its own. A code that is brought without the
// cookie of the same sign-in counts for nothing, so nobody can be signed in as someone else.
import { createHash, randomBytes } from 'node:crypto'
import { errors, type JWTPayload } from 'jose'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import type { Principal } from '../caller.ts'
import { findClaim, readPrincipal } from '../tokens/claims.ts'
import { refusedBecause, type TokenNeeds } from '../tokens/tokens.ts'
import { OidcProvider, ProviderRefused, WrongToken } from './provider.ts'
import type { OidcSettings } from './settings.ts'

/** So long a person may take at the provider. */
const signInMaxAgeS = 600
const defaultSessionS = 12 * 60 * 60
const defaultScopes = ['openid', 'profile', 'email']
/** Exchanges under way. Anyone may bring a code, and each makes this server ask the provider. */
const mostExchanges = 32

export type OidcNeeds = TokenNeeds & {
  seal(text: string): string
  /** Throws for a text that was not sealed here. */
  unseal(sealed: string): string
  /** Where the console's sign-in page is, as people reach it: the provider sends them there. */
  signInPage(): string
}

/** What the provider sends back with the person, in the address of the sign-in page. */
export type ProviderAnswer = { state: string; code?: string; iss?: string; error?: string }

type Begun = { state: string; nonce: string; verifier: string; until: number }

export class OidcSignIn {
  readonly maxAgeS = signInMaxAgeS
  readonly #settings: OidcSettings
  readonly #needs: OidcNeeds
  readonly #now: () => number
  readonly #provider: OidcProvider
  #exchanges = 0

  constructor(settings: OidcSettings, needs: OidcNeeds) {
    this.#settings = settings
    this.#needs = needs
    this.#now = needs.now ?? Date.now
    this.#provider = new OidcProvider(settings, needs.fetch, this.#now)
  }

  get label(): string {
    return this.#settings.label
  }

  get page(): string {
    return this.#needs.signInPage()
  }

  /** Changes with each setting: a sign-in counts only under those that it was made with. */
  get settingsHash(): string {
    const { clientSecret: _, ...rest } = this.#settings
    return sha256(JSON.stringify(rest))
  }

  isTaken(name: string): boolean {
    return this.#needs.isTaken(name)
  }

  /** Where the person goes, and the cookie that their browser brings back. */
  async begin(): Promise<{ address: string; cookie: string }> {
    const { authorize } = await this.#asked(() => this.#provider.addresses())
    const [state, nonce, verifier] = [random(), random(), random()] as const
    const until = this.#now() + signInMaxAgeS * 1000
    const begun: Begun = { state, nonce, verifier, until }
    const { clientId, scopes = defaultScopes } = this.#settings
    const address = new URL(authorize)
    const asked = {
      ...{ response_type: 'code', client_id: clientId, redirect_uri: this.page, scope: scopes.join(' ') },
      ...{ state, nonce, code_challenge_method: 'S256' },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    }
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value)
    return { address: address.href, cookie: this.#needs.seal(JSON.stringify(begun)) }
  }

  /** The person who signed in, and until when. Rejects with `unauthorized`, in words for that person. */
  async finish(
    answer: ProviderAnswer,
    cookie: string | undefined,
  ): Promise<{ principal: Principal; until: number }> {
    const begun = this.#openBegun(cookie)
    if (begun === undefined || begun.state !== answer.state)
      throw refuse('This sign-in was not begun in this browser, or another one was begun since.')
    if (begun.until <= this.#now()) throw refuse('The sign-in took too long.')
    const { namesItself } = await this.#asked(() => this.#provider.addresses())
    const { issuer, sessionS = defaultSessionS } = this.#settings
    if (answer.iss === undefined ? namesItself : answer.iss !== issuer)
      throw refuse(`The answer is not from ${this.label}.`)
    if (answer.error !== undefined) throw refuse(providerWords(answer.error, this.label))
    if (answer.code === undefined) throw refuse(`${this.label} sent no code.`)
    const claims = await this.#asked(() => this.#readClaims(answer.code ?? '', begun))
    const principal = this.#read(claims)
    return { principal, until: this.#now() + sessionS * 1000 }
  }

  /** Undefined: the provider has no sign-out of its own, or it is not wanted. */
  async endSession(): Promise<string | undefined> {
    if (this.#settings.endSession !== true) return undefined
    const { endSession } = await this.#asked(() => this.#provider.addresses())
    if (endSession === undefined) return undefined
    const address = new URL(endSession)
    address.searchParams.set('client_id', this.#settings.clientId)
    address.searchParams.set('post_logout_redirect_uri', this.page)
    return address.href
  }

  #openBegun(cookie: string | undefined): Begun | undefined {
    try {
      const opened: unknown = JSON.parse(this.#needs.unseal(cookie ?? ''))
      return isJsonObject(opened) ? (opened as Begun) : undefined // Nobody else can seal one.
    } catch {
      return undefined
    }
  }

  async #readClaims(code: string, { verifier, nonce }: Begun): Promise<JWTPayload> {
    if (this.#exchanges >= mostExchanges)
      throw new TurnwireError('rate_limited', 'Too many people sign in at once. Try again in a moment.')
    this.#exchanges += 1
    try {
      const tokens = await this.#provider.exchange(code, verifier, this.page)
      const claims = await this.#provider.verify(tokens.idToken, nonce)
      if (this.#hasAll(claims)) return claims
      // Many providers give claims of the profile there only. Those of the ID token are signed, so they win.
      return { ...(await this.#provider.userInfo(tokens, claims.sub ?? '')), ...claims }
    } finally {
      this.#exchanges -= 1
    }
  }

  #hasAll(claims: JWTPayload): boolean {
    const { owner = 'sub', name = 'sub', roles = 'roles' } = this.#settings
    return [owner, name, roles].every(path => findClaim(claims, path) !== undefined)
  }

  #read(claims: JWTPayload): Principal {
    try {
      return readPrincipal(claims, this.#settings, name => this.#needs.isTaken(name))
    } catch (error) {
      throw refuse(
        `${this.label} does not say who you are: ${refusedBecause(error) ?? 'its answer is malformed'}.`,
        error,
      )
    }
  }

  /** Puts failures of the provider into words for a person. The log has the details. */
  async #asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof TurnwireError) throw error
      this.#needs.log('warn', 'A sign-in with the identity provider failed.', {
        issuer: this.#settings.issuer,
        error: wordsOf(error),
      })
      throw refuse(failureWords(error, this.label), error)
    }
  }
}

function failureWords(error: unknown, label: string): string {
  if (error instanceof ProviderRefused)
    return error.code === 'invalid_grant'
      ? `${label} does not take this sign-in any more: it was used before, or is too old.`
      : `${label} refused this server. Tell its operator: the log says why.`
  if (error instanceof WrongToken) return `The token of ${label} is refused: ${error.message}.`
  const why = error instanceof errors.JOSEError ? refusedBecause(error) : undefined
  if (why !== undefined) return `The token of ${label} is refused: ${why}.`
  return `${label} cannot be reached now, or is not set up as it should be. If it stays so, tell the operator: the log says why.`
}

/** By OAuth's codes. The provider's own words come through the address bar, where anyone could have written them. */
function providerWords(error: string, label: string): string {
  if (error === 'access_denied') return `${label} did not let you in, or the sign-in was cancelled.`
  if (error === 'temporarily_unavailable' || error === 'server_error') return `${label} is not available now.`
  return `${label} refused the sign-in. Tell the operator that server.oidc has to be looked at.`
}

function refuse(words: string, cause?: unknown): TurnwireError {
  return new TurnwireError('unauthorized', `${words} Sign in again.`, { cause })
}

/** 256 bits. */
function random(): string {
  return randomBytes(32).toString('base64url')
}
