// A person logs in to an MCP server: opens an address in a browser, and comes back to a page that this process serves on the
// loopback interface for that one moment. The tokens are sealed in the data folder, where the server process finds them.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TurnwireError } from '../language/errors.ts'
import type { ToolServerInfo } from '../language/servers.ts'
import {
  type AuthStore,
  type McpHttpServer,
  type McpOptions,
  mcpServer,
  type OwnerConnections,
} from '../tools/mcp/index.ts'

export type LoginOptions = {
  store: AuthStore
  fetchOther?: McpOptions['fetchOther']
  /** Shows the address to the person. */
  show: (url: URL) => void
  signal?: AbortSignal
}

/** Resolves when the server has accepted the token. */
export async function loginToServer(
  spec: McpHttpServer,
  { store, fetchOther, show, signal }: LoginOptions,
): Promise<Omit<ToolServerInfo, 'agents'>> {
  const back = await CallbackPage.open(store.load().redirectUrl)
  // More scopes, or another person: a token that is there would be used otherwise.
  const { tokens: _, ...rest } = store.load()
  store.save(rest)
  try {
    const connection = await mcpServer(spec, {
      elicitModes: [],
      ...(fetchOther && { fetchOther }),
      auth: {
        store,
        person: {
          redirectUrl: back.url,
          authorize: async url => {
            show(url)
            return back.returned(signal)
          },
        },
      },
    })
    const { info } = connection
    await connection.close()
    if (!store.load().tokens)
      throw new TurnwireError(
        'bad_request',
        `The MCP server "${spec.name}" wants no login: it can be used as it is.`,
      )
    return info
  } finally {
    back.close()
  }
}

export type OwnerLoginOptions = Pick<LoginOptions, 'show' | 'signal'> & { server: string; owner: string }

/** Connects an account of one owner, without a server that could serve a page for it. */
export async function loginOwner(
  connections: OwnerConnections,
  { server, owner, show, signal }: OwnerLoginOptions,
): Promise<void> {
  const back = await CallbackPage.open(undefined)
  try {
    const { address, browser } = await connections.begin({ server, owner }, back.url)
    show(new URL(address))
    await connections.finish(await back.returned(signal), browser)
  } finally {
    back.close()
  }
}

/** `http://127.0.0.1:<port>/callback`, until it is closed. */
class CallbackPage {
  readonly #server: Server
  #next = Promise.withResolvers<URLSearchParams>()

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => this.#answer(request, response))
  }

  /** `before`: the address of the last time, for which a client may be registered. Another port is taken if it is in use. */
  static async open(before: string | undefined): Promise<CallbackPage> {
    const server = createServer()
    const known = URL.parse(before ?? '')
    const port = known?.hostname === '127.0.0.1' ? Number(known.port) : 0
    await listenForLogin(server, port).catch(() => listenForLogin(server, 0))
    return new CallbackPage(server)
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo // It listens on TCP.
    return `http://127.0.0.1:${port}/callback`
  }

  async returned(signal: AbortSignal | undefined): Promise<URLSearchParams> {
    const stop = (): void => this.#next.reject(new TurnwireError('bad_request', 'The login was broken off.'))
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    try {
      return await this.#next.promise
    } finally {
      signal?.removeEventListener('abort', stop)
      this.#next = Promise.withResolvers()
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    // Not every target of a request is an address.
    const url = URL.parse(request.url ?? '/', this.url)
    const isBack = request.method === 'GET' && url?.pathname === '/callback' && url.searchParams.has('state')
    response.writeHead(isBack ? 200 : 404, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(isBack ? 'You can close this page and go back to the terminal.\n' : 'Not found\n')
    if (isBack) this.#next.resolve(url.searchParams)
  }
}

function listenForLogin(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}
