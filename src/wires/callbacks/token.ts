// The token of a callback address: session, call and expiry in the open, and a signature of all three that only this
// installation can make.
import { timingSafeEqual } from 'node:crypto'
import { TurnwireError } from '../../language/errors.ts'

export const callbackPath = '/callbacks'

export type CallbackCall = { session: string; callId: string; expiresAt: number }

/** `sign`: the same text always gets the same signature. */
type Sign = (text: string) => string

const signed = (body: string): string => `callback ${body}`

export function makeToken({ session, callId, expiresAt }: CallbackCall, sign: Sign): string {
  const body = Buffer.from(JSON.stringify([session, callId, expiresAt])).toString('base64url')
  return `${body}.${sign(signed(body))}`
}

/** Throws `unauthorized` for a token that was not made here, `callback_expired` for one that is too old. */
export function readToken(token: string, sign: Sign, now: number): CallbackCall {
  const [body = '', signature = ''] = token.length > 2_000 ? [] : token.split('.')
  const [given, wanted] = [Buffer.from(signature), Buffer.from(sign(signed(body)))]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new TurnwireError('unauthorized', 'This callback address is not valid.')
  // It was signed here, so it was written by makeToken.
  const call = JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string, number]
  const [session, callId, expiresAt] = call
  if (expiresAt <= now) throw new TurnwireError('callback_expired', 'This callback address has expired.')
  return { session, callId, expiresAt }
}
