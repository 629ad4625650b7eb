// Cookies of browsers, which no script of a page can read.

export function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === wanted && value) return value.trim()
  }
  return undefined
}

/** `isSecure`: it never travels without TLS. */
type CookieRules = { sameSite: 'Strict' | 'Lax'; maxAgeS: number; isSecure: boolean }

/** The value of `Set-Cookie`. */
export function writeCookie(name: string, value: string, rules: CookieRules): string {
  const { sameSite, maxAgeS, isSecure } = rules
  return `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeS}${isSecure ? '; Secure' : ''}`
}
