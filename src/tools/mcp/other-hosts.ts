// Which addresses are reached for a server. Its own origin is the operator's choice, and the only one that gets the headers of
// its settings. Everything else, such as the metadata and the token endpoint of an authorization server, is named by the
// server, so it is fetched within the egress rule: no spelling, redirect or DNS answer leads to a private network.
import type { FetchLike } from '@modelcontextprotocol/client'
import type { McpHttpServer } from './spec.ts'

/** As `Egress.fetch`: refuses what the rule does not allow. */
export type OtherFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export function guardedFetch(spec: McpHttpServer, own: FetchLike, other: OtherFetch | undefined): FetchLike {
  const server = new URL(spec.url)
  const issuer = URL.parse(spec.auth?.issuer ?? '')
  return (given, init) => {
    const url = new URL(given)
    if (url.origin === server.origin) return own(url, withHeaders(init, spec.headers))
    if (url.origin === issuer?.origin) return own(url, init)
    // A program on this machine can reach the machine's other ports itself.
    if (isLoopback(server.hostname) && url.hostname === server.hostname) return own(url, init)
    if (!other)
      return Promise.reject(
        new Error(`The server names ${url.origin}, which is another host than its own. It is not reached.`),
      )
    return other(url, init)
  }
}

/** Adds headers. A header that the protocol has set is not replaced. */
function withHeaders(init: RequestInit | undefined, more: McpHttpServer['headers'] = {}): RequestInit {
  const headers = new Headers(init?.headers)
  for (const [name, value] of Object.entries(more)) if (!headers.has(name)) headers.set(name, value)
  return { ...init, headers }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
