// The one place that joins both sides: a checked configuration becomes an engine with its adapters. The server, the command
// and the library all start here. `Turnwire` is what programs see of it.
import { openRulesFile } from './config/agent-gate.ts'
import { buildAgents } from './config/build-agent.ts'
import { checkConfig } from './config/check-config.ts'
import { serverDefaults, type TurnwireConfig } from './config/config.ts'
import { keptServers } from './config/mcp-config.ts'
import { toolServers } from './config/mcp-servers.ts'
import { namedModels } from './config/named-models.ts'
import type { RulesFile } from './config/rules-file.ts'
import { warnOfTools } from './config/warn-tools.ts'
import { type DataPlace, findPlace, isNodeStore, isShared, openFolderStore } from './data/data-place.ts'
import { keepOut } from './data/keep-out.ts'
import { acceptedDefinitions } from './data/mcp-definitions.ts'
import { tokenStore } from './data/mcp-tokens.ts'
import { openReceiptKeys, type ReceiptKeys } from './data/receipt-keys.ts'
import { createVault, type SigningVault, vaultKey } from './data/vault.ts'
import { ownVersion } from './data/version.ts'
import {
  type Agent,
  type AgentInfo,
  CallSlots,
  crashPoints,
  type Engine,
  type EnginePorts,
  emptyState,
  evolve,
  type JudgedCall,
  LocalEngine,
  type PlainError,
  RecordedSession,
  type RecordStore,
  type SessionRef,
  type SessionState,
  type Store,
  supposeCall,
  supposeSession,
} from './engine/index.ts'
import type { ClusterNode } from './engines/cluster/cluster-node.ts'
import { clusterSettings } from './engines/cluster/settings.ts'
import { FolderEngine } from './engines/folder/folder-engine.ts'
import { TurnwireError } from './language/errors.ts'
import type { Recorded } from './language/events.ts'
import type { RulesFileState, SupposedCall } from './language/policy.ts'
import { Egress } from './lib/net/egress.ts'
import { LogFailures } from './library/log-failures.ts'
import { createLog, type Log } from './log.ts'
import { keepsPayments, type PaymentStore } from './payments/port.ts'
import type { PriceSource } from './payments/price.ts'
import type { ChangeToTry, ReplayReport, TryOptions } from './replay/index.ts'
import { Telemetry } from './telemetry/index.ts'
import { type ModelRecord, ModelStats } from './telemetry/model-stats.ts'
import { KeptServers, type McpOptions, type McpServerSpec, OwnerAccounts } from './tools/mcp/index.ts'
import { courierPoints, startWebhooks, type Webhooks } from './webhooks/index.ts'
import { approvalLink } from './wires/approval-link.ts'
import { callbackPath, makeToken } from './wires/callbacks/token.ts'
import { connectAddress } from './wires/connect/token.ts'
import { killer, realWorld } from './world.ts'

export type { AgentInfo }

export type OpenOptions = {
  log?: Log
  /** Where the configuration comes from, for messages about mistakes in it. */
  source?: string
  /** False: sessions that were at work are continued only when someone asks for them. Default true. */
  recover?: boolean
}

export class Runtime {
  readonly config: TurnwireConfig
  readonly log: Log
  /** Keys, tokens and the vault's key, and sessions unless they are in a store. Undefined: nothing is kept on this machine. */
  readonly folder: string | undefined
  readonly engine: Engine
  /** Undefined: the store of the configuration keeps none. */
  readonly payments: PaymentStore | undefined
  /** Undefined: the store of the configuration keeps none. */
  readonly records: RecordStore | undefined
  readonly #inner: LocalEngine | FolderEngine | ClusterNode
  readonly failures = new LogFailures()
  readonly telemetry: Telemetry
  readonly #models: ModelStats
  readonly #graceMs: number
  readonly #world = realWorld()
  /** Where prices come from that the configuration does not know. Set before it is served. */
  priceSource: PriceSource | undefined
  readonly callSlots: CallSlots
  /** Where it is served, for callback addresses. */
  #address: string | undefined
  /** Undefined: sessions are in the folder. */
  readonly #store: Store | undefined
  readonly #egress: Egress
  #isServer = false
  /** The store of the engine of this process. */
  #working: Store | undefined
  readonly #mcp: KeptServers
  #mcpStarted: Promise<void> | undefined
  /** Of owners, at MCP servers. */
  readonly accounts: OwnerAccounts
  readonly #rulesFile: RulesFile | undefined
  /** Of the engine of this process. */
  #webhooks: Webhooks | undefined
  readonly #onTools = new Set<() => void>()
  readonly #unlisted = new Map<string, Agent>()
  #receiptKeys: ReceiptKeys | undefined
  #parts: { agents: readonly Agent[]; vault: SigningVault } | undefined
  /** The engine that this process started last. */
  #started: LocalEngine | undefined
  #recovered: LocalEngine | undefined
  /** From here on tools of this process may reach the folder. */
  readonly #openFolder: () => void

  private constructor(
    config: TurnwireConfig,
    log: Log,
    telemetry: Telemetry,
    cluster: typeof ClusterNode | undefined,
  ) {
    this.telemetry = telemetry
    this.#models = new ModelStats(telemetry)
    this.config = this.#models.watchAll(config)
    this.#egress = new Egress(config.egress)
    this.callSlots = new CallSlots(config.callsAtOnce ?? CALLS_AT_ONCE)
    this.log = this.failures.tap(log)
    this.#graceMs = config.server?.graceMs ?? serverDefaults.graceMs
    const place = findPlace(config.data, this.log)
    this.folder = place.folder
    this.#openFolder = place.folder === undefined ? () => {} : keepOut(place.folder, config)
    this.#store = place.store
    const connect = (spec: McpServerSpec): Pick<McpOptions, 'auth' | 'fetchOther' | 'definitions'> => ({
      ...acceptedDefinitions(this.folder, spec),
      ...('url' in spec && {
        auth: { store: tokenStore(this.folder, spec, () => this.vault) },
        fetchOther: this.fetchFor(spec.name),
      }),
    })
    this.#rulesFile = openRulesFile(config, this.log)
    const servers = keptServers(config, connect)
    this.accounts = new OwnerAccounts(servers, {
      records: () => this.records,
      vault: () => this.vault,
      address: ({ server, owner, ...call }) =>
        this.#address &&
        connectAddress(this.#address, { server, owner, call }, text => this.vault.sign(text)),
      fetchOther: server => this.fetchFor(server),
      forgotten: (server, owner) => this.#mcp.forget(server, owner),
      now: () => this.#world.now(),
      log: this.log,
    })
    this.#mcp = new KeptServers(servers, this.log, () => this.#tellTools(), this.accounts)
    this.#inner = this.#makeEngine(place, cluster)
    const keeper = place.store ?? this.#inner
    this.payments = keepsPayments(keeper) ? keeper.payments : undefined
    this.records = place.store ? place.store.records : (this.#inner as FolderEngine).records
    this.engine = 'engine' in this.#inner ? this.#inner.engine : this.#inner
  }

  #makeEngine(place: DataPlace, cluster?: typeof ClusterNode): LocalEngine | FolderEngine | ClusterNode {
    const { log } = this
    const graceMs = this.#graceMs
    if (!place.store)
      return new FolderEngine({
        folder: place.folder,
        version: ownVersion(),
        graceMs,
        log,
        openStore: () => openFolderStore(place.folder, log),
        startEngine: store => this.#startEngine(store),
        engineStopped: async () => {
          await this.#webhooks?.stop()
          await this.#mcp.stop()
        },
      })
    if (!cluster || !isNodeStore(place.store)) return this.#startEngine(place.store)
    return new cluster({
      store: place.store,
      settings: clusterSettings(this.config.server?.cluster),
      version: ownVersion(),
      startEngine: (store, summon) => this.#startEngine(store, summon),
      graceMs,
      vault: this.vault.sign('turnwire nodes'),
      log,
    })
  }

  static async open(config: TurnwireConfig, options: OpenOptions = {}): Promise<Runtime> {
    checkConfig(config, options.source ?? 'The configuration')
    const log = options.log ?? createLog({ level: config.server?.log ?? 'warn' })
    // Loaded only where nodes can be.
    const cluster = isShared(config.data)
      ? (await import('./engines/cluster/cluster-node.ts')).ClusterNode
      : undefined
    const runtime = new Runtime(config, log, await Telemetry.open(config.telemetry), cluster)
    try {
      await runtime.node?.join()
    } catch (error) {
      await runtime.close()
      throw error
    }
    // Whether the folder can be used is known before anything else happens.
    if (await runtime.local()) await runtime.#mcpStarted
    if (options.recover !== false) await runtime.recover()
    return runtime
  }

  /** Continues the sessions that were at work when their process went away, if this process has the folder. */
  async recover(): Promise<void> {
    const local = await this.local()
    if (!local || local === this.#recovered) return
    this.#recovered = local
    await this.#mcpStarted
    if (this.node) await this.node.recover()
    const count = this.node ? 0 : await local.recover()
    if (count > 0) this.log('info', 'Unfinished sessions were resumed.', { sessions: count })
  }

  /** From here on this process keeps the data folder. Rejects with `config_invalid` if another server has it. */
  async becomeServer(): Promise<void> {
    if (this.#inner instanceof FolderEngine) await this.#inner.becomeServer()
    this.#isServer = true
    this.#working?.finder?.start()
  }

  /** `tell` is called when agents have other tools, or tools that were available are not. */
  onTools(tell: () => void): void {
    this.#onTools.add(tell)
  }

  #tellTools(): void {
    for (const tell of this.#onTools) tell()
  }

  /** An agent beside those of the configuration, which no list shows. */
  addUnlisted(agent: Agent): void {
    this.#unlisted.set(agent.name, agent)
  }

  /** Where it is served. Undefined: nowhere. */
  get address(): string | undefined {
    return this.#address
  }

  /** From here on it is served at this address. */
  serveAt(address: string): void {
    this.#address = address
  }

  /** Seals secrets, and artifacts of wires. */
  get vault(): SigningVault {
    return this.#own.vault
  }

  /** The keys that sign logs. Undefined: logs are not signed. */
  get receiptKeys(): ReceiptKeys | undefined {
    if (!this.config.receipts) return undefined
    this.#receiptKeys ??= openReceiptKeys({ folder: this.folder, shared: this.#sharedSecret })
    return this.#receiptKeys
  }

  /** Fetches, within the egress rule, what an MCP server names at other addresses than its own. */
  fetchFor(server: string): NonNullable<McpOptions['fetchOther']> {
    return (url, init) =>
      this.#egress.fetch(url, {
        mayChange: false,
        ...init,
        report: report =>
          this.log(report.refused === undefined ? 'info' : 'warn', 'An MCP server named another address.', {
            server,
            ...report,
          }),
      })
  }

  /** Fetches, within the egress rule, what an issuer of tokens publishes. */
  fetchIssuer(): (url: string, init?: RequestInit) => Promise<Response> {
    return (url, init) =>
      this.#egress.fetch(url, {
        ...init,
        hosts: [new URL(url).host],
        mayChange: false,
        report: report => {
          if (report.refused !== undefined)
            this.log('warn', 'An address of a token issuer was refused.', report)
        },
      })
  }

  async close(): Promise<void> {
    this.#rulesFile?.stop()
    if (this.#inner instanceof FolderEngine) await this.#inner.close()
    else await this.#inner.stop(this.#graceMs)
    await this.#webhooks?.stop()
    await this.#mcp.stop()
    await closeTools(this.#parts?.agents ?? [])
    this.#world.clear()
    this.#egress.close()
    await this.#store?.close()
    await this.telemetry.close()
    this.#openFolder()
  }

  // ---- the engine of this process ----------------------------------------------------------------------------

  /** Undefined: another process has the folder. */
  async local(): Promise<LocalEngine | undefined> {
    const isHere = !(this.#inner instanceof FolderEngine) || (await this.#inner.local()) !== undefined
    return isHere ? this.#started : undefined
  }

  /** Undefined: no other process can work on the same sessions. */
  get node(): ClusterNode | undefined {
    return 'engine' in this.#inner ? this.#inner : undefined
  }

  get #own(): { agents: readonly Agent[]; vault: SigningVault } {
    this.#parts ??= {
      agents: warned(buildAgents(this.config, this.log, this.#mcp, this.#rulesFile), this.log),
      vault: createVault(vaultKey(this.folder, undefined, this.#sharedSecret)),
    }
    return this.#parts
  }

  /** The secret that all nodes of a cluster have. */
  get #sharedSecret(): string | undefined {
    return isShared(this.config.data) ? clusterSettings(this.config.server?.cluster).secret : undefined
  }

  /** How the file of rules is. Undefined: none is configured. */
  get rulesFile(): RulesFileState | undefined {
    return this.#rulesFile?.state
  }

  /** What the gate would say about a call that nobody made, alone or as the next one of a session. */
  async judge(engine: Engine, { session, agent, owner, tool, input }: SupposedCall): Promise<JudgedCall> {
    const { agents, vault } = this.#own
    const now = this.#world.now()
    const readState = (ref: SessionRef): Promise<SessionState> => stateFromLog(engine, ref)
    const state =
      session === undefined ? supposeSession({ agent, owner, now }) : await readState({ owner, session })
    const find = (name: string): Agent | undefined => agents.find(each => each.name === name)
    const recorded = new RecordedSession(state, { agent: find, vault, parent: readState })
    return recorded.judge(supposeCall(state, tool, input, now), now)
  }

  /** What a recorded session would have come to with one thing changed. Nothing is recorded and no tool runs. */
  async tryChange(
    session: string,
    log: readonly Recorded[],
    { people, ...change }: ChangeToTry & Pick<TryOptions, 'people'>,
    signal: AbortSignal,
  ): Promise<ReplayReport> {
    const { readRecording, tryChange } = await import('./replay/index.ts')
    const build = (config: TurnwireConfig): Agent[] => buildAgents(config, this.log, this.#mcp)
    const options = { vault: this.#own.vault, signal, build, ...(people && { people }) }
    return tryChange(readRecording(session, log), this.config, change, options)
  }

  /** Why nothing can be recorded now, if this process has the store and knows. */
  storeFailure(): PlainError | undefined {
    return this.#working?.failure?.()
  }

  /** Why this node of a cluster should be given no requests now. */
  nodeFailure(): PlainError | undefined {
    const failure = this.node?.failure()
    return failure && { code: failure.code, message: failure.message }
  }

  /** Warnings about the other nodes for an operator. This node works. */
  nodeWarnings(): string[] {
    return this.node?.warnings() ?? []
  }

  /** The nodes that share the store, as last seen, and which of them this is. Undefined: the store is not shared. */
  nodes(): (ReturnType<ClusterNode['known']> & { self: string }) | undefined {
    return this.node && { ...this.node.known(), self: this.node.id }
  }

  /** How the models did since the start: those with a name, and the agents' own. */
  modelRecords(): (ModelRecord & { name: string; id: string })[] {
    const own = this.config.agents.flatMap(({ name, model }) =>
      typeof model === 'string' ? [] : [[name, model] as const],
    )
    return [...Object.entries(namedModels(this.config)), ...own].flatMap(([name, model]) =>
      (model.members ?? [model]).map(({ id }) => ({ name, id, ...this.#models.of(id) })),
    )
  }

  #startEngine(store: Store, summon?: EnginePorts['summon']): LocalEngine {
    this.#working = store
    if (this.#isServer) store.finder?.start()
    const { hooks, context } = this.config
    const { agents, vault } = this.#own
    const receipts = this.receiptKeys
    // Only the process that has the engine runs them, so that each is started once.
    this.#mcpStarted = this.#mcp.start(mcpPatienceMs)
    this.#rulesFile?.watch(() => this.#tellTools())
    this.#webhooks = this.#startWebhooks(store)
    const byName = new Map(agents.map(agent => [agent.name, agent]))
    const models = new Map(this.config.agents.map(({ name, model }) => [name, model]))
    this.#started = new LocalEngine({
      store,
      world: this.#world,
      vault,
      version: ownVersion(),
      agent: name => byName.get(name) ?? this.#unlisted.get(name),
      agents: () =>
        agents.map(agent => {
          const model = models.get(agent.name)
          return typeof model === 'string' ? { agent, model } : { agent }
        }),
      models: namedModels(this.config),
      servers: toolServers(this.config, this.#mcp),
      egress: this.#egress,
      callSlots: this.callSlots,
      ...(countsSpending(agents, store) && { countsSpending: true }),
      ...(summon && { summon }),
      ...(hooks && { hooks }),
      ...(receipts && { receipts }),
      ...(this.#webhooks && { notices: this.#webhooks.notices }),
      observer: this.telemetry.observer,
      ...(context && { app: makeAppContext(context) }),
      callback: call =>
        this.#address && `${this.#address}${callbackPath}/${makeToken(call, text => vault.sign(text))}`,
      log: this.log,
    })
    return this.#started
  }

  /** Undefined: nobody is to be told. */
  #startWebhooks(store: Store): Webhooks | undefined {
    const { webhooks: endpoints = {}, egress } = this.config
    if (Object.keys(endpoints).length === 0) return undefined
    const sign = (text: string): string => this.vault.sign(text)
    return startWebhooks({
      endpoints,
      records: store.records,
      egress,
      sign,
      world: this.#world,
      log: this.log,
      link: (notice, { links }, id) => links && approvalLink(this.#address, notice, { ...links, id }, sign),
      ...(this.#world.crashPoint && { reached: killer<string>([...crashPoints, ...courierPoints]) }),
    })
  }

  /** A message of a webhook is to be sent now, if this process sends them. */
  wakeWebhooks(): void {
    this.#webhooks?.wake()
  }
}

async function stateFromLog(engine: Engine, ref: SessionRef): Promise<SessionState> {
  const state = emptyState(ref.session)
  for (;;) {
    const page = await engine.events(ref, state.seq, 1024 * 1024)
    if (page.length === 0) return state
    for (const { event } of page) evolve(state, event)
  }
}

/** An agent has a budget that sessions share. Throws `config_invalid` if the store cannot count for it. */
function countsSpending(agents: readonly Agent[], store: Store): boolean {
  const shared = agents.some(({ budgets }) => budgets?.agentDay ?? budgets?.ownerDay ?? budgets?.ownerMonth)
  if (shared && !(store.spent && store.spend))
    throw new TurnwireError(
      'config_invalid',
      'The store of `data` cannot count what agents and owners spend (it has no `spent` and `spend`). Remove the budgets agentDay, ownerDay and ownerMonth, or use another store.',
    )
  return shared
}

/** How long a start waits for MCP servers. Those that take longer bring their tools later. */
const mcpPatienceMs = 10_000

function warned(agents: Agent[], log: Log): Agent[] {
  warnOfTools(agents, log)
  return agents
}

/** Closes the resources that tools keep for sessions, such as browsers. */
async function closeTools(agents: readonly Agent[]): Promise<void> {
  const closing = agents.flatMap(({ tools }) => tools.flatMap(tool => tool.close?.() ?? []))
  await Promise.allSettled(closing)
}

/** More rarely help: calls that wait for others cost little, and calls that compute share the same cores. */
const CALLS_AT_ONCE = 256

/** A program's own members make `AppContext` more than an object, but never a function. */
function makeAppContext(context: NonNullable<TurnwireConfig['context']>): NonNullable<EnginePorts['app']> {
  return typeof context === 'function' ? (context as NonNullable<EnginePorts['app']>) : () => context
}
