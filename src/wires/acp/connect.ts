// One client of the Agent Client Protocol on any stream of messages, in the version that it speaks.
import type { Stream } from '@agentclientprotocol/sdk'
import type { AcpHost } from './host.ts'
import { serveVersion1 } from './serve.ts'

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
