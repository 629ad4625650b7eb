// Signing in to a relay with a wallet: challenge, signature, token. Also reads the owner's usage there.

import { readWalletAddress, type Wallet } from '../../callers/wallet.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject, parseBounded } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'

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

/** A server on this machine is seldom behind TLS. */
const isHere = /^(?:localhost|127\.[\d.]+|\[::1\])(?::|\/|$)/i

/** The address of a relay, without its path's last slash. Throws what to write instead. */
export function readServer(text: string): URL {
  const scheme = isHere.test(text) ? 'http' : 'https'
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `${scheme}://${text}`)
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
  if (!isForServer(message, nonce, server))
    throw new SignInFailure(
      `The server wants something signed that is not for ${server.host} alone: it could be used elsewhere. Nothing was signed. Attach to the address that the server has for itself; its operator sets it as server.publicUrl.`,
      true,
    )
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
    named.length > 0 &&
    named.every(each => readWalletAddress(each) === address)
  )
}

/** Addresses of servers, with their ports, wherever they are in a text. Also the first line of EIP-4361, of any name. */
const hostForm =
  /(?<=:\/\/)[^\s/?#]+|^\S+(?= wants you to sign in)|(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+(?::\d+)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?|\blocalhost\b(?::\d+)?/gim
const loopback = ['localhost', '127.0.0.1', '[::1]']

/**
 * A signature for another server would let this one sign in there. So the text must name the server that asks for it, and
 * no other. A nonce may look like the name of one, and has a line of its own.
 */
function isForServer(message: string, nonce: string, server: URL): boolean {
  const lines = message.split('\n').filter(line => /\s/.test(nonce) || line !== `Nonce: ${nonce}`)
  const named = lines.join('\n').match(hostForm) ?? []
  return named.length > 0 && named.every(each => namesHost(each.replace(/[^\w\]]+$/, ''), server))
}

/** A name without a port is that of the server at any port. */
function namesHost(named: string, server: URL): boolean {
  const url = named.includes('@') ? null : URL.parse(`${server.protocol}//${named}`)
  const hasPort = /:\d+$/.test(named)
  if (!url || (hasPort && url.port !== server.port)) return false
  const isLocal = loopback.includes(url.hostname) && loopback.includes(server.hostname)
  return url.hostname === server.hostname || isLocal
}

/** The usage and earnings of the owner's agent, as the relay reports them. */
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
  const body = text.length > mostChars ? undefined : parseBounded(text)
  if (answer.ok && isJsonObject(body)) return body
  const error = isJsonObject(body) ? body['error'] : undefined
  const said = isJsonObject(error) ? error['message'] : error
  const words = typeof said === 'string' ? said : `It answered with status ${answer.status}.`
  // The server is at fault, or wants to be asked later.
  const passes = answer.status >= 500 || answer.status === 429 || answer.status === 408
  throw new SignInFailure(`${server.origin}: ${printable(words, 500)}`, !passes)
}
