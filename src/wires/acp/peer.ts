// The client of a connection, as the rest of this wire uses it: in the words of version 1. The draft of version 2
// translates them (serve-draft-2.ts).
import type {
  AgentContext,
  ClientCapabilities,
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import type { AcpUpdate } from './encode.ts'
import { terminalMeta } from './encode-report.ts'

/** The capabilities that a client has declared. */
export type Abilities = {
  readFiles: boolean
  writeFiles: boolean
  terminals: boolean
  /** It shows terminals that the runtime has. */
  showsTerminals: boolean
  notices: boolean
  compaction: boolean
  elicitation: readonly ('form' | 'url')[]
  /** It is told what a session is doing, and gets its own messages back. Version 2 only. */
  states: boolean
}

export type Peer = {
  abilities: Abilities
  update(sessionId: string, update: AcpUpdate): void
  /** Undefined: more updates may be sent. Otherwise wait for it: many of them are not written yet. */
  drained(): Promise<void> | undefined
  /** An abort of `signal` withdraws the request; then it rejects, and a late answer is dropped. */
  askPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>
  elicit(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>
  /** Files and terminals. Version 1 only. */
  context?: AgentContext
}

export function decodeAbilities(capabilities: ClientCapabilities | undefined): Abilities {
  const { fs, terminal, session, elicitation, _meta } = capabilities ?? {}
  return {
    readFiles: fs?.readTextFile === true,
    writeFiles: fs?.writeTextFile === true,
    terminals: terminal === true,
    showsTerminals: _meta?.['terminal_output'] === true,
    notices: session?.notices != null,
    compaction: session?.compaction != null,
    elicitation: decodeElicitation(elicitation),
    states: false,
  }
}

export function decodeElicitation(given: { form?: unknown; url?: unknown } | null | undefined) {
  return (['form', 'url'] as const).filter(mode => given?.[mode] != null)
}

/** Updates that may wait to be written. With more, the session is read no further until they are. */
const mostUnsent = 1000

/** Counts updates that are not written yet. They are written in the order in which they are sent. */
export class Outbox {
  #unsent = 0
  #last: Promise<void> = Promise.resolve()

  add(sent: Promise<void>): void {
    this.#unsent += 1
    // A rejection means that the connection is closed, which is noticed elsewhere.
    this.#last = sent
      .catch(() => {})
      .finally(() => {
        this.#unsent -= 1
      })
  }

  drained(): Promise<void> | undefined {
    return this.#unsent > mostUnsent ? this.#last : undefined
  }
}

/** Options of a request to the client that `signal` withdraws. */
export function withdrawnBy(signal: AbortSignal) {
  return { cancellationSignal: signal, stopWaitingOnCancel: true }
}

export function version1Peer(context: AgentContext, abilities: Abilities): Peer {
  const outbox = new Outbox()
  return {
    abilities,
    context,
    update(sessionId, update) {
      if (update.sessionUpdate === 'state') return
      const told = update.sessionUpdate === 'terminal' ? terminalMeta(update) : update
      outbox.add(context.notify('session/update', { sessionId, update: told }))
    },
    drained: () => outbox.drained(),
    askPermission: (request, signal) =>
      context.request('session/request_permission', request, withdrawnBy(signal)),
    elicit: (request, signal) => context.request('elicitation/create', request, withdrawnBy(signal)),
  }
}
