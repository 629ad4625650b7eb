// The tools that a connection brings a session: the plan, the editor's files and terminals, and those of the MCP servers
// that the client named. They are attached while the connection lasts and are gone with it.
import type { CreateElicitationRequest } from '@agentclientprotocol/sdk'
import type { Tool } from '../../engine/index.ts'
import { type ClientTools, clientTools, type Preview } from './client-tools.ts'
import { failureOf } from './failure.ts'
import type { AcpHost, Answer, McpLink, NamedServer, Question } from './host.ts'
import type { Peer } from './peer.ts'
import { planTool } from './plan.ts'

export type SessionToolsOptions = {
  host: AcpHost
  peer: Peer
  sessionId: string
  roots: readonly [string, ...string[]]
  servers: readonly NamedServer[]
  onTerminal(callId: string, terminalId: string): void
  /** A server has changed its tools. */
  onChange(): void
}

export class SessionTools {
  readonly #options: SessionToolsOptions
  readonly #client: ClientTools
  readonly #links: McpLink[] = []
  readonly #failures: string[] = []

  constructor(options: SessionToolsOptions) {
    const { peer, sessionId, roots } = options
    this.#options = options
    this.#client = peer.context
      ? clientTools({
          context: peer.context,
          abilities: peer.abilities,
          sessionId,
          roots,
          onTerminal: (callId, terminalId) => options.onTerminal(callId, terminalId),
        })
      : { tools: [], previews: new Map() }
  }

  get all(): readonly Tool[] {
    return [planTool, ...this.#client.tools, ...this.#links.flatMap(link => link.tools)]
  }

  get previews(): ReadonlyMap<string, Preview> {
    return this.#client.previews
  }

  get warnings(): readonly string[] {
    return [...this.#failures, ...this.#links.flatMap(link => link.warnings)]
  }

  /** A server that cannot be reached costs its own tools only. */
  async connect(taken: readonly string[]): Promise<void> {
    const { host, servers, sessionId } = this.#options
    const names = [...taken, ...this.all.map(tool => tool.name)]
    const links = await Promise.allSettled(servers.map(server => this.#link(server, names)))
    for (const link of links) {
      if (link.status === 'fulfilled') this.#links.push(link.value)
      else this.#failures.push(failureOf(link.reason).message)
    }
    for (const words of this.warnings) host.log('warn', words, { session: sessionId })
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#links.map(link => link.close()))
  }

  #link(server: NamedServer, taken: readonly string[]): Promise<McpLink> {
    const { host, peer } = this.#options
    return host.connectMcp(server, {
      log: host.log,
      taken,
      elicitModes: peer.abilities.elicitation,
      ...(peer.abilities.elicitation.length > 0 && {
        elicit: (question, about) => this.#elicit(server.name, question, about),
      }),
      onTools: () => this.#options.onChange(),
    })
  }

  async #elicit(
    server: string,
    question: Question,
    about: { callId?: string; signal: AbortSignal },
  ): Promise<Answer> {
    const { peer, host, sessionId } = this.#options
    const scope = {
      sessionId,
      ...(about.callId !== undefined && { toolCallId: about.callId }),
      message: `The MCP server "${server}" asks: ${question.message}`,
    }
    const request: unknown =
      question.mode === 'url'
        ? {
            ...scope,
            mode: 'url',
            url: question.url,
            elicitationId: question.elicitationId ?? host.old.ports.world.id('elicit'),
          }
        : { ...scope, mode: 'form', requestedSchema: question.requestedSchema }
    // The server's own schema goes through as it is; the client checks it.
    const answer = await peer.elicit(request as CreateElicitationRequest, about.signal)
    if (answer.action === 'accept') {
      const { content } = answer as { content?: Answer['content'] | null } // What the SDK has checked it to be.
      return { action: 'accept', ...(content && { content }) }
    }
    return { action: answer.action === 'decline' ? 'decline' : 'cancel' }
  }
}
