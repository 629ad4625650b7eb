// The protocol's experimental transports, HTTP with event streams and WebSocket, on the SDK's own server. What is added is
// whose a connection is: its id is a name, and the key that made it is asked for with every request.
import type { AgentConnection, AgentConnector } from '@agentclientprotocol/sdk'
import { AcpServer, type PreparedWebSocketUpgrade } from '@agentclientprotocol/sdk/experimental/server'
import { type Context, Hono } from 'hono'
import type { Principal, WireEnv, WireHost } from '../host.ts'
import { readJson } from '../http/body.ts'
import { connectVersion1 } from './connection.ts'
import type { AcpHost } from './host.ts'

export type AcpSocket = Parameters<PreparedWebSocketUpgrade['accept']>[0]

export type AcpHttp = {
  routes: Hono<WireEnv>
  open: (socket: AcpSocket, principal: Principal, agent?: string) => void
  close: () => Promise<void>
}

const connectionHeader = 'acp-connection-id'
/** Of one owner. Nothing tells of a client over HTTP that has gone: beyond this, the one unused for longest is closed. */
const mostConnections = 100

/** `agent` is undefined when the client names none. Throws if there is none of that name. */
export type HostFor = (principal: Principal, agent: string | undefined) => AcpHost

export function acpHttp(hostFor: HostFor, limits: WireHost['limits']): AcpHttp {
  /** The one that was used last stands last. */
  const connections = new Map<string, { owner: string; close(): void }>()
  const server = new AcpServer({
    createAgent: () => {
      throw new Error('A connection is made for someone.')
    },
    maxBufferedBytes: limits.unsentBytes,
  })
  const connectorFor = (host: AcpHost, opened: (link: AgentConnection) => void): AgentConnector => ({
    connect(stream) {
      const link = connectVersion1(host, stream)
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
    // Someone else's connection is as unknown as one that never was.
    const known = id === undefined ? undefined : connections.get(id)
    if (id !== undefined && known?.owner !== principal.owner) return c.text('Unknown Acp-Connection-Id', 404)
    if (id !== undefined && known) {
      connections.delete(id)
      connections.set(id, known)
    }
    const host = hostFor(principal, c.req.param('agent'))
    let link: AgentConnection | undefined
    const response = await server.handleRequest(await bounded(c, limits), {
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
    routes: new Hono<WireEnv>().all('/acp', handle).all('/acp/:agent', handle),
    open(socket, principal, agent) {
      const host = hostFor(principal, agent)
      server.prepareWebSocketUpgrade({ createAgent: () => connectorFor(host, () => {}) }).accept(socket)
    },
    close: () => server.close(),
  }
}

/** The same request with a body that is known to be JSON, and no longer than is allowed. */
async function bounded(c: Context<WireEnv>, limits: WireHost['limits']): Promise<Request> {
  const { raw, method } = c.req
  if (method !== 'POST' || !/^application\/json\b/i.test(c.req.header('content-type') ?? '')) return raw
  const body = JSON.stringify(await readJson(c, limits))
  const headers = new Headers(raw.headers)
  headers.delete('content-length')
  return new Request(raw.url, { method, headers, body, signal: raw.signal })
}
