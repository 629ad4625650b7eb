// Bearer tokens (JWT) of issuers that the operator names. A token counts if one of these signed it, with a public key and an
// algorithm that are allowed, for this server, and its time has come and is not over. Nothing of a token is believed before.
import { createLocalJWKSet, decodeJwt, errors, type JWTVerifyGetKey } from 'jose'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { AdmittedKey } from '../keys.ts'
import { readPrincipal, UnusableClaims } from './claims.ts'
import { type FetchAddress, IssuerKeys, onlyPublic, verifyToken } from './issuer-keys.ts'
import type { TokenAlgorithm, TokenIssuer } from './settings.ts'

export const defaultAlgorithms: readonly TokenAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA']
export const defaultSkewS = 30
const defaultKeysMaxAgeS = 300
/** Of a token with many roles. */
const longestToken = 32 * 1024

export type TokenNeeds = {
  /** Within the egress rule. */
  fetch: FetchAddress
  /** A key has this name. */
  isTaken(name: string): boolean
  now?: () => number
  log(level: 'warn', message: string, fields: Record<string, string>): void
}

type KnownIssuer = { settings: TokenIssuer; find: JWTVerifyGetKey }

export class Tokens {
  readonly #issuers: ReadonlyMap<string, KnownIssuer>
  readonly #needs: TokenNeeds
  readonly #now: () => number

  constructor(given: TokenIssuer | readonly TokenIssuer[], needs: TokenNeeds) {
    this.#needs = needs
    this.#now = needs.now ?? Date.now
    this.#issuers = new Map(
      [given].flat().map(settings => [settings.issuer, { settings, find: this.#keysOf(settings) }]),
    )
  }

  #keysOf({ jwksUrl, keys, keysMaxAgeS = defaultKeysMaxAgeS }: TokenIssuer): JWTVerifyGetKey {
    if (jwksUrl === undefined) return createLocalJWKSet(onlyPublic({ keys }))
    return new IssuerKeys(jwksUrl, keysMaxAgeS, this.#needs.fetch, this.#now).find
  }

  /**
   * The caller who has this token, until it expires. Undefined: it is none of a known issuer, so that it may be a key of another
   * kind. Rejects with `unauthorized` if it claims to be one and does not count.
   */
  async admit(token: string): Promise<AdmittedKey | undefined> {
    const issuer = this.#findIssuer(token)
    if (!issuer) return undefined
    const { settings, find } = issuer
    const { audience, algorithms = defaultAlgorithms, clockSkewS = defaultSkewS } = settings
    try {
      const payload = await verifyToken(token, find, {
        issuer: settings.issuer,
        audience: [audience].flat(),
        algorithms: [...algorithms],
        clockTolerance: clockSkewS,
        requiredClaims: ['exp'],
        currentDate: new Date(this.#now()),
      })
      const principal = readPrincipal(payload, settings, name => this.#needs.isTaken(name))
      const until = ((payload.exp ?? 0) + clockSkewS) * 1000
      return { principal, holds: () => this.#now() < until }
    } catch (error) {
      throw this.#refusal(error, settings)
    }
  }

  /** By what the token says of itself, which is checked afterwards. */
  #findIssuer(token: string): KnownIssuer | undefined {
    if (token.length > longestToken || !/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) return undefined
    try {
      const { iss } = decodeJwt(token)
      return iss === undefined ? undefined : this.#issuers.get(iss)
    } catch {
      return undefined
    }
  }

  #refusal(error: unknown, { issuer }: TokenIssuer): TurnwireError {
    const why = refusedBecause(error)
    if (why !== undefined) return new TurnwireError('unauthorized', `The token is refused: ${why}.`)
    // The sender cannot help that, and is told no detail of the issuer's address.
    this.#needs.log('warn', 'The keys of a token issuer cannot be had.', { issuer, error: wordsOf(error) })
    return new TurnwireError('unauthorized', 'The token cannot be checked now. Try again in a moment.', {
      cause: error,
    })
  }
}

/** Undefined: the fault is not in the token. */
export function refusedBecause(error: unknown): string | undefined {
  if (error instanceof UnusableClaims) return error.message
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return claimWords(error.claim)
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return 'its algorithm is not allowed'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  return error instanceof errors.JOSEError ? 'it is malformed' : undefined
}

function claimWords(claim: string): string {
  if (claim === 'nbf' || claim === 'iat') return 'its time has not come yet'
  if (claim === 'aud') return 'it is for another audience'
  return `its claim "${claim}" is missing or wrong`
}
