// Signing in to a relay with a wallet: challenge, signature, token. Also what a signed-in owner may read there.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import { readAddress, type Wallet } from '../viem.ts'

/** `final`: another attempt would end the same way. */
export class SignInFailure extends Error {
  readonly final: boolean
  constructor(message: string, final: boolean, options?: ErrorOptions) {
    super(message, options)
    this.final = final
  }
}

const patienceMs = 20_000
const mostChars = 100_000

/** The address of a relay, without its path's last slash. Throws what to write instead. */
export function readServer(text: string): URL {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`)
  const isWeb = url !== null && ['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)
  if (!isWeb || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new TurnwireError(
      'config_invalid',
      `"${printable(text, 200)}" is no server. Write it like https://relay.example`,
    )
  url.protocol = url.protocol.replace('ws', 'http')
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url
}

export async function signIn(
  server: URL,
  wallet: Wallet,
  signal: AbortSignal,
): Promise<{ jwt: string; agentId: string }> {
  const { nonce, message } = await read(server, `/auth/challenge?address=${wallet.address}`, {}, signal)
  if (typeof nonce !== 'string' || typeof message !== 'string' || !isSignIn(message, wallet))
    throw new SignInFailure('The server wants something signed that is no sign-in. Nothing was signed.', true)
  const signature = await wallet.sign(message)
  const body = JSON.stringify({ address: wallet.address, nonce, signature })
  const headers = { 'content-type': 'application/json' }
  const { jwt, agentId } = await read(server, '/auth/verify', { method: 'POST', body, headers }, signal)
  if (typeof jwt !== 'string') throw new SignInFailure('The server gave no token.', true)
  return { jwt, agentId: typeof agentId === 'string' ? agentId : wallet.address }
}

/**
 * A signature of a message is no payment, but nothing unlike a sign-in is signed: it must be short text that names the
 * wallet, with no characters that hide others.
 */
function isSignIn(message: string, { address }: Wallet): boolean {
  const named = message.match(/0x[0-9a-f]{40}/gi) ?? []
  return (
    message.length <= 2_000 &&
    /^[\x20-\x7e\n]+$/.test(message) &&
    named.every(each => readAddress(each) === address)
  )
}

/** What the relay says that the owner's agent did and earned. */
export function readUsage(server: URL, jwt: string, signal: AbortSignal): Promise<JsonObject> {
  return read(server, '/v1/usage', { headers: { authorization: `Bearer ${jwt}` } }, signal)
}

async function read(server: URL, path: string, init: RequestInit, signal: AbortSignal): Promise<JsonObject> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  let answer: Response
  let text: string
  try {
    answer = await fetch(`${server.href.replace(/\/$/, '')}${path}`, {
      ...init,
      redirect: 'error',
      signal: limit,
    })
    text = await answer.text()
  } catch (cause) {
    signal.throwIfAborted()
    throw new SignInFailure(`${server.origin} cannot be reached.`, false, { cause })
  }
  const body = text.length > mostChars ? undefined : parsed(text)
  if (answer.ok && body) return body
  const error = isJsonObject(body?.['error']) ? body['error'] : {}
  const words =
    typeof error['message'] === 'string' ? error['message'] : `It answered with status ${answer.status}.`
  // The server is at fault, or wants to be asked later.
  const passes = answer.status >= 500 || answer.status === 429 || answer.status === 408
  throw new SignInFailure(`${server.origin}: ${printable(words, 500)}`, !passes)
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
