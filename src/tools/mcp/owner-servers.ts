// One configured MCP server whose tokens belong to the owners of sessions (`auth: { per: 'owner' }`). Each owner has a connection
// and a list of tools of its own, so that nothing of one owner reaches another. An owner that is not connected has one tool, which
// asks a person to connect. Connections that nobody uses are closed; their tools stay, and connect again.
import { setTimeout as pause } from 'node:timers/promises'
import type { Tool, ToolContext } from '../../engine/ports/index.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import type { McpOptions } from './index.ts'
import type { KeptServer } from './kept-servers.ts'
import { findLogin } from './login-needed.ts'
import type { OwnerAccount } from './owner-tokens.ts'
import type { McpServer } from './server.ts'
import type { McpHttpServer } from './spec.ts'

/** What it needs of the process. `address`: what a person opens to connect; undefined: this process serves no page for it. */
export type OwnerNeeds = {
  account(spec: McpHttpServer, owner: string): OwnerAccount
  address(about: { server: string; owner: string; session: string; callId: string }): string | undefined
}

/** An owner that is not connected is looked up again after this time: another node may have connected it. */
const lookAgainMs = 2_000
const restAfterMs = 10 * 60_000
const sweepMs = 60_000
/** More owners than this are forgotten when they rest. */
const mostKept = 1_000
/** How often a call asks, and how long it waits after an answer for the person to come back from the login. */
const mostAsked = 6
const arrivalMs = 8_000
const arrivalPollMs = 200
const maxOutput = 64 * 1024

export class OwnerServers {
  readonly spec: McpHttpServer
  readonly #options: McpOptions
  readonly #needs: OwnerNeeds
  readonly #onTools: () => void
  readonly #owners = new Map<string, OwnerServer>()
  readonly #unconnected: readonly Tool[]
  #sweep: NodeJS.Timeout | undefined

  constructor({ spec, options }: KeptServer, needs: OwnerNeeds, onTools: () => void) {
    this.spec = spec as McpHttpServer // `checkSpec` refuses `per` for others.
    this.#options = options
    this.#needs = needs
    this.#onTools = onTools
    this.#unconnected = [this.#connectTool()]
  }

  /** Undefined: of nobody, as lists of agents show them. */
  tools(owner: string | undefined): readonly Tool[] {
    const server = owner === undefined ? undefined : this.#owners.get(owner)?.server
    return server ? server.tools : this.#unconnected
  }

  /** Resolves when it is known whether the owner is connected, and which tools it has. Undefined: that is known. */
  ready(owner: string): Promise<void> | undefined {
    return this.#of(owner).ready()
  }

  get info(): Omit<ToolServerInfo, 'agents'> {
    const connected = [...this.#owners.values()].flatMap(({ server }) => server ?? [])
    const [first] = connected
    return {
      ...(first?.info ?? { transport: 'http' }),
      ...{ name: this.spec.name, state: 'owners', owners: connected.length },
      ...{ tools: 1, changedTools: 0, resources: false, prompts: false },
    }
  }

  /** The owner is not connected any more. */
  async forget(owner: string): Promise<void> {
    const known = this.#owners.get(owner)
    this.#owners.delete(owner)
    await known?.close()
    this.#onTools()
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    await Promise.all([...this.#owners.values()].map(owner => owner.close()))
    this.#owners.clear()
  }

  #of(owner: string): OwnerServer {
    this.#sweep ??= setInterval(() => this.#rest(), sweepMs).unref()
    let known = this.#owners.get(owner)
    if (!known) {
      const account = this.#needs.account(this.spec, owner)
      const login = (context: ToolContext, scope: string | undefined): Promise<void> =>
        this.#login(context, account, scope)
      known = new OwnerServer(this.spec, this.#options, account, login, this.#onTools)
      this.#owners.set(owner, known)
    }
    known.usedAt = performance.now()
    return known
  }

  #rest(): void {
    const before = performance.now() - restAfterMs
    for (const [owner, known] of this.#owners) {
      if (known.usedAt > before) continue
      if (this.#owners.size <= mostKept) known.server?.rest()
      else {
        this.#owners.delete(owner)
        void known.close()
      }
    }
  }

  #connectTool(): Tool {
    const { spec } = this
    const { exposed = true, trust } = this.#options
    return Object.freeze({
      name: `${spec.name}__connect`,
      title: `Connect ${spec.name}`,
      description: `Connects "${spec.name}" (${new URL(spec.url).host}) to the account of the person that you work for. They are asked to agree in their browser. Call this first when you need "${spec.name}": its other tools can be called afterwards.`,
      input: {
        form: 'json' as const,
        schema: { type: 'object', properties: {}, additionalProperties: false },
      },
      kind: 'other' as const,
      ...{ readOnly: false, idempotent: true, destructive: false, side: 'server' as const },
      flow: { effect: 'none' as const },
      ...{ exposed, trust: trust === 'deny' ? ('deny' as const) : ('trusted' as const) },
      ...{ timeoutMs: this.#options.timeoutMs ?? 60_000, retries: 0, outputLimit: maxOutput },
      run: async (_input: unknown, context: ToolContext) => {
        const names = await this.#connected(context)
        const listed = names.length > 0 ? `Its tools: ${names.join(', ')}.` : 'It has no tools.'
        return { parts: [{ type: 'text' as const, text: `"${spec.name}" is connected. ${listed}` }] }
      },
    })
  }

  /** Connects, and asks the person as long as the server wants a login. Gives the names of the tools. */
  async #connected(context: ToolContext): Promise<string[]> {
    const owner = this.#of(context.owner)
    for (let asked = false; ; asked = true) {
      await owner.ready(true)
      if (owner.server) return owner.server.tools.map(({ name }) => name)
      if (owner.problem !== undefined || asked)
        throw new Error(owner.problem ?? `"${this.spec.name}" does not take the login.`)
      await this.#login(context, owner.account, undefined)
    }
  }

  /** Asks the person to connect, and resolves when new tokens are there. */
  async #login(context: ToolContext, account: OwnerAccount, scope: string | undefined): Promise<void> {
    const { name: server, url } = this.spec
    const { owner, session, callId } = context
    const address = this.#needs.address({ server, owner, session, callId })
    if (address === undefined)
      throw new Error(
        `"${server}" is not connected for "${owner}", and nobody can be asked here: this process serves no page. Run: turnwire mcp login ${server} --owner ${owner}`,
      )
    await account.pull()
    const before = account.load().tokens?.access_token
    if (scope !== undefined)
      await account.alone(async () => account.save({ ...account.load(), wanted: scope }))
    const why = scope === undefined ? '' : ` It has to allow more than before (${printable(scope, 200)}).`
    for (let count = 1; count <= mostAsked; count += 1) {
      const first = `"${server}" (${new URL(url).host}) is needed, with your own account there.${why} Open the address to connect it for "${owner}".`
      const again = `"${server}" is not connected yet. Open the address and agree there: it goes on by itself.`
      const question = { message: count === 1 ? first : again, url: address }
      const answer = await context.ask(question, { key: `connect ${server} ${scope ?? ''} ${count}` })
      if (answer.action !== 'accept')
        throw new Error(`"${server}" was not connected: the person did not want it.`)
      if (await arrives(account, before, context.signal)) return
    }
    throw new Error(`"${server}" was not connected: nobody agreed to it there.`)
  }
}

/** One owner at the server. */
class OwnerServer {
  readonly #spec: McpHttpServer
  readonly #options: McpOptions
  readonly account: OwnerAccount
  readonly #onTools: () => void
  usedAt = 0
  /** Undefined: the owner is not connected. */
  server: McpServer | undefined
  /** Why the server cannot be used, where that is no matter of a login. */
  problem: string | undefined
  #opening: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(
    spec: McpHttpServer,
    options: McpOptions,
    account: OwnerAccount,
    login: NonNullable<NonNullable<McpOptions['auth']>['login']>,
    onTools: () => void,
  ) {
    this.#spec = spec
    this.account = account
    this.#onTools = onTools
    this.#options = { ...options, definitions: account.definitions, auth: { store: account, login } }
  }

  /** `now`: even if it was tried a moment ago. */
  ready(now = false): Promise<void> | undefined {
    if (this.server) return undefined
    if (!now && performance.now() - this.#lookedAt < lookAgainMs) return undefined
    this.#opening ??= this.#open().finally(() => {
      this.#lookedAt = performance.now()
      this.#opening = undefined
    })
    return this.#opening
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.server?.close()
  }

  async #open(): Promise<void> {
    await this.account.pull()
    this.problem = undefined
    if (!this.account.load().tokens) return
    const { McpServer: Server } = await import('./server.ts')
    const server = new Server(this.#spec, { ...this.#options, onTools: this.#onTools })
    try {
      await server.open()
      if (this.#isClosed) await server.close()
      else this.server = server
    } catch (error) {
      await server.close()
      if (!findLogin(error)) this.problem = printable(errorMessage(error), 300)
    }
  }
}

/** Whether other tokens than those before come within a moment. */
async function arrives(
  account: OwnerAccount,
  before: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waited = 0; ; waited += arrivalPollMs) {
    await account.pull()
    const now = account.load().tokens?.access_token
    if (now !== undefined && now !== before) return true
    if (waited >= arrivalMs) return false
    await pause(arrivalPollMs, undefined, { signal })
  }
}
