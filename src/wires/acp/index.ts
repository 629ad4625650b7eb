// The Agent Client Protocol: an editor or another program drives an agent over a pipe or a socket.
import type { Stream } from '@agentclientprotocol/sdk'
import type { WireHost } from '../host.ts'
import { connectVersion1 } from './connection.ts'
import type { AcpHost } from './host.ts'
import type { AcpHttp, HostFor } from './http.ts'

export { secretVariable } from './connection.ts'
export type { AcpHost, McpLink, McpLinkOptions, NamedServer } from './host.ts'
export type { AcpHttp, AcpSocket } from './http.ts'
export { stdioStream } from './stdio.ts'

export type AcpOptions = {
  /** Also speaks the draft of version 2, to clients that ask for it. */
  draft2?: boolean
}

export type AcpLink = { readonly closed: Promise<void>; close(reason?: unknown): void }

/** Serves one client until it goes away. */
export async function serveAcp(host: AcpHost, stream: Stream, options: AcpOptions = {}): Promise<AcpLink> {
  if (!options.draft2) return connectVersion1(host, stream)
  // Loaded only when needed: most clients never ask for it.
  const { connectEitherVersion } = await import('./draft-2.ts')
  return connectEitherVersion(host, stream)
}

/** The same over HTTP and WebSocket, for whoever the server has let in. */
export async function acpOverHttp(hostFor: HostFor, limits: WireHost['limits']): Promise<AcpHttp> {
  const { acpHttp } = await import('./http.ts')
  return acpHttp(hostFor, limits)
}
