// The page at /auth?callback=…: a person signs in with the wallet of their browser, and the token goes to the program that
// opened the page. Only programs on the person's own machine may be named: a token that went anywhere else would let
// someone else act for the wallet.
import { randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import type { WireEnv } from '../../callers/caller.ts'
import { TurnwireError } from '../../language/errors.ts'

export function signInPage(c: Context<WireEnv>): Response {
  const callback = readCallback(c.req.query('callback'))
  const nonce = randomBytes(16).toString('base64')
  return c.html(pageFor(callback, nonce), 200, {
    'Content-Security-Policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  })
}

function readCallback(given: string | undefined): string {
  const url = given === undefined ? null : URL.parse(given)
  const isLocal = url !== null && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  if (!isLocal || url.protocol !== 'http:' || url.username !== '' || url.password !== '')
    throw new TurnwireError(
      'bad_request',
      'Give the address of a program on your own machine: /auth?callback=http://127.0.0.1:<port>/callback',
    )
  return url.href
}

/** The script has no text of the request but the callback, as JSON whose `<` is escaped. */
function pageFor(callback: string, nonce: string): string {
  const target = JSON.stringify(callback).replaceAll('<', '\\u003c')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Sign in to this relay</title>
<style nonce="${nonce}">body{font:16px/1.5 system-ui;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
<h1>Sign in with your wallet</h1>
<p>You sign a message that proves that the wallet is yours. It allows no payment. The program on your machine that opened this page then acts for your agent.</p>
<button id="sign">Sign in</button>
<p id="state" role="status"></p>
<script nonce="${nonce}">
const callback = ${target}
const say = text => { document.getElementById('state').textContent = text }
const read = async answer => {
  const body = await answer.json()
  if (!answer.ok) throw new Error(body.error.message)
  return body
}
document.getElementById('sign').addEventListener('click', async () => {
  try {
    if (!window.ethereum) throw new Error('This browser has no wallet. Use turnwire attach, which makes a key of its own.')
    const [address] = await window.ethereum.request({ method: 'eth_requestAccounts' })
    const { nonce, message } = await read(await fetch('/auth/challenge?address=' + encodeURIComponent(address)))
    const signature = await window.ethereum.request({ method: 'personal_sign', params: [message, address] })
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ address, nonce, signature })
    const { jwt } = await read(await fetch('/auth/verify', { method: 'POST', headers, body }))
    const url = new URL(callback)
    url.searchParams.set('jwt', jwt)
    say('Signed in. You can close this page.')
    location.href = url.href
  } catch (error) {
    say(error.message)
  }
})
</script>
</html>
`
}
