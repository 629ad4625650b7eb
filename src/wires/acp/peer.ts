// The other side of a connection, as the rest of this wire needs it: version 1 of the protocol in its own words. A newer
// version is a translation of these (draft-2.ts), not a second way through the wire.
import type {
  AgentContext,
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
  StopReason,
} from '@agentclientprotocol/sdk'

/** What a client said that it can do; what it did not mention it cannot. */
export type Abilities = {
  readFiles: boolean
  writeFiles: boolean
  terminals: boolean
  notices: boolean
  compaction: boolean
  elicitation: readonly ('form' | 'url')[]
}

export type Peer = {
  abilities: Abilities
  update(sessionId: string, update: SessionUpdate): void
  /** An abort of `signal` withdraws the request; then it rejects, and a late answer is dropped. */
  askPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>
  elicit(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>
  /** Files and terminals, on versions that have them. */
  context?: AgentContext
  /** On versions in which a session says what it is doing, and repeats what the user said. */
  state?(sessionId: string, state: SessionState): void
}

export type SessionState =
  | { state: 'running' }
  | { state: 'requires_action' }
  | { state: 'idle'; stopReason?: StopReason }
  | { state: 'idle'; stopReason: 'error'; error: { code: number; message: string } }

export const noAbilities: Abilities = {
  readFiles: false,
  writeFiles: false,
  terminals: false,
  notices: false,
  compaction: false,
  elicitation: [],
}

/** Updates that wait to be written beyond this many mean a client that does not read: it is let go. */
const maxUnsent = 100_000

export function peerOf(context: AgentContext, abilities: Abilities, hangUp: (reason: Error) => void): Peer {
  let unsent = 0
  return {
    abilities,
    context,
    update(sessionId, update) {
      unsent += 1
      if (unsent > maxUnsent) hangUp(new Error('The client does not read.'))
      context
        .notify('session/update', { sessionId, update })
        .catch(() => {}) // The connection is gone, and its closing is heard of elsewhere.
        .finally(() => {
          unsent -= 1
        })
    },
    askPermission: (request, signal) =>
      context.request('session/request_permission', request, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      }),
    elicit: (request, signal) =>
      context.request('elicitation/create', request, {
        cancellationSignal: signal,
        stopWaitingOnCancel: true,
      }),
  }
}
