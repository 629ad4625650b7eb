// The Agent Client Protocol: an editor or another program uses an agent over a pipe or a socket.
import type { Stream } from '@agentclientprotocol/sdk'
import type { WireHost } from '../host.ts'
import type { AcpHost } from './host.ts'
import type { AcpHttp, HostFor } from './http.ts'
import { serveVersion1 } from './serve.ts'

export { secretVariable } from './connection.ts'
export type { AcpHost, McpLink, McpLinkOptions, NamedServer } from './host.ts'
export type { AcpHttp } from './http.ts'
export type { AcpSocket } from './socket.ts'
export { stdioStream } from './stdio.ts'

export type AcpOptions = {
  /** Also serves the draft of version 2, to clients that ask for it. */
  draft2?: boolean
}

export type AcpLink = { readonly closed: Promise<void>; close(reason?: unknown): void }

/** Serves one client until it closes the connection. */
export async function serveAcp(host: AcpHost, stream: Stream, options: AcpOptions = {}): Promise<AcpLink> {
  if (!options.draft2) return serveVersion1(host, stream)
  // Loaded only when needed: few clients ask for it.
  const { serveEitherVersion } = await import('./serve-draft-2.ts')
  return serveEitherVersion(host, stream)
}

/** Serves the protocol over HTTP and WebSocket, for callers that the server has authenticated. */
export async function acpOverHttp(
  hostFor: HostFor,
  limits: WireHost['limits'],
  log: AcpHost['log'],
): Promise<AcpHttp> {
  const { acpHttp } = await import('./http.ts')
  return acpHttp(hostFor, limits, log)
}
