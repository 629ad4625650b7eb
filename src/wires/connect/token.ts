// The token of an address at which an owner connects an account at an MCP server: server and owner, and the call that waits for it
// or a time, in the open, with a signature that only this installation can make. It opens a page and gives nothing: the person has
// to agree at the other side. With a call it works for as long as that call asks.
import { timingSafeEqual } from 'node:crypto'
import { TurnwireError } from '../../language/errors.ts'

export const connectPath = '/connect'
/** Where the browser comes back to. No token has this form. */
export const returnPath = `${connectPath}/back`

export type ConnectFacts = {
  server: string
  owner: string
  call?: { session: string; callId: string }
  /** Absent: it ends with the question of the call. */
  expiresAt?: number
}

/** `sign`: the same text always gets the same signature. */
type Sign = (text: string) => string
type Parts = [server: string, owner: string, session: string, call: string, expiresAt: number]

const longest = 4_000

export function connectAddress(address: string, facts: ConnectFacts, sign: Sign): string {
  const { server, owner, call = { session: '', callId: '' }, expiresAt = 0 } = facts
  const parts: Parts = [server, owner, call.session, call.callId, expiresAt]
  const body = Buffer.from(JSON.stringify(parts)).toString('base64url')
  return `${address}${connectPath}/${body}.${sign(signed(body))}`
}

/** Throws `unauthorized` for a token that was not made here. */
export function readConnectToken(token: string, sign: Sign): ConnectFacts {
  const [body = '', signature = ''] = token.length > longest ? [] : token.split('.')
  const [given, wanted] = [Buffer.from(signature), Buffer.from(sign(signed(body)))]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new TurnwireError(
      'unauthorized',
      'This address is not valid. Open it as it was given, with all of its characters.',
    )
  // It was signed here, so it was written by connectAddress.
  const [server, owner, session, callId, expiresAt] = JSON.parse(
    Buffer.from(body, 'base64url').toString(),
  ) as Parts
  return {
    server,
    owner,
    ...(session !== '' && { call: { session, callId } }),
    ...(expiresAt !== 0 && { expiresAt }),
  }
}

function signed(body: string): string {
  return `connect ${body}`
}
