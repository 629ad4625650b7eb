// The settings of token issuers: whose tokens count, and what their claims mean here. Checked; nothing is fetched.
import {
  type Check,
  filled,
  group,
  isRecord,
  matches,
  must,
  type SettingChecks,
} from '../../lib/checks/fields.ts'
import type { JsonObject } from '../../lib/json/index.ts'

/** Algorithms with a public key alone: no secret that two sides share, and never `none`. */
const tokenAlgorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const
export type TokenAlgorithm = (typeof tokenAlgorithms)[number]

/** A claim by its name, or by its path: `['realm_access', 'roles']`. */
export type ClaimPath = string | readonly string[]

/** What the claims of a token mean here. */
export type ClaimSettings = {
  /** The claim that is the owner of sessions. Default: `sub`. People with the same value share their sessions. */
  owner?: ClaimPath
  /** The claim that names the person in the log and in approvals. It must be unique. Default: `sub`. */
  name?: ClaimPath
  /** The claim that lists the person's roles, as a list or a text with spaces. Default: `roles`. */
  roles?: ClaimPath
  /** People with this role see every owner's sessions, and the system. Default: nobody does. */
  operatorRole?: string
  /** Put before owners and names, so that those of two issuers never meet. Needed if there are several issuers. */
  prefix?: string
}

/** Whose tokens are taken, and how they are checked. */
export type IssuerSettings = ClaimSettings & {
  /** Exactly as the claim `iss` has it. */
  issuer: string
  algorithms?: readonly TokenAlgorithm[]
  /** How far clocks may differ. Default: 30 seconds. */
  clockSkewS?: number
}

/** Bearer tokens (JWT) of an issuer. */
export type TokenIssuer = IssuerSettings & {
  /** The claim `aud` must have one of these. */
  audience: string | readonly string[]
  /** Where its public keys are. They are fetched within the egress rule, and again when a token names another key. */
  jwksUrl?: string
  /** Its public keys (JWK), in place of an address. */
  keys?: readonly JsonObject[]
  /** Keys are fetched again after so long, so that one that was taken back counts no more. Default: 300 seconds. */
  keysMaxAgeS?: number
}

const claim = must(
  value =>
    (typeof value === 'string' && value !== '') ||
    (Array.isArray(value) &&
      value.length > 0 &&
      value.every(part => typeof part === 'string' && part !== '')),
  'must be the name of a claim, or a path such as ["realm_access", "roles"].',
)
const seconds = must(
  value => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= 86_400,
  'must be a whole number of seconds from 0 to 86400.',
)
const address = must(
  value => typeof value === 'string' && isSafeAddress(value),
  'must be an address with https://, or with http:// on this machine alone.',
)

/** Nobody in between can change what is read there. */
export function isSafeAddress(value: string): boolean {
  const url = URL.parse(value)
  if (url?.username !== '' || url.password !== '' || url.hash !== '') return false
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
}

const claimChecks: SettingChecks<ClaimSettings> = {
  owner: claim,
  name: claim,
  roles: claim,
  operatorRole: filled,
  prefix: matches(/^[\w.@-]{1,32}:$/, 'must be like "acme:": letters and digits, then a colon.'),
}

export const issuerChecks: SettingChecks<IssuerSettings> = {
  ...claimChecks,
  issuer: { needed: filled },
  algorithms: must(
    value =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every(given => tokenAlgorithms.some(known => known === given)),
    `must be a list of: ${tokenAlgorithms.join(', ')}. Algorithms with a shared secret are not taken.`,
  ),
  clockSkewS: seconds,
}

const tokenIssuer = group<TokenIssuer>(
  {
    ...issuerChecks,
    audience: {
      needed: must(
        value =>
          [value].flat().length > 0 && [value].flat().every(one => typeof one === 'string' && one !== ''),
        'must be what the claim "aud" has to hold: a text, or a list of texts.',
      ),
    },
    jwksUrl: address,
    keys: must(
      value => Array.isArray(value) && value.length > 0 && value.every(isPublicKey),
      'must be a list of public keys in the form of JWK, without their private parts.',
    ),
    keysMaxAgeS: seconds,
  },
  'must be an object such as { issuer, audience, jwksUrl }.',
)

/** One issuer, or a list. */
export const checkTokenIssuers: Check = (value, key, wrong) => {
  const list = Array.isArray(value) ? value : [value]
  for (const [index, one] of list.entries()) {
    const at = Array.isArray(value) ? `${key}[${index}]` : key
    tokenIssuer(one, at, wrong)
    if (isRecord(one) && (one['jwksUrl'] === undefined) === (one['keys'] === undefined))
      wrong(at, 'needs its public keys: either "jwksUrl" or "keys".')
  }
  if (list.length < 2) return
  const prefixes = list.map(one => (isRecord(one) ? one['prefix'] : undefined))
  if (prefixes.some(prefix => typeof prefix !== 'string') || new Set(prefixes).size < list.length)
    wrong(key, 'has several issuers: give each a "prefix" of its own, so that their owners never meet.')
}

function isPublicKey(value: unknown): boolean {
  return (
    isRecord(value) && typeof value['kty'] === 'string' && value['kty'] !== 'oct' && value['d'] === undefined
  )
}
