// One MCP server: its connection, its tools and their calls. Each server has its own connection, so that answers cannot
// be mixed up. Its tools are named `server__tool` and ask by default. A tool whose definition has changed since it was
// offered is refused; the new definition is offered, and asks until a call of it was allowed. A call is sent again only
// if the server cannot have run it, or if its tool may run twice.
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../engine/ports.ts'
import type { InputPart } from '../../language/content.ts'
import type { PromptMessage, ServerPrompt, ServerResource, ToolServerInfo } from '../../language/servers.ts'
import { type ToolDeclaration, toolHash } from '../../language/tools.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { Json } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import { LoginNeeded } from './auth.ts'
import { type Connected, McpConnector } from './connect.ts'
import { connectProblem, unreachable } from './connect-problem.ts'
import { declareTools, type Listed } from './declare.ts'
import { definitionDifference } from './difference.ts'
import { RunningCalls } from './from-server.ts'
import type { McpConnection, McpOptions } from './index.ts'
import { lossOf } from './lost.ts'
import { getPrompt, listPrompts, listResources, readResource } from './offers.ts'
import { isHeaderMismatch, type SentCall, sendCall } from './send-call.ts'
import { identityOf, type McpServerSpec } from './spec.ts'

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const maxPages = 100

export class McpServer implements McpConnection {
  readonly #spec: McpServerSpec
  readonly #options: McpOptions
  readonly #taken: ReadonlySet<string>
  readonly #calls = new RunningCalls()
  readonly warnings: string[] = []
  readonly #connector: McpConnector
  #client: Promise<Client> | undefined
  #current: Client | undefined
  /** Of the connection that was made last. */
  #made: { kind: Connected['kind']; protocolVersion: string | undefined; at: number } | undefined
  #needsLogin = false
  /** Resolves when the current connection is lost. */
  #lost = Promise.withResolvers<void>()
  /** Why no call can be made now. */
  #problem: string | undefined = 'it is not connected yet'
  /** The last definition of each tool that someone has allowed, by name. One that is seen first is taken as allowed. */
  readonly #accepted: Map<string, ToolDeclaration>
  #tools: Tool[] = []
  /** The hash of each tool's current definition, by name. */
  #hashes = new Map<string, string>()
  #listedAt = Number.NEGATIVE_INFINITY
  #wasListed = false
  #closed = false
  #tried = false

  constructor(spec: McpServerSpec, options: McpOptions) {
    this.#spec = spec
    this.#options = options
    this.#taken = new Set(options.taken)
    this.#accepted = this.#loadAccepted()
    const events = {
      warn: (words: string) => this.#warn(words),
      changed: (client: Client, what: 'tools' | 'offers') => {
        if (what === 'tools') void this.#changed(client)
        else this.#options.onTools?.(this.#tools)
      },
      closed: (client: Client) => {
        if (this.#current === client) this.#lose('its connection was closed')
      },
    }
    this.#connector = new McpConnector(spec, options, events, this.#calls)
  }

  get tools(): Tool[] {
    return this.#tools
  }

  /** Connects, if it is not connected, and lists the tools. */
  async open(): Promise<void> {
    const client = await this.#connected()
    try {
      await this.#list(client)
    } catch (cause) {
      this.#lose(printable(errorMessage(cause), 300))
      throw unreachable(cause, this.#spec)
    }
  }

  /** Resolves when the connection is lost. */
  untilLost(): Promise<void> {
    return this.#lost.promise
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    await client?.close()
  }

  /** How it is now. */
  get info(): Omit<ToolServerInfo, 'agents'> {
    const offered = this.#current?.getServerCapabilities()
    const { name, version } = this.#current?.getServerVersion() ?? {}
    const { protocolVersion, at, kind } = this.#made ?? {}
    const problem = this.#problem
    return {
      name: this.#spec.name,
      transport: kind ?? ('url' in this.#spec ? 'http' : 'stdio'),
      state:
        problem === undefined
          ? 'connected'
          : this.#needsLogin
            ? 'login'
            : this.#tried
              ? 'unavailable'
              : 'connecting',
      ...(problem !== undefined && this.#tried && { problem }),
      ...(protocolVersion !== undefined && { protocolVersion }),
      ...(name !== undefined && {
        software: { name: printable(name, 100), version: printable(version ?? '', 50) },
      }),
      ...(problem === undefined && at !== undefined && { since: at }),
      tools: this.#tools.length,
      changedTools: this.#tools.filter(tool => tool.changed !== undefined).length,
      resources: offered?.resources !== undefined,
      prompts: offered?.prompts !== undefined,
    }
  }

  async resources(): Promise<ServerResource[]> {
    return listResources(await this.#connected(), this.#spec.name)
  }

  async read(uri: string): Promise<InputPart[]> {
    return readResource(await this.#connected(), this.#spec.name, uri)
  }

  async prompts(): Promise<ServerPrompt[]> {
    return listPrompts(await this.#connected(), this.#spec.name)
  }

  async prompt(name: string, values: Readonly<Record<string, string>>): Promise<PromptMessage[]> {
    return getPrompt(await this.#connected(), this.#spec.name, name, values)
  }

  // ---- the connection ------------------------------------------------------------------------------------

  #connected(): Promise<Client> {
    if (this.#closed)
      return Promise.reject(new Error(`The MCP server "${this.#spec.name}" was disconnected.`))
    this.#client ??= this.#connect()
    return this.#client
  }

  async #connect(): Promise<Client> {
    try {
      const { client, kind } = await this.#connector.connect()
      this.#current = client
      this.#made = { kind, protocolVersion: client.getNegotiatedProtocolVersion(), at: Date.now() }
      this.#tried = true
      this.#needsLogin = false
      this.#lost = Promise.withResolvers()
      this.#setProblem(undefined)
      return client
    } catch (cause) {
      this.#client = undefined
      this.#tried = true
      this.#needsLogin = cause instanceof LoginNeeded
      this.#setProblem(connectProblem(cause, this.#spec))
      throw unreachable(cause, this.#spec)
    }
  }

  /** The next call connects again. Calls that were running are not repeated. */
  #lose(problem: string): void {
    const client = this.#current
    this.#current = undefined
    this.#client = undefined
    this.#listedAt = Number.NEGATIVE_INFINITY
    this.#setProblem(problem)
    this.#lost.resolve()
    void client?.close().catch(() => {})
  }

  #setProblem(problem: string | undefined): void {
    const before = this.#problem
    this.#problem = problem
    if ((before === undefined) !== (problem === undefined) && this.#wasListed && !this.#closed)
      this.#options.onTools?.(this.#tools)
  }

  // ---- the list ------------------------------------------------------------------------------------------

  async #list(client: Client): Promise<void> {
    const { connectTimeoutMs = 30_000, maxTools = 500 } = this.#options
    const found: unknown[] = []
    const seen = new Set<string>()
    let cursor: string | undefined
    for (let count = 0; count < maxPages && client.getServerCapabilities()?.tools; count += 1) {
      const { tools, nextCursor } = await client.request(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        page,
        { timeout: connectTimeoutMs },
      )
      found.push(...tools.slice(0, maxTools - found.length))
      if (nextCursor === undefined || seen.has(nextCursor) || found.length >= maxTools) break
      seen.add(nextCursor)
      cursor = nextCursor
    }
    if (found.length >= maxTools)
      this.#warn(`The MCP server "${this.#spec.name}" has more than ${maxTools} tools: the rest is left out.`)
    this.#take(declareTools(found, this.#declareOptions(), this.#taken, message => this.#warn(message)))
  }

  #declareOptions() {
    const { trust = 'ask', trustAnnotations = false, exposed = true } = this.#options
    const { timeoutMs = 60_000, outputLimit = 64 * 1024 } = this.#options
    const { name: server } = this.#spec
    const identity = identityOf(this.#spec)
    const http = 'url' in this.#spec
    return { server, identity, trust, trustAnnotations, exposed, timeoutMs, outputLimit, http }
  }

  /** An unchanged tool stays the same object. */
  #take(listed: readonly Listed[]): void {
    const before = new Map(this.#tools.map(tool => [toolHash(tool), tool]))
    const tools = listed.map(one => {
      const made = this.#toolOf(one)
      return before.get(toolHash(made)) ?? made
    })
    const changed =
      tools.length !== this.#tools.length || tools.some((tool, index) => tool !== this.#tools[index])
    this.#tools = tools
    this.#hashes = new Map(tools.map(tool => [tool.name, toolHash(tool)]))
    this.#tellChanges(tools.filter(tool => !before.has(toolHash(tool))))
    this.#accept(tools.filter(tool => !this.#accepted.has(tool.name)))
    const isFirst = !this.#wasListed
    this.#wasListed = true
    this.#listedAt = performance.now()
    if (changed && !isFirst) this.#options.onTools?.(tools)
  }

  #toolOf({ raw, asTask, declared }: Listed): Tool {
    const [change, before] = [() => this.#changeOf(tool), () => this.#otherThan(tool)]
    const problem = () => this.#problem
    const tool: Tool = Object.freeze({
      ...declared,
      get changed() {
        return change()
      },
      get accepted() {
        return before()
      },
      get unavailable() {
        return problem()
      },
      run: (input: Json, context: ToolContext) => this.#call({ raw, asTask, tool, input, context }),
    })
    return tool
  }

  #loadAccepted(): Map<string, ToolDeclaration> {
    try {
      return new Map(this.#options.definitions?.load().map(each => [each.name, each]))
    } catch (error) {
      this.#warn(
        `The definitions of "${this.#spec.name}" could not be read: ${printable(errorMessage(error), 300)}`,
      )
      return new Map()
    }
  }

  /** For the operator, also if nobody calls the tool. */
  #tellChanges(tools: readonly Tool[]): void {
    for (const tool of tools) {
      const change = this.#changeOf(tool)
      const fields = { server: this.#spec.name, tool: tool.name, change: change ?? '' }
      if (change !== undefined)
        this.#options.log?.(
          'warn',
          'A tool of an MCP server has another definition. Its grants are void.',
          fields,
        )
    }
  }

  #accept(tools: readonly Tool[]): void {
    if (tools.length === 0) return
    for (const tool of tools) this.#accepted.set(tool.name, acceptedPart(tool))
    try {
      this.#options.definitions?.save([...this.#accepted.values()])
    } catch (error) {
      this.#warn(
        `The definitions of "${this.#spec.name}" could not be kept: ${printable(errorMessage(error), 300)}`,
      )
    }
  }

  #changeOf(tool: Tool): string | undefined {
    const accepted = this.#otherThan(tool)
    return accepted && definitionDifference(accepted, tool)
  }

  /** The definition that was allowed, if it is another one. */
  #otherThan(tool: Tool): ToolDeclaration | undefined {
    const accepted = this.#accepted.get(tool.name)
    return accepted === undefined || toolHash(accepted) === toolHash(tool) ? undefined : accepted
  }

  async #changed(client: Client): Promise<void> {
    // No tool of the old list may run until the new list has arrived.
    this.#hashes.clear()
    try {
      await this.#list(client)
    } catch (error) {
      if (this.#closed) return
      this.#warn(
        `The tools of the MCP server "${this.#spec.name}" changed and could not be listed: ${printable(String(error), 300)}`,
      )
    }
  }

  // ---- a call --------------------------------------------------------------------------------------------

  async #call(call: Pick<SentCall, 'raw' | 'asTask' | 'tool' | 'input' | 'context'>): Promise<ToolOutput> {
    const { raw, tool } = call
    const { name: server } = this.#spec
    const rest = { ...call, calls: this.#calls, server, options: this.#options, started: {} }
    const started: SentCall['started'] = rest.started
    for (let isRepeated = false; ; isRepeated = true) {
      const client = await this.#ready(raw, tool)
      try {
        return await this.#connector.authorised(() => sendCall({ ...rest, client }))
      } catch (cause) {
        if (isHeaderMismatch(cause) && !isRepeated) {
          this.#hashes.clear()
          continue
        }
        const loss = lossOf(cause)
        if (loss === undefined || this.#closed) throw cause
        if (this.#current === client) this.#lose(printable(errorMessage(cause), 300))
        // A task that is known is followed, not begun again.
        if (!isRepeated && (loss === 'refused' || tool.idempotent || started.task !== undefined)) continue
        if (loss === 'refused') throw cause
        throw new Error(
          `The MCP server "${this.#spec.name}" went away during the call, which may have taken effect. It was not sent again.`,
          { cause },
        )
      }
    }
  }

  /** A connection on which the tool still has the definition that was offered. */
  async #ready(raw: string, tool: Tool): Promise<Client> {
    const client = await this.#connected()
    if (
      performance.now() - this.#listedAt > (this.#options.refreshMs ?? 60_000) ||
      !this.#hashes.has(tool.name)
    )
      await this.#list(client)
    if (this.#hashes.get(tool.name) !== toolHash(tool))
      throw new InvalidInput(
        `The MCP server "${this.#spec.name}" has changed or withdrawn "${raw}" since it was offered. Nothing was run. Look at the tools again.`,
      )
    // The gate has let the call through: someone has allowed this definition.
    if (this.#changeOf(tool) !== undefined) this.#accept([tool])
    return client
  }

  #warn(message: string): void {
    if (this.warnings.length < 100) this.warnings.push(message)
    this.#options.log?.('warn', message)
  }
}

/** What the hash of a definition is made of. */
function acceptedPart(tool: Tool): ToolDeclaration {
  const { name, title, description, input, output, kind, readOnly, idempotent, destructive, side } = tool
  return {
    name,
    description,
    input,
    kind,
    readOnly,
    idempotent,
    destructive,
    side,
    ...(title !== undefined && { title }),
    ...(output && { output }),
  }
}
