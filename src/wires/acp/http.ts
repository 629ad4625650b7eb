// The protocol's experimental transports, HTTP with event streams and WebSocket, on the SDK's own server. This adds who
// owns a connection: its id is no secret, so every request needs the key of its owner.
import type { AgentConnection, AgentConnector } from '@agentclientprotocol/sdk'
import { RequestError } from '@agentclientprotocol/sdk'
import { AcpServer } from '@agentclientprotocol/sdk/experimental/server'
import { type Context, Hono } from 'hono'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import type { Socket } from '../../lib/net/socket.ts'
import type { Principal, WireEnv, WireHost } from '../host.ts'
import { readJson } from '../http/body.ts'
import { sendJson, withoutConnectionHeader } from '../http/index.ts'
import { refusedMessage } from './decode-message.ts'
import type { AcpHost } from './host.ts'
import { serveVersion1 } from './serve.ts'
import { socketStream } from './socket.ts'

export type AcpHttp = {
  routes: Hono<WireEnv>
  open: (socket: Socket, principal: Principal, agent?: string) => void
  close: () => Promise<void>
}

const connectionHeader = 'acp-connection-id'
/** Per owner. An HTTP client that goes away is not noticed: with more, the least recently used connection is closed. */
const mostConnections = 100

/** Without `agent` the client named none. Throws if there is no agent of that name. */
export type HostFor = (principal: Principal, agent: string | undefined) => AcpHost

/** Lines that the SDK prints about connections that it closes. It reports them in no other way. */
const sdkWords = /^(?:Closing )?ACP connection /

/** Moves these lines, and no others, from the console to the log, which has its own format. */
function keepSdkWords(log: AcpHost['log']): void {
  for (const name of ['warn', 'error'] as const) {
    const print = console[name].bind(console)
    console[name] = (...words: unknown[]) => {
      if (typeof words[0] !== 'string' || !sdkWords.test(words[0])) print(...words)
      else log('warn', 'A connection of ACP was closed.', { words: words.map(String).join(' ') })
    }
  }
}

export function acpHttp(hostFor: HostFor, limits: WireHost['limits'], log: AcpHost['log']): AcpHttp {
  keepSdkWords(log)
  /** In the order of their last use. */
  const connections = new Map<string, { owner: string; close(): void }>()
  const server = new AcpServer({
    createAgent: () => {
      throw new Error('Every connection is made with its own agent.')
    },
    maxBufferedBytes: limits.unsentBytes,
    maxOutputStallMs: limits.stallMs ?? 30_000,
  })
  const connectorFor = (host: AcpHost, opened: (link: AgentConnection) => void): AgentConnector => ({
    connect(stream) {
      const link = serveVersion1(host, stream)
      opened(link)
      return link
    },
  })
  const keep = (id: string, owner: string, link: AgentConnection): void => {
    connections.set(id, { owner, close: () => link.close() })
    void link.closed.then(() => connections.delete(id))
    const own = [...connections.values()].filter(each => each.owner === owner)
    if (own.length > mostConnections) own[0]?.close()
  }

  const handle = async (c: Context<WireEnv>): Promise<Response> => {
    const principal = c.get('principal')
    const id = c.req.header(connectionHeader)
    // A connection of another owner is answered like one that does not exist.
    const known = id === undefined ? undefined : connections.get(id)
    if (id !== undefined && known?.owner !== principal.owner) return c.text('Unknown Acp-Connection-Id', 404)
    if (id !== undefined && known) {
      connections.delete(id)
      connections.set(id, known)
    }
    const host = hostFor(principal, c.req.param('agent'))
    const request = await checkedRequest(c, limits)
    if (!request)
      return sendJson(c, refusedMessage(RequestError.invalidRequest(undefined, 'This is no message.')), 400)
    let link: AgentConnection | undefined
    const response = await server.handleRequest(request, {
      createAgent: () =>
        connectorFor(host, opened => {
          link = opened
        }),
    })
    const made = response.headers.get(connectionHeader)
    if (id === undefined && made !== null && link) keep(made, principal.owner, link)
    return response
  }

  return {
    routes: new Hono<WireEnv>().all('/acp/:agent?', withoutConnectionHeader, handle),
    open(socket, principal, agent) {
      serveVersion1(hostFor(principal, agent), socketStream(socket, limits))
    },
    close: () => server.close(),
  }
}

/** The request, with its body parsed and checked against the limits. Undefined: its body is no message. */
async function checkedRequest(c: Context<WireEnv>, limits: WireHost['limits']): Promise<Request | undefined> {
  const { raw, method } = c.req
  if (method !== 'POST' || !/^application\/json\b/i.test(c.req.header('content-type') ?? '')) return raw
  const message = await readJson(c, limits)
  if (isJsonObject(message) && !isMessage(message)) return undefined
  const body = JSON.stringify(message)
  const headers = new Headers(raw.headers)
  headers.delete('content-length')
  return new Request(raw.url, { method, headers, body, signal: raw.signal })
}

/** The SDK waits for an answer with the same id, and answers other ids without one. */
function isMessage({ jsonrpc, id, method }: JsonObject): boolean {
  if (jsonrpc !== '2.0' || (method !== undefined && typeof method !== 'string')) return false
  return (
    id === undefined || id === null || typeof id === 'number' || (typeof id === 'string' && id.length <= 200)
  )
}
