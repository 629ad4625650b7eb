// One MCP server: its connection, its tools and their calls. Each server has its own connection, so that answers cannot
// be mixed up. Its tools are named `server__tool` and ask by default. A tool whose definition has changed since it was
// offered is refused until the new definition is offered and approved.
import { Client, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import { toolHash } from '../../language/tools.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import { declareTools, type Listed } from './declare.ts'
import type { McpConnection, McpOptions } from './index.ts'
import { toToolOutput } from './result.ts'
import { identityOf, type McpServerSpec } from './spec.ts'
import { openTransport } from './transport.ts'

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const maxPages = 100

export class McpServer implements McpConnection {
  readonly #spec: McpServerSpec
  readonly #options: McpOptions
  readonly #taken: ReadonlySet<string>
  readonly #running = new Set<string>()
  readonly warnings: string[] = []
  #client: Promise<Client> | undefined
  #current: Client | undefined
  #tools: Tool[] = []
  /** The hash of each tool's current definition, by name. */
  #hashes = new Map<string, string>()
  #listedAt = 0
  #closed = false

  constructor(spec: McpServerSpec, options: McpOptions) {
    this.#spec = spec
    this.#options = options
    this.#taken = new Set(options.taken)
  }

  get tools(): Tool[] {
    return this.#tools
  }

  async open(): Promise<void> {
    const client = await this.#connected()
    try {
      await this.#list(client)
    } catch (cause) {
      await this.close()
      throw this.#unreachable(cause)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    await client?.close()
  }

  // ---- the connection ------------------------------------------------------------------------------------

  #connected(): Promise<Client> {
    if (this.#closed)
      return Promise.reject(new Error(`The MCP server "${this.#spec.name}" was disconnected.`))
    this.#client ??= this.#connect().catch((cause: unknown) => {
      this.#client = undefined
      throw this.#unreachable(cause)
    })
    return this.#client
  }

  async #connect(): Promise<Client> {
    const {
      elicit,
      elicitModes = ['form'],
      connectTimeoutMs = 30_000,
      maxMessageBytes = 8 * 1024 * 1024,
    } = this.#options
    const client = new Client(
      { name: 'turnwire', version: '0.1.0' },
      {
        versionNegotiation: { mode: 'auto' },
        capabilities: elicit ? { elicitation: Object.fromEntries(elicitModes.map(mode => [mode, {}])) } : {},
        listChanged: { tools: { autoRefresh: false, onChanged: () => void this.#changed(client) } },
      },
    )
    client.onerror = error =>
      this.#warn(`The MCP server "${this.#spec.name}" broke the protocol: ${printable(error.message, 300)}`)
    client.onclose = () => {
      // The next call connects again. Calls that were running are not repeated. A newer connection is kept.
      if (this.#current === client) this.#client = undefined
    }
    if (elicit)
      client.setRequestHandler('elicitation/create', (request, { mcpReq }) =>
        elicit(request.params, { ...this.#onlyCall(), signal: mcpReq.signal }),
      )
    const log = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>) =>
      this.#options.log?.(level, message, fields)
    const transport = openTransport(this.#spec, { maxMessageBytes, log })
    try {
      await client.connect(transport, {
        timeout: connectTimeoutMs,
        signal: AbortSignal.timeout(connectTimeoutMs),
      })
      this.#current = client
    } catch (error) {
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
      throw error
    }
    return client
  }

  #onlyCall(): { callId?: string } {
    const [callId] = this.#running
    return this.#running.size === 1 && callId !== undefined ? { callId } : {}
  }

  #unreachable(cause: unknown): TurnwireError {
    const problem = printable(errorMessage(cause), 300)
    return new TurnwireError(
      'invalid_tool',
      `The MCP server "${this.#spec.name}" cannot be used: ${problem}`,
      { cause },
    )
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
    const first = this.#listedAt === 0
    this.#listedAt = Date.now()
    if (changed && !first) this.#options.onTools?.(tools)
  }

  #toolOf({ raw, declared }: Listed): Tool {
    const tool: Tool = Object.freeze({
      ...declared,
      run: (input: Json, context: ToolContext) => this.#call(raw, tool, input, context),
    })
    return tool
  }

  async #changed(client: Client): Promise<void> {
    // No tool of the old list may run until the new list has arrived.
    this.#hashes.clear()
    try {
      await this.#list(client)
    } catch (error) {
      this.#warn(
        `The tools of the MCP server "${this.#spec.name}" changed and could not be listed: ${printable(String(error), 300)}`,
      )
    }
  }

  // ---- a call --------------------------------------------------------------------------------------------

  async #call(raw: string, tool: Tool, input: Json, context: ToolContext): Promise<ToolOutput> {
    const client = await this.#connected()
    if (Date.now() - this.#listedAt > (this.#options.refreshMs ?? 60_000) || !this.#hashes.has(tool.name))
      await this.#list(client)
    if (this.#hashes.get(tool.name) !== toolHash(tool))
      throw new InvalidInput(
        `The MCP server "${this.#spec.name}" has changed or withdrawn "${raw}" since it was offered. Nothing was run. Look at the tools again.`,
      )
    this.#running.add(context.callId)
    try {
      return toToolOutput(await this.#send(client, raw, tool, input, context))
    } catch (cause) {
      if (!(cause instanceof SdkError && cause.code === SdkErrorCode.ConnectionClosed)) throw cause
      throw new Error(
        `The MCP server "${this.#spec.name}" went away during the call, which may have taken effect. It was not sent again.`,
        { cause },
      )
    } finally {
      this.#running.delete(context.callId)
    }
  }

  async #send(
    client: Client,
    raw: string,
    tool: Tool,
    input: Json,
    context: ToolContext,
  ): Promise<JsonObject> {
    const result = await client.callTool(
      { name: raw, arguments: isJsonObject(input) ? input : {} },
      {
        signal: context.signal,
        // The engine's deadline ends the call. This later one is only a fallback.
        timeout: tool.timeoutMs + 10_000,
        // Without the output schema, because the gate checks results itself, within its limits.
        toolDefinition: {
          name: raw,
          inputSchema: { ...(tool.input.form === 'json' && tool.input.schema), type: 'object' },
        },
        onprogress: ({ progress, total, message }) =>
          context.progress({
            done: progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message }),
          }),
      },
    )
    return result as JsonObject // it was parsed from JSON
  }

  #warn(message: string): void {
    if (this.warnings.length < 100) this.warnings.push(message)
    this.#options.log?.('warn', message)
  }
}
