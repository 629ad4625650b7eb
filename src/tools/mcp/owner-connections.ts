// Owners connect their own accounts at MCP servers: a login is begun for one owner, and finished by the browser that began it, at
// whichever node it comes back to. Nothing here knows HTTP: src/wires/connect serves the pages.
import { randomBytes } from 'node:crypto'
import { TurnwireError } from '../../language/errors.ts'
import type { ServerConnection } from '../../language/servers.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import type { McpOptions } from './index.ts'
import type { LoginPlace } from './owner-login.ts'
import type { KeptLogin, OwnerTokens } from './owner-tokens.ts'
import type { McpHttpServer } from './spec.ts'

/** From the page to the way back from the login. */
const loginMs = 15 * 60_000

export type ConnectionNeeds = {
  specs: readonly McpHttpServer[]
  tokens: OwnerTokens
  fetchOther: (server: string) => NonNullable<McpOptions['fetchOther']>
  now: () => number
  log: NonNullable<McpOptions['log']>
  /** The owner is not connected any more. */
  forgotten: (server: string, owner: string) => Promise<void>
}

export type WishedLogin = Pick<KeptLogin, 'server' | 'owner' | 'call'>

export class OwnerConnections {
  readonly #needs: ConnectionNeeds

  constructor(needs: ConnectionNeeds) {
    this.#needs = needs
  }

  get servers(): { name: string; host: string; scope?: string }[] {
    return this.#needs.specs.map(({ name, url, auth: { scope } = {} }) => ({
      name,
      host: new URL(url).host,
      ...(scope !== undefined && { scope }),
    }))
  }

  /** Gives where the person agrees, and the secret that their browser has to bring back. */
  async begin(wish: WishedLogin, redirectUrl: string): Promise<{ address: string; browser: string }> {
    const { tokens, now, log } = this.#needs
    const spec = this.#spec(wish.server)
    const account = tokens.account(spec, wish.owner)
    await account.pull()
    const { beginLogin } = await import('./owner-login.ts')
    try {
      const { address, begun, kept } = await beginLogin(this.#place(spec, redirectUrl), account.load())
      const browser = randomBytes(32).toString('base64url')
      const login = { ...wish, begun, kept, browser, redirectUrl, until: now() + loginMs }
      await tokens.keepLogin(begun.state, login)
      return { address, browser }
    } catch (error) {
      if (error instanceof TurnwireError) throw error
      log('warn', 'A login at an MCP server could not be begun.', describe(wish, error))
      throw new TurnwireError(
        'invalid_tool',
        `The login of "${spec.name}" cannot be reached now. Try again in a moment.`,
        { cause: error },
      )
    }
  }

  /** What came back, with the secret of the browser. Rejects with `unauthorized` in words for the person. */
  async finish(returned: URLSearchParams, browser: string | undefined): Promise<WishedLogin> {
    const { tokens, log } = this.#needs
    const login = await tokens.takeLogin(returned.get('state') ?? '')
    // Another browser than the one that began could be that of somebody who was sent the address.
    if (!login || browser !== login.browser)
      throw new TurnwireError(
        'unauthorized',
        'This login was not begun in this browser, was used before, or took too long. Open the address that you were given once more.',
      )
    const { server, owner, call } = login
    const spec = this.#spec(server)
    const account = tokens.account(spec, owner)
    const { finishLogin } = await import('./owner-login.ts')
    try {
      const kept = await finishLogin(this.#place(spec, login.redirectUrl), login, returned)
      await account.alone(async () => account.save(kept))
    } catch (error) {
      log('warn', 'A login at an MCP server was not finished.', describe(login, error))
      const words = error instanceof TurnwireError ? error.message : `"${server}" did not take the login.`
      throw new TurnwireError('unauthorized', `${words} Open the address once more to try again.`, {
        cause: error,
      })
    }
    log('info', 'An owner has connected an account at an MCP server.', { server, owner })
    return { server, owner, ...(call && { call }) }
  }

  /** `owner` undefined: of all owners. */
  list(owner?: string): Promise<(ServerConnection & { owner: string })[]> {
    return this.#needs.tokens.list(owner)
  }

  /** Removes what is kept, and tells the authorization server. False: the owner was not connected. */
  async forget(server: string, owner: string): Promise<boolean> {
    const { tokens, log, forgotten } = this.#needs
    const spec = this.#spec(server)
    const kept = await tokens.account(spec, owner).forget()
    await forgotten(server, owner)
    if (!kept) return false
    try {
      const { revokeTokens } = await import('./owner-login.ts')
      await revokeTokens(this.#place(spec, kept.redirectUrl ?? ''), kept)
    } catch (error) {
      log(
        'warn',
        'Tokens of an owner were deleted here, and could not be revoked there.',
        describe({ server, owner }, error),
      )
    }
    return true
  }

  #place(spec: McpHttpServer, redirectUrl: string): LoginPlace {
    return { spec, redirectUrl, fetchOther: this.#needs.fetchOther(spec.name) }
  }

  #spec(server: string): McpHttpServer {
    const found = this.#needs.specs.find(({ name }) => name === server)
    if (!found)
      throw new TurnwireError(
        'not_found',
        `There is no MCP server "${printable(server, 80)}" with accounts of owners.`,
      )
    return found
  }
}

function describe(
  { server, owner }: Pick<WishedLogin, 'server' | 'owner'>,
  error: unknown,
): Record<string, string> {
  return { server, owner, error: printable(errorMessage(error), 300) }
}
