// Checks of request headers, as pure functions: Host, Origin and the bearer token. The Host and Origin checks keep a
// web page from talking to a server on the same machine (DNS rebinding), so both parse strictly and refuse any value
// that they cannot parse.

type Authority = { host: string; port: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Loopback names pass with any port. An allowed entry with a port matches only that port; an entry without one matches
 * every port. A missing Host is refused.
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
 * A request without an Origin does not come from a web page, and passes. `allowed` holds whole origins
 * ("https://app.example"), or "*" for every origin except the opaque `null`, which is never allowed.
 * `selfHost` is the request's own Host header, already checked.
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

/** Undefined unless it is a host name or address as browsers send it: no user info, path or space. */
function parseAuthority(text: string | undefined): Authority | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/i.exec(text ?? '')
  if (found === null) return undefined
  const [, host = '', port = ''] = found
  // URL.parse normalises the spelling of an address. These names are normal already, and parsing is slow.
  if (LOOPBACK.has(host)) return { host, port }
  const url = URL.parse(`http://${host}`)
  return url === null ? undefined : { host: url.hostname, port }
}

function bracketed(entry: string): string {
  return entry.startsWith('[') || entry.split(':').length <= 2 ? entry : `[${entry}]`
}

// ---------------------------------------------------------------------------------------------------------

/** The scheme is case-insensitive. The token has the characters of RFC 6750, and nothing follows it. */
export function parseBearer(header: string | undefined): { token: string } | 'missing' | 'malformed' {
  if (header === undefined || header === '') return 'missing'
  const found = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)
  return found === null ? 'malformed' : { token: found[1]! }
}
