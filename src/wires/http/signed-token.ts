// Tokens that stand in addresses: values in the open, and a signature of them that only this installation can make.
import { TurnwireError } from '../../language/errors.ts'
import { isSameText } from '../../lib/signing/same-text.ts'

/** The same text always gets the same signature. */
export type Sign = (text: string) => string

const longest = 4_000

/** `purpose`: what the token is for. It counts for nothing else. */
export function signToken(purpose: string, values: readonly unknown[], sign: Sign): string {
  const body = Buffer.from(JSON.stringify(values)).toString('base64url')
  return `${body}.${sign(`${purpose} ${body}`)}`
}

/** The values that were signed. Throws `unauthorized` with the words of `refusal` for a token that was not made here. */
export function openToken<Values extends readonly unknown[]>(
  purpose: string,
  token: string,
  sign: Sign,
  refusal: string,
): Values {
  const [body = '', signature = ''] = token.length > longest ? [] : token.split('.')
  if (!isSameText(signature, sign(`${purpose} ${body}`))) throw new TurnwireError('unauthorized', refusal)
  // It was signed here, so `signToken` wrote it.
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as Values
}
