// The pages of a connection: what is wished, that the person goes on elsewhere, that it is done.
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { frame, html, markup } from '../http/page.ts'

export type Page = { status: ContentfulStatusCode; html: string }

export type ConnectStep =
  | { state: 'ask'; server: string; host: string; owner: string; scope?: string }
  /** The person goes on at this address. */
  | { state: 'begun'; server: string; address: string }
  /** `waits`: a call goes on now. */
  | { state: 'done'; server: string; owner: string; waits: boolean }

export function connectPage(nonce: string, step: ConnectStep): Page {
  switch (step.state) {
    case 'ask':
      return page(nonce, `Connect ${step.server}?`, askPage(step))
    case 'begun': {
      const { server, address } = step
      const { host } = new URL(address)
      const body = `<h1>Go on to ${html(host)}</h1>
<p>Sign in there and agree. You come back here afterwards.</p>
<p><a class="go" href="${markup(address)}" rel="noreferrer">Go on to ${html(host)}</a></p>`
      const head = `<meta http-equiv="refresh" content="0; url=${markup(address)}">\n`
      return page(nonce, `Connect ${server}`, body, head)
    }
    case 'done': {
      const { server, owner, waits } = step
      const next = waits ? 'The call that waited for it goes on by itself. ' : ''
      const words = `Sessions of <b>${html(owner)}</b> can use it from now on. ${next}You can close this page.`
      return page(nonce, 'Connected', `<h1>${html(server)} is connected</h1><p>${words}</p>`)
    }
  }
}

export function problemPage(nonce: string, status: ContentfulStatusCode, words: string): Page {
  const title = 'Not connected'
  return { status, html: frame(nonce, title, `<h1>${title}</h1><p>${html(words)}</p>`) }
}

function askPage({ server, host, owner, scope }: Extract<ConnectStep, { state: 'ask' }>): string {
  const wanted = scope === undefined ? '' : `<p>It asks for: <code>${html(scope, 500)}</code></p>`
  return `<p class="who">For <b>${html(owner)}</b></p>
<h1>Connect <code>${html(server)}</code>?</h1>
<p>You choose an account at <b>${html(host)}</b> and agree there. Every session of <b>${html(owner)}</b> can then use that account, and nobody else's can.</p>
${wanted}
<p class="doubt">If you do not act for ${html(owner)}, or did not ask for this, close this page: your account would be used by someone else.</p>
<form method="post"><button class="allow" name="go" value="on">Connect</button></form>
<p class="small">It can be ended at any time. Tokens are kept sealed on this server.</p>`
}

function page(nonce: string, title: string, body: string, head = ''): Page {
  return { status: 200, html: frame(nonce, title, body, head) }
}
