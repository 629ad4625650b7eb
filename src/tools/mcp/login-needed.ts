// The error of a server that wants a login. Apart from the OAuth client, whose packages are loaded with the first connection.
import { TurnwireError } from '../../language/errors.ts'

/** The server wants a login, and nobody is here to do it. */
export class LoginNeeded extends TurnwireError {
  /** Scopes that are missing. Undefined: those that the server names by itself. */
  readonly scope: string | undefined

  constructor(server: string, why: string, scope?: string) {
    super('invalid_tool', `${why} Run: turnwire mcp login ${server}`)
    this.scope = scope
  }
}

/** The login that is missing, if that is why something failed. */
export function findLogin(thrown: unknown): LoginNeeded | undefined {
  for (let at = thrown, depth = 0; depth < 8 && at instanceof Error; at = at.cause, depth += 1)
    if (at instanceof LoginNeeded) return at
  return undefined
}
