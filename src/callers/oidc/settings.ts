// The settings of the sign-in with an identity provider (OpenID Connect): which one, as which client, and what the claims of a
// person mean here. Checked; nothing is fetched.
import { type Check, count, filled, group, isRecord, must, onOff, texts } from '../../lib/checks/fields.ts'
import { type IssuerSettings, isSafeAddress, issuerChecks } from '../tokens/settings.ts'

/** People sign in to the console at this provider. Claims mean the same as those of bearer tokens. */
export type OidcSettings = IssuerSettings & {
  /** How the sign-in page names it: "Sign in with <label>". */
  label: string
  clientId: string
  /** Absent: a public client, which has no secret. PKCE protects both kinds. */
  clientSecret?: string
  /** Default: `openid profile email`. */
  scopes?: readonly string[]
  /** How long a sign-in is good for. Roles are read at the sign-in. Default: 12 hours. */
  sessionS?: number
  /** Signing out of the console also leads to the provider's own sign-out. Default: false. */
  endSession?: boolean
}

const oidc = group<OidcSettings>(
  {
    ...issuerChecks,
    issuer: {
      needed: must(
        value => typeof value === 'string' && isSafeAddress(value) && !/[?#]/.test(value),
        'must be the address of the provider, exactly as its claim "iss" has it: https://, or http:// on this machine alone.',
      ),
    },
    label: {
      needed: must(
        value => typeof value === 'string' && /^[^\p{Cc}\p{Cf}]{1,60}$/u.test(value),
        'must be the name that the sign-in page shows: 1 to 60 characters.',
      ),
    },
    clientId: { needed: filled },
    clientSecret: filled,
    scopes: texts(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a list such as ["openid", "email"].'),
    sessionS: count,
    endSession: onOff,
  },
  'must be an object such as { label, issuer, clientId, clientSecret }.',
)

export const checkOidc: Check = (value, key, wrong) => {
  oidc(value, key, wrong)
  if (!isRecord(value)) return
  if ('clientSecret' in value && value['clientSecret'] === undefined)
    wrong(
      `${key}.clientSecret`,
      'is undefined. Set the variable that it is read from, or leave the setting out for a public client.',
    )
  const { scopes } = value
  if (Array.isArray(scopes) && !scopes.includes('openid')) wrong(`${key}.scopes`, 'must have "openid".')
}

/** Owners and names of two issuers must never meet. Those of the same issuer are the same people. */
export const checkSignInPrefix: Check = (server, key, wrong) => {
  if (!isRecord(server) || !isRecord(server['oidc']) || server['jwt'] === undefined) return
  const { issuer, prefix } = server['oidc']
  for (const other of [server['jwt']].flat())
    if (isRecord(other) && (other['issuer'] === issuer) !== (other['prefix'] === prefix))
      wrong(
        `${key}.oidc.prefix`,
        other['issuer'] === issuer
          ? `must be that of the same issuer in ${key}.jwt, so that a person has the same sessions.`
          : `must differ from that of the issuer ${String(other['issuer'])} in ${key}.jwt, so that their owners never meet.`,
      )
}
