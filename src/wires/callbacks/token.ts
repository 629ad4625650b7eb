// The token of a callback address: session, call and expiry.
import { TurnwireError } from '../../language/errors.ts'
import { openToken, type Sign, signToken } from '../http/signed-token.ts'

export const callbackPath = '/callbacks'

export type CallbackCall = { session: string; callId: string; expiresAt: number }

type Parts = [session: string, callId: string, expiresAt: number]

const purpose = 'callback'

export function makeToken({ session, callId, expiresAt }: CallbackCall, sign: Sign): string {
  return signToken(purpose, [session, callId, expiresAt] satisfies Parts, sign)
}

/** Throws `unauthorized` for a token that was not made here, `callback_expired` for one that is too old. */
export function readToken(token: string, sign: Sign, now: number): CallbackCall {
  const words = 'This callback address is not valid.'
  const [session, callId, expiresAt] = openToken<Parts>(purpose, token, sign, words)
  if (expiresAt <= now) throw new TurnwireError('callback_expired', 'This callback address has expired.')
  return { session, callId, expiresAt }
}
