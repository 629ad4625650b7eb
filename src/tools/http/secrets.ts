// Credentials of HTTP tools. They are put into a request when it is sent, and taken out of everything that comes back:
// the model, the log and the clients never see them.
import type { ToolContext } from '../../engine/ports/index.ts'

/** A text, or a function that gives it for a call: from the environment, from an option of the session, or refreshed. */
export type CallSecret = string | ((context: ToolContext) => string | Promise<string>)

export type HttpAuth =
  | { bearer: CallSecret }
  | { basic: { user: string; password: CallSecret } }
  /** `in` defaults to `header`. */
  | { apiKey: CallSecret; name: string; in?: 'header' | 'query' | 'cookie' }

/** The places of a request that a credential can go to. */
export type RequestParts = {
  headers: Map<string, string>
  query: [string, string][]
  cookies: [string, string][]
}

/** Puts the credential in. Gives the texts that must not be seen in the answer. */
export async function addAuth(auth: HttpAuth, parts: RequestParts, context: ToolContext): Promise<string[]> {
  if ('bearer' in auth) {
    const token = await opened(auth.bearer, context)
    parts.headers.set('authorization', `Bearer ${token}`)
    return [token]
  }
  if ('basic' in auth) {
    const { user } = auth.basic
    const password = await opened(auth.basic.password, context)
    const coded = Buffer.from(`${user}:${password}`).toString('base64')
    parts.headers.set('authorization', `Basic ${coded}`)
    return [password, coded]
  }
  const key = await opened(auth.apiKey, context)
  if (auth.in === 'query') parts.query.push([auth.name, key])
  else if (auth.in === 'cookie') parts.cookies.push([auth.name, key])
  else parts.headers.set(auth.name.toLowerCase(), key)
  return [key]
}

async function opened(secret: CallSecret, context: ToolContext): Promise<string> {
  const value = typeof secret === 'string' ? secret : await secret(context)
  if (typeof value !== 'string' || value === '')
    throw new Error('The credential of this tool is empty. Set it where the tool is configured.')
  if (/[\r\n\0]/.test(value)) throw new Error('The credential of this tool has a line break in it.')
  return value
}

/** An API may send back what it was given. Very short secrets would also hit ordinary words, and are left alone. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let shown = text
  for (const spelling of listSpellings(secrets)) shown = shown.replaceAll(spelling, '[secret]')
  return shown
}

/** How the secrets may be written in an answer. */
export function listSpellings(secrets: readonly string[]): string[] {
  const known = secrets.filter(secret => secret.length >= 4)
  return [
    ...new Set(
      known.flatMap(secret => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]),
    ),
  ]
}
