// The token of an address at which an owner connects an account at an MCP server: server and owner, and the call that waits for it
// or a time. It opens a page and gives nothing: the person has to agree at the other side. With a call it works for as long as that
// call asks.
import { openToken, type Sign, signToken } from '../http/signed-token.ts'
import type { WantedConnection } from './backend.ts'

export const connectPath = '/connect'
/** Where the browser comes back to. No token has this form. */
export const returnPath = `${connectPath}/back`

export type ConnectFacts = WantedConnection & {
  /** Absent: it ends with the question of the call. */
  expiresAt?: number
}

type Parts = [server: string, owner: string, session: string, call: string, expiresAt: number]

const purpose = 'connect'

export function connectAddress(address: string, facts: ConnectFacts, sign: Sign): string {
  const { server, owner, call = { session: '', callId: '' }, expiresAt = 0 } = facts
  const parts: Parts = [server, owner, call.session, call.callId, expiresAt]
  return `${address}${connectPath}/${signToken(purpose, parts, sign)}`
}

/** Throws `unauthorized` for a token that was not made here. */
export function readConnectToken(token: string, sign: Sign): ConnectFacts {
  const words = 'This address is not valid. Open it as it was given, with all of its characters.'
  const [server, owner, session, callId, expiresAt] = openToken<Parts>(purpose, token, sign, words)
  return {
    server,
    owner,
    ...(session !== '' && { call: { session, callId } }),
    ...(expiresAt !== 0 && { expiresAt }),
  }
}
