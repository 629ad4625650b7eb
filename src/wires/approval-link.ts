// The token of an approval link. It names one approval of one call, with the hashes of what is shown, one approver, and an expiry.
// The same link is made of the same facts, so nothing is stored. It is used once because a person decides once about an approval:
// the log says so.
import type { Notice } from '../language/notices.ts'
import type { ApprovalLink } from '../language/webhooks.ts'
import { openToken, type Sign, signToken } from './http/signed-token.ts'

export const approvePath = '/approve'

/** `seq`: the event that asks. `id`: names the link, for revoking it. */
export type LinkFacts = {
  session: string
  call: string
  seq: number
  argsHash: string
  toolHash: string
  approver: string
  roles: readonly string[]
  expiresAt: number
  id: string
}

const hourMs = 60 * 60 * 1000
const purpose = 'approve'

export function makeLinkToken(facts: LinkFacts, sign: Sign): string {
  const { session, call, seq, argsHash, toolHash, approver, roles, expiresAt, id } = facts
  const parts: Parts = [session, call, seq, argsHash, toolHash, approver, roles, expiresAt, id]
  return signToken(purpose, parts, sign)
}

/** Throws `unauthorized` for a token that was not made here. One that has expired is read: its page says so. */
export function readLinkToken(token: string, sign: Sign): LinkFacts {
  const words = 'This link is not valid. Open it as it was sent, with all of its characters.'
  const parts = openToken<Parts>(purpose, token, sign, words)
  const [session, call, seq, argsHash, toolHash, approver, roles, expiresAt, id] = parts
  return { session, call, seq, argsHash, toolHash, approver, roles, expiresAt, id }
}

type Parts = [string, string, number, string, string, string, readonly string[], number, string]

export type LinkWish = { approver: string; roles?: readonly string[]; forMs?: number; id: string }

/**
 * The link of an approval that was requested. `address`: where this server is reached. Undefined: it is not served, or the
 * notice asks for nobody's approval.
 */
export function approvalLink(
  address: string | undefined,
  notice: Notice,
  { approver, roles = [], forMs = hourMs, id }: LinkWish,
  sign: Sign,
): ApprovalLink | undefined {
  const { session, call, seq, argsHash, toolHash } = notice
  if (address === undefined || call === undefined || argsHash === undefined || toolHash === undefined)
    return undefined
  const expiresAt = Math.min(notice.at + forMs, notice.expiresAt ?? Infinity)
  const token = makeLinkToken(
    { session, call, seq, argsHash, toolHash, approver, roles, expiresAt, id },
    sign,
  )
  return { url: `${address}${approvePath}/${token}`, id, approver, expiresAt }
}

/** The name of what is kept beside the log when a link, or all links of a call, were revoked. */
export function revokedMark(idOrCall: string): string {
  return `link-revoked-${idOrCall}`
}
