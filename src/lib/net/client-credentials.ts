// How a client of OAuth names itself at a token endpoint.

/** The value of `authorization`, as RFC 6749 has it: both parts are form-encoded first. */
export function clientCredentials(id: string, secret: string): string {
  const encode = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}
