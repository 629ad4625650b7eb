// The tools that a connection brings to a session: the plan, the client's files and terminals, and those of the MCP servers
// that the client named. They are attached while the connection lasts.
import type { CreateElicitationRequest } from '@agentclientprotocol/sdk'
import type { Tool } from '../../engine/index.ts'
import { wordsOf } from '../../language/errors.ts'
import { AttachedTools } from './attached-tools.ts'
import { clientTools } from './client-tools.ts'
import type { Elicitation, ElicitationAnswer, McpLink, NamedServer, SessionContext } from './host.ts'
import { planTool } from './plan.ts'
import { encodeFailure } from './refusals.ts'

export class SessionTools {
  readonly #context: SessionContext
  readonly #client: readonly Tool[]
  readonly #links: McpLink[] = []
  readonly #failures: string[] = []
  #attached: AttachedTools | undefined

  constructor(session: SessionContext, onTerminal: (callId: string, terminalId: string) => void) {
    const { peer, ref, workspace } = session
    const { abilities, context } = peer
    this.#context = session
    this.#client = context
      ? clientTools({ context, abilities, sessionId: ref.session, roots: workspace.roots, onTerminal })
      : []
  }

  get all(): readonly Tool[] {
    return [planTool, ...this.#client, ...this.#links.flatMap(link => link.tools)]
  }

  get warnings(): readonly string[] {
    return [...this.#failures, ...this.#links.flatMap(link => link.warnings)]
  }

  /** The model is offered these tools. */
  get isAttached(): boolean {
    return this.#attached?.isOver === false
  }

  /** Connects the servers. One that cannot be reached costs only its own tools. */
  async connect(taken: readonly string[]): Promise<void> {
    const { host, ref, workspace } = this.#context
    const names = [...taken, ...this.all.map(tool => tool.name)]
    const links = await Promise.allSettled(workspace.servers.map(server => this.#link(server, names)))
    for (const link of links) {
      if (link.status === 'fulfilled') this.#links.push(link.value)
      else this.#failures.push(encodeFailure(link.reason).message)
    }
    for (const words of this.warnings) host.log('warn', words, { session: ref.session })
  }

  /** Resolves once the model is offered the tools. */
  async attach(): Promise<void> {
    const { host, ref } = this.#context
    const before = this.#attached
    this.#attached = new AttachedTools(host.engine, ref, this.all)
    await this.#attached.attached
    before?.retire()
  }

  async close(): Promise<void> {
    await this.#attached?.close()
    await Promise.allSettled(this.#links.map(link => link.close()))
  }

  #link(server: NamedServer, taken: readonly string[]): Promise<McpLink> {
    const { host, peer } = this.#context
    const { elicitation } = peer.abilities
    return host.connectMcp(server, {
      log: host.log,
      taken,
      elicitModes: elicitation,
      ...(elicitation.length > 0 && {
        elicit: (question, about) => this.#elicit(server.name, question, about),
      }),
      onTools: () => this.#changed(),
    })
  }

  #changed(): void {
    if (!this.isAttached) return
    const { host, ref } = this.#context
    this.attach().catch(error =>
      host.log('error', 'Changed tools could not be attached.', {
        session: ref.session,
        error: wordsOf(error),
      }),
    )
  }

  async #elicit(
    server: string,
    question: Elicitation,
    { callId, signal }: { callId?: string; signal: AbortSignal },
  ): Promise<ElicitationAnswer> {
    const { peer, ref } = this.#context
    const { mode, url, requestedSchema, elicitationId = crypto.randomUUID() } = question
    const request: unknown = {
      sessionId: ref.session,
      ...(callId !== undefined && { toolCallId: callId }),
      message: `The MCP server "${server}" asks: ${question.message}`,
      ...(mode === 'url' ? { mode, url, elicitationId } : { mode: 'form', requestedSchema }),
    }
    // The server's own schema goes through as it is; the client checks it.
    const answer = await peer.elicit(request as CreateElicitationRequest, signal)
    if (answer.action !== 'accept') return { action: answer.action === 'decline' ? 'decline' : 'cancel' }
    const { content } = answer as { content?: ElicitationAnswer['content'] | null } // The SDK has checked it.
    return { action: 'accept', ...(content && { content }) }
  }
}
