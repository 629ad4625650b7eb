// Judgements about request headers, as pure functions: is this Host ours, may this Origin talk to us, what
// does the Authorization header carry. Host and Origin checks are what stands between a web page and a
// server on the same machine (DNS rebinding), so both parse strictly and refuse what they cannot read.

import { hash, timingSafeEqual } from 'node:crypto'

type Authority = { host: string; port: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Loopback names pass with any port. An allowed entry with a port matches that port alone; one without
 * matches any. A missing Host is refused.
 */
export function checkHost(host: string | undefined, allowed: readonly string[]): boolean {
  const asked = parseAuthority(host)
  if (asked === undefined) return false
  if (LOOPBACK.has(asked.host)) return true
  return allowed.some(entry => {
    const ours = parseAuthority(bracketed(entry))
    return ours !== undefined && ours.host === asked.host && (ours.port === '' || ours.port === asked.port)
  })
}

/**
 * No Origin means no browser page behind the request, and passes. `allowed` holds whole origins
 * ("https://app.example"), or "*" for all but the opaque `null`, which is never allowed.
 * `selfHost` is the request's own Host, already checked.
 */
export function checkOrigin(
  origin: string | undefined,
  allowed: readonly string[],
  selfHost: string | undefined,
): boolean {
  if (origin === undefined) return true
  const asked = parseOrigin(origin)
  if (asked === undefined) return false
  if (allowed.some(entry => entry === '*' || parseOrigin(entry)?.origin === asked.origin)) return true
  const self = selfHost === undefined ? null : URL.parse(`${asked.protocol}//${selfHost}`)
  return self !== null && parseAuthority(selfHost) !== undefined && self.host === asked.host
}

function parseOrigin(text: string): URL | undefined {
  if (!/^https?:\/\/[^/?#@\s]+$/i.test(text)) return undefined
  return URL.parse(text) ?? undefined
}

/** Names and addresses as browsers send them; user info, paths and spaces make it unreadable. */
function parseAuthority(text: string | undefined): Authority | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/i.exec(text ?? '')
  if (found === null) return undefined
  const [, host = '', port = ''] = found
  // What a URL would be read for is to tell the many spellings of an address; these are spelled as it would say them.
  if (LOOPBACK.has(host)) return { host, port }
  const url = URL.parse(`http://${host}`)
  return url === null ? undefined : { host: url.hostname, port }
}

function bracketed(entry: string): string {
  return entry.startsWith('[') || entry.split(':').length <= 2 ? entry : `[${entry}]`
}

// ---------------------------------------------------------------------------------------------------------

/** The scheme is case-insensitive; the token is what RFC 6750 allows, and nothing may follow it. */
export function parseBearer(header: string | undefined): { token: string } | 'missing' | 'malformed' {
  if (header === undefined || header === '') return 'missing'
  const found = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)
  return found === null ? 'malformed' : { token: found[1]! }
}

/** Takes the same time wherever the texts differ, and whatever their lengths. */
export function timingSafeEqualText(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
