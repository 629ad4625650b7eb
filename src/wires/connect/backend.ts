// What the wire needs of the process that keeps the accounts.
import type { ServerConnection } from '../../language/servers.ts'

/** `call`: the one that waits for it. */
export type WantedConnection = {
  server: string
  owner: string
  call?: { session: string; callId: string }
}

export type ConnectBackend = {
  /** Those whose tokens belong to owners. */
  readonly servers: readonly { name: string; host: string; scope?: string }[]
  /** Where this server is reached. */
  address(): string
  /** Gives where the person agrees, and a secret for their browser. */
  begin(wanted: WantedConnection, redirectUrl: string): Promise<{ address: string; browser: string }>
  /** Rejects with `unauthorized` in words for the person. */
  finish(returned: URLSearchParams, browser: string | undefined): Promise<WantedConnection>
  /** `owner` undefined: of all. */
  list(owner?: string): Promise<(ServerConnection & { owner: string })[]>
  /** False: the owner was not connected. */
  forget(server: string, owner: string): Promise<boolean>
}
