// One MCP server: its connection, its tools and their calls. Each server has its own connection, so that answers cannot
// be mixed up. Its tools are named `server__tool` and ask by default. A tool whose definition has changed since it was
// offered is refused; the new definition is offered, and asks until a call of it was allowed. A call is sent again only
// if the server cannot have run it, or if its tool may run twice.

import type { Client } from '@modelcontextprotocol/client'
import {
  InvalidInput,
  type ReconcileAnswer,
  type ReconcileContext,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../../engine/ports/index.ts'
import { type OutcomeSource, sourceUri } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { PromptMessage, ServerPrompt, ServerResource, ToolServerInfo } from '../../language/servers.ts'
import { mayRepeat, toolHash } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import { AcceptedTools } from './accepted.ts'
import { type Connected, McpConnector } from './connect.ts'
import { connectProblem, unreachable } from './connect-problem.ts'
import { declareTools, type Listed } from './declare.ts'
import { RunningCalls } from './from-server.ts'
import type { McpConnection, McpOptions } from './index.ts'
import { KeptAnswers } from './kept-answers.ts'
import { listPages } from './list-pages.ts'
import { findLogin, LoginNeeded } from './login-needed.ts'
import { findLoss } from './lost.ts'
import { limitedLog, Paced } from './pace.ts'
import { getPrompt, listPrompts, listResources, type ResourceSource, readResource } from './resources.ts'
import { toToolOutput } from './result.ts'
import { isHeaderMismatch, type SentCall, sendCall } from './send-call.ts'
import { type McpServerSpec, specIdentity } from './spec.ts'
import { taskOutcome } from './task.ts'

const maxPages = 100
const defaultMaxTools = 500
/** How often one call asks for a login. */
const mostLogins = 2

type McpLog = NonNullable<McpOptions['log']>
type AskedCall = Pick<SentCall, 'raw' | 'asTask' | 'tool' | 'input' | 'context'>

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
  readonly #accepted: AcceptedTools
  /** Log lines that the server causes are limited per kind, so that many of one kind do not hide another. */
  readonly #warnLog: McpLog
  readonly #changeLog: McpLog
  readonly #relist = new Paced(() => void this.#changed())
  readonly #offersChanged = new Paced(() => this.#options.onTools?.(this.#tools))
  #tools: Tool[] = []
  /** The hash of each tool's current definition, by name. */
  #hashes = new Map<string, string>()
  /** Of the lists that were begun, and of the one that was taken last. */
  #begunLists = 0
  #takenList = 0
  #listedAt = Number.NEGATIVE_INFINITY
  /** How long the list holds by what the server says. 0: it does not say. */
  #listHoldsMs = 0
  readonly #answers = new KeptAnswers()
  #wasListed = false
  #closed = false
  #tried = false

  constructor(spec: McpServerSpec, options: McpOptions) {
    this.#spec = spec
    this.#options = { ...options, log: limitedLog(options.log, spec.name) }
    this.#taken = new Set(options.taken)
    const { log, definitions, maxTools: mostTools = defaultMaxTools } = options
    this.#warnLog = limitedLog(log, spec.name)
    this.#changeLog = limitedLog(log, spec.name)
    const warn = (words: string): void => this.#warn(words)
    this.#accepted = new AcceptedTools(definitions, { server: spec.name, mostTools, warn })
    const events = {
      warn,
      changed: (client: Client, what: 'tools' | 'resources') => {
        if (this.#current !== undefined && this.#current !== client) return
        if (what === 'resources') {
          this.#answers.clear()
          return this.#offersChanged.ask()
        }
        // No tool of the old list may run until the new list has arrived.
        this.#hashes.clear()
        this.#relist.ask()
      },
      closed: (client: Client) => {
        if (this.#current === client) this.#lose('its connection was closed')
      },
    }
    this.#connector = new McpConnector(spec, this.#options, events, this.#calls)
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
    this.#relist.stop()
    this.#offersChanged.stop()
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
    return listResources(await this.#resourceSource())
  }

  async read(uri: string): Promise<InputPart[]> {
    return readResource(await this.#resourceSource(), uri)
  }

  async prompts(): Promise<ServerPrompt[]> {
    return listPrompts(await this.#resourceSource())
  }

  async prompt(name: string, values: Readonly<Record<string, string>>): Promise<PromptMessage[]> {
    return getPrompt(await this.#resourceSource(), name, values)
  }

  async #resourceSource(): Promise<ResourceSource> {
    return { client: await this.#connected(), server: this.#spec.name, kept: this.#answers }
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
      this.#answers.clear()
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

  /** Closes the connection until the next call. The tools stay. */
  rest(): void {
    const client = this.#current
    this.#current = undefined
    this.#client = undefined
    this.#listedAt = Number.NEGATIVE_INFINITY
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
    const { connectTimeoutMs = 30_000, maxTools = defaultMaxTools } = this.#options
    this.#begunLists += 1
    const number = this.#begunLists
    const limits = { pages: maxPages, items: maxTools, timeoutMs: connectTimeoutMs }
    const { found, ttlMs } = client.getServerCapabilities()?.tools
      ? await listPages(client, 'tools/list', 'tools', limits)
      : { found: [], ttlMs: 0 }
    if (found.length >= maxTools)
      this.#warn(`The MCP server "${this.#spec.name}" has more than ${maxTools} tools: the rest is left out.`)
    const warn = (words: string): void => this.#warn(words)
    const listed = await declareTools(found, this.#declareOptions(), this.#taken, warn)
    // A list that was asked for later is newer.
    if (number < this.#takenList) return
    this.#takenList = number
    this.#listHoldsMs = ttlMs
    this.#take(listed)
  }

  #declareOptions() {
    const { trust = 'ask', trustAnnotations = false, exposed = true } = this.#options
    const { timeoutMs = 60_000, outputLimit = 64 * 1024 } = this.#options
    const { name: server } = this.#spec
    const identity = specIdentity(this.#spec)
    const http = 'url' in this.#spec
    const { flow } = this.#options
    const labels = flow ? { flow } : {}
    return { server, identity, trust, trustAnnotations, exposed, timeoutMs, outputLimit, http, ...labels }
  }

  /** An unchanged tool stays the same object. */
  #take(listed: readonly Listed[]): void {
    const before = new Map(this.#tools.map(tool => [toolHash(tool), tool]))
    const tools = listed.map(one => {
      const made = this.#makeTool(one)
      return before.get(toolHash(made)) ?? made
    })
    const changed =
      tools.length !== this.#tools.length || tools.some((tool, index) => tool !== this.#tools[index])
    this.#tools = tools
    this.#hashes = new Map(tools.map(tool => [tool.name, toolHash(tool)]))
    this.#accepted.meet(tools)
    this.#tellChanges(tools.filter(tool => !before.has(toolHash(tool))))
    const isFirst = !this.#wasListed
    this.#wasListed = true
    this.#listedAt = performance.now()
    if (changed && !isFirst) this.#options.onTools?.(tools)
  }

  #makeTool({ raw, asTask, declared }: Listed): Tool {
    const [change, before] = [() => this.#accepted.describeChange(tool), () => this.#accepted.otherThan(tool)]
    // A server whose calls ask for logins is connected by its calls.
    const isOnDemand = this.#options.auth?.login !== undefined
    const problem = () => (isOnDemand ? undefined : this.#problem)
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
      reconcile: (_input: Json, context: ReconcileContext) => this.#reconcile(context),
    })
    return tool
  }

  /** For the operator, also if nobody calls the tool. */
  #tellChanges(tools: readonly Tool[]): void {
    for (const tool of tools) {
      const change = this.#accepted.describeChange(tool)
      const fields = { server: this.#spec.name, tool: tool.name, change: change ?? '' }
      if (change !== undefined)
        this.#changeLog(
          'warn',
          'A tool of an MCP server has another definition. Its grants are void.',
          fields,
        )
    }
  }

  async #changed(): Promise<void> {
    const client = this.#current
    if (!client) return
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

  /** Where results come from. A program has no address but its name in the configuration. */
  get #source(): Omit<OutcomeSource, 'at'> {
    const address = 'url' in this.#spec ? this.#spec.url : `mcp://${encodeURIComponent(this.#spec.name)}`
    return { uri: sourceUri(address) ?? address }
  }

  async #call(call: AskedCall): Promise<ToolOutput> {
    const login = this.#options.auth?.login
    for (let logins = 0; ; logins += 1) {
      try {
        return await this.#send(call)
      } catch (cause) {
        // A server that wants a login has run nothing.
        const needed = findLogin(cause)
        if (!needed || !login || logins >= mostLogins) throw cause
        await login(call.context, needed.scope)
        // The person may have chosen another account.
        this.rest()
      }
    }
  }

  async #send(call: AskedCall): Promise<ToolOutput> {
    const { raw, tool } = call
    const { name: server } = this.#spec
    const url = 'url' in this.#spec ? this.#spec.url : `mcp://${server}`
    const rest = { ...call, calls: this.#calls, server, url, options: this.#options, started: {} }
    const started: SentCall['started'] = rest.started
    let lostBy: unknown
    for (let isRepeated = false; ; isRepeated = true) {
      const client = await this.#ready(raw, tool).catch(cause => {
        throw lostBy === undefined ? cause : this.#unanswered(lostBy)
      })
      try {
        const output = await this.#connector.authorised(() => sendCall({ ...rest, client }))
        return { ...output, sources: [this.#source] }
      } catch (cause) {
        if (isHeaderMismatch(cause) && !isRepeated) {
          this.#hashes.clear()
          continue
        }
        const loss = findLoss(cause)
        if (loss === undefined) throw cause
        if (this.#current === client) this.#lose(printable(errorMessage(cause), 300))
        // A task that is known is followed, not begun again.
        if (loss === 'unknown') lostBy ??= cause
        const maySend = loss === 'refused' || mayRepeat(tool) || started.task !== undefined
        if (!isRepeated && maySend && !this.#closed) continue
        throw lostBy === undefined ? cause : this.#unanswered(lostBy)
      }
    }
  }

  /** Only a call that became a task can be asked about. */
  async #reconcile({ reference, signal }: ReconcileContext): Promise<ReconcileAnswer> {
    if (reference === undefined) return 'unknown'
    const client = await this.#connected()
    const result = await this.#connector.authorised(() => taskOutcome(client, reference, signal))
    return result ? { ran: { ...toToolOutput(result), sources: [this.#source] } } : 'unknown'
  }

  #unanswered(cause: unknown): Unanswered {
    return new Unanswered(`The MCP server "${this.#spec.name}" went away during the call.`, { cause })
  }

  /** A connection on which the tool still has the definition that was offered. */
  async #ready(raw: string, tool: Tool): Promise<Client> {
    const client = await this.#connected()
    const holdsMs = this.#listHoldsMs || (this.#options.refreshMs ?? 60_000)
    if (performance.now() - this.#listedAt > holdsMs || !this.#hashes.has(tool.name)) await this.#list(client)
    if (this.#hashes.get(tool.name) !== toolHash(tool))
      throw new InvalidInput(
        `The MCP server "${this.#spec.name}" has changed or withdrawn "${raw}" since it was offered. Nothing was run. Look at the tools again.`,
      )
    // The gate has let the call through: someone has allowed this definition.
    if (this.#accepted.describeChange(tool) !== undefined)
      this.#accepted.allow(tool, new Set(this.#tools.map(({ name }) => name)))
    return client
  }

  #warn(message: string): void {
    const words = printable(message, 1_000)
    if (this.warnings.length < 100) this.warnings.push(words)
    this.#warnLog('warn', words)
  }
}
