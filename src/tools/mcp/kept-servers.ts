// The MCP servers of a configuration: each is started once with the process that runs the engine, connected again with
// growing pauses when it is lost, and stopped with the process. One that is down keeps the tools that it had, marked as
// unavailable, and does not affect the others.
import { setTimeout as pause } from 'node:timers/promises'
import type { Tool } from '../../engine/ports/index.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import type { McpConnection, McpOptions } from './index.ts'
import { type OwnerNeeds, OwnerServers } from './owner-servers.ts'
import { longestPauseMs, retryPauseMs } from './pace.ts'
import type { McpServer } from './server.ts'
import { isPerOwner, type McpServerSpec } from './spec.ts'

export type KeptServer = { spec: McpServerSpec; options: McpOptions }

type ServerLog = NonNullable<McpOptions['log']>

export class KeptServers {
  readonly #servers: readonly KeptServer[]
  /** Those that each owner is connected to with an account of its own. */
  readonly #perOwner: readonly OwnerServers[]
  readonly #log: ServerLog
  readonly #onTools: () => void
  #running: RunningServers | undefined
  /** By the servers that an agent has; made anew after a change. */
  #lists = new Map<string, readonly Tool[]>()

  constructor(servers: readonly KeptServer[], log: ServerLog, onTools: () => void, owners?: OwnerNeeds) {
    this.#servers = servers
    this.#log = log
    this.#onTools = onTools
    const perOwner = owners ? servers.filter(({ spec }) => isPerOwner(spec)) : []
    this.#perOwner = perOwner.map(server => new OwnerServers(withLog(server, log), owners!, onTools))
  }

  /** Resolves when each server was tried once, and no later than `patienceMs`: the rest follow when they can. */
  async start(patienceMs: number): Promise<void> {
    if (this.#servers.length === 0) return
    const shared = this.#servers.filter(({ spec }) => !isPerOwner(spec))
    this.#running ??= new RunningServers(shared, this.#log, () => {
      this.#lists.clear()
      this.#onTools()
    })
    await Promise.race([this.#running.tried, pause(patienceMs, undefined, { ref: false })])
  }

  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    this.#lists.clear()
    await Promise.all([running?.stop(), ...this.#perOwner.map(server => server.stop())])
  }

  /** How each server is now, in the order of the configuration. */
  infos(): Omit<ToolServerInfo, 'agents'>[] {
    return this.#servers.map(
      ({ spec: { name }, spec }) =>
        this.#ofOwners(name)?.info ?? this.#running?.server(name)?.info ?? notStarted(spec),
    )
  }

  #ofOwners(name: string): OwnerServers | undefined {
    return this.#perOwner.find(({ spec }) => spec.name === name)
  }

  /** Whether the tools of one of these servers depend on the owner. */
  differByOwner(names: readonly string[]): boolean {
    return names.some(name => this.#ofOwners(name) !== undefined)
  }

  /** Resolves when the tools are known that this owner has of these servers. Undefined: they are known. */
  ready(names: readonly string[], owner: string): Promise<unknown> | undefined {
    const waits = names.flatMap(name => this.#ofOwners(name)?.ready(owner) ?? [])
    return waits.length > 0 ? Promise.all(waits) : undefined
  }

  /** Of these servers, those that depend on the owner. Undefined: as they are for nobody in particular. */
  ownerTools(names: readonly string[], owner: string | undefined): readonly (readonly Tool[])[] {
    return names.flatMap(name => {
      const found = this.#ofOwners(name)
      return found ? [found.tools(owner)] : []
    })
  }

  /** The owner is not connected any more. */
  async forget(name: string, owner: string): Promise<void> {
    await this.#ofOwners(name)?.forget(owner)
  }

  server(name: string): McpConnection | undefined {
    return this.#running?.server(name)
  }

  /** Of these servers, in their order. The same list as long as nothing has changed. */
  tools(names: readonly string[]): readonly Tool[] {
    const key = names.join(' ')
    let list = this.#lists.get(key)
    if (list === undefined) {
      list = this.#running?.tools(names) ?? []
      this.#lists.set(key, list)
    }
    return list
  }
}

function withLog({ spec, options }: KeptServer, log: ServerLog): KeptServer {
  return { spec, options: { ...options, log } }
}

function notStarted(spec: McpServerSpec): Omit<ToolServerInfo, 'agents'> {
  const transport = 'url' in spec ? 'http' : 'stdio'
  const { name } = spec
  return { name, transport, state: 'connecting', tools: 0, changedTools: 0, resources: false, prompts: false }
}

class RunningServers {
  readonly #stop = new AbortController()
  readonly #open = new Map<string, McpServer>()
  readonly #ends: Promise<void>[]
  readonly #log: ServerLog
  readonly tried: Promise<unknown>

  constructor(servers: readonly KeptServer[], log: ServerLog, onTools: () => void) {
    this.#log = log
    const first: Promise<void>[] = []
    this.#ends = servers.map(server => {
      const tried = Promise.withResolvers<void>()
      first.push(tried.promise)
      return this.#keep(server, onTools, tried.resolve).catch((error: unknown) => {
        tried.resolve()
        log('error', 'An MCP server is no longer tried: its tools are unavailable.', {
          server: server.spec.name,
          error: printable(errorMessage(error), 500),
        })
      })
    })
    this.tried = Promise.all(first)
  }

  server(name: string): McpServer | undefined {
    return this.#open.get(name)
  }

  tools(names: readonly string[]): Tool[] {
    return names.flatMap(name => this.#open.get(name)?.tools ?? [])
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#open.values()].map(server => server.close().catch(() => {})))
    await Promise.all(this.#ends)
  }

  async #keep({ spec, options }: KeptServer, onTools: () => void, tried: () => void): Promise<void> {
    const { signal } = this.#stop
    // The SDK is loaded only if there is a server.
    const { McpServer } = await import('./server.ts')
    const server = new McpServer(spec, { ...options, log: this.#log, onTools })
    this.#open.set(spec.name, server)
    const stopped = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    for (let failures = 0; !signal.aborted; failures += 1) {
      const since = performance.now()
      try {
        await server.open()
        if (failures > 0) this.#log('info', 'An MCP server is connected again.', { server: spec.name })
        onTools()
        tried()
        await Promise.race([server.untilLost(), stopped])
        // A server that ends again and again is not started more and more often.
        if (performance.now() - since > longestPauseMs) failures = 0
        if (!signal.aborted)
          this.#log('warn', 'The connection to an MCP server is lost.', { server: spec.name })
      } catch (error) {
        tried()
        if (signal.aborted) return
        const words = printable(errorMessage(error), 500)
        // The first failure is news; the same one every minute is not.
        this.#log(
          failures === 0 ? 'error' : 'info',
          'An MCP server cannot be used: its tools are unavailable.',
          {
            server: spec.name,
            error: words,
          },
        )
      }
      await pause(retryPauseMs(failures), undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
