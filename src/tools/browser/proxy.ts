// A proxy on loopback that all of Chromium's traffic goes through: pages, what pages load, redirects and WebSockets. Every
// connection is made within the egress rule, with the address that was checked, so that no redirect, no DNS answer and no
// page script reaches a private network, this process included. Each browser context has credentials of its own, by which
// the proxy knows its hosts; without credentials nothing is served.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorMessage } from '../../lib/text/error-message.ts'

/** Opens the connections of one browser context, within the hosts that it may reach. */
export type Passage = {
  /** Opens a connection, or rejects with the reason why not. */
  connect(url: URL): Promise<Socket>
  /** Told of each refusal. */
  refused(host: string, reason: string): void
}

export class BrowserProxy {
  readonly #passages = new Map<string, Passage>()
  readonly #server: Server
  readonly #sockets = new Set<Duplex>()

  private constructor() {
    this.#server = createServer((incoming, response) => void this.#forward(incoming, response))
    this.#server.on('connect', (incoming, socket, head) => void this.#tunnel(incoming, socket, head))
    this.#server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#server.unref()
  }

  static async start(): Promise<BrowserProxy> {
    const proxy = new BrowserProxy()
    await new Promise<void>((resolve, reject) => {
      // The listener stays after the start: a failure to accept one connection (too many open files) ends nothing else.
      proxy.#server.on('error', reject)
      proxy.#server.listen(0, '127.0.0.1', resolve)
    })
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** `token`: the secret by which the context shows who it is. */
  admit(token: string, passage: Passage): void {
    this.#passages.set(token, passage)
  }

  dismiss(token: string): void {
    this.#passages.delete(token)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #findPassage({ headers }: IncomingMessage): Passage | undefined {
    const [scheme, value = ''] = (headers['proxy-authorization'] ?? '').split(' ')
    if (scheme?.toLowerCase() !== 'basic') return undefined
    const [, token = ''] = Buffer.from(value, 'base64').toString().split(':')
    return this.#passages.get(token)
  }

  /** `CONNECT host:port`: https pages, and WebSockets of either kind. */
  async #tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    const passage = this.#findPassage(incoming)
    if (!passage) {
      socket.end(`HTTP/1.1 407 Proxy Authentication Required\r\n${challenge}\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    // The scheme of a tunnel is not known; with a port it makes no difference.
    const url = URL.parse(`https://${incoming.url}`)
    try {
      if (url?.pathname !== '/') throw new Error('This is no address.')
      const port = url.port || '443'
      const target = new URL(`${port === '80' ? 'http' : 'https'}://${url.hostname}:${port}`)
      const remote = await passage.connect(target)
      if (socket.destroyed) remote.destroy()
      remote.on('error', () => socket.destroy())
      remote.on('close', () => socket.destroy())
      socket.on('close', () => remote.destroy())
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      if (head.length > 0) remote.write(head)
      remote.pipe(socket).pipe(remote)
    } catch (error) {
      passage.refused(url?.host ?? '', errorMessage(error))
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
    }
  }

  /** `GET http://host/path`: a page without TLS. */
  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const passage = this.#findPassage(incoming)
    if (!passage) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="turnwire"' }).end()
      return
    }
    const url = URL.parse(incoming.url ?? '')
    let remote: Socket | undefined
    try {
      if (url?.protocol !== 'http:') throw new Error('Only pages over http and https are loaded.')
      remote = await passage.connect(url)
      if (response.destroyed) remote.destroy()
      else exchange(incoming, response, url, remote)
    } catch (error) {
      remote?.destroy()
      passage.refused(url?.host ?? '', errorMessage(error))
      response.writeHead(403).end()
    }
  }
}

/** Sends a request on over a connection, and its answer back. */
function exchange(incoming: IncomingMessage, response: ServerResponse, url: URL, remote: Socket): void {
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).filter(([name]) => !hopHeaders.has(name)),
  )
  const sending = request({
    createConnection: () => remote,
    method: incoming.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, connection: 'close' },
  })
  sending.on('response', answer => {
    answer.on('error', () => response.destroy())
    if (!answerAs(response, answer)) {
      sending.destroy()
      response.writeHead(502).end()
    } else answer.pipe(response)
  })
  sending.on('error', () => response.destroy())
  // A server that wants another protocol is left without an error.
  sending.on('close', () => {
    if (!response.headersSent) response.destroy()
  })
  response.on('close', () => sending.destroy())
  incoming.pipe(sending)
}

/** False: the answer has a status or a header that HTTP does not have. A server may send anything. */
function answerAs(response: ServerResponse, { statusCode = 0, headers }: IncomingMessage): boolean {
  try {
    response.writeHead(statusCode, headers)
    return true
  } catch {
    return false
  }
}

const challenge = 'Proxy-Authenticate: Basic realm="turnwire"'
const hopHeaders = new Set([
  'proxy-authorization',
  'proxy-connection',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
])
