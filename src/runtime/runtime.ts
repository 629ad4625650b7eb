// The one place that joins both sides: a checked configuration becomes an engine with its adapters. The server, the command
// and the library all start here. `Turnwire` is what programs see of it.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type Agent,
  type AgentInfo,
  type Engine,
  LocalEngine,
  type Store,
  type Vault,
} from '../engine/index.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { memoryStore } from '../stores/memory.ts'
import { buildAgents } from './build-agent.ts'
import { checkConfig } from './check-config.ts'
import type { TurnwireConfig } from './config.ts'
import { FolderEngine } from './folder-engine.ts'
import { createLog, type Log } from './log.ts'
import { LogFailures } from './log-failures.ts'
import { createVault, vaultKey } from './vault.ts'
import { realWorld } from './world.ts'

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
  /** Undefined: sessions are in memory, or in a store of the program's own. */
  readonly folder: string | undefined
  readonly engine: Engine
  readonly #inner: LocalEngine | FolderEngine
  readonly failures = new LogFailures()
  readonly #graceMs: number
  readonly #world = realWorld()
  readonly #store: Store | undefined
  #parts: { agents: readonly Agent[]; vault: Vault } | undefined
  #recovered: LocalEngine | undefined

  private constructor(config: TurnwireConfig, log: Log) {
    const { data = '.turnwire' } = config
    this.config = config
    this.log = this.failures.tap(log)
    this.#graceMs = config.server?.graceMs ?? 10_000
    this.folder = typeof data !== 'string' || data === 'memory' ? undefined : makeFolder(data)
    this.#store = typeof data !== 'string' ? data : data === 'memory' ? memoryStore() : undefined
    const { folder } = this
    this.#inner =
      folder === undefined
        ? this.#startEngine(this.#store ?? memoryStore())
        : new FolderEngine({
            folder,
            graceMs: this.#graceMs,
            log: this.log,
            openStore: () => openFolderStore(folder),
            startEngine: store => this.#startEngine(store),
          })
    this.engine = this.#inner
  }

  static async open(config: TurnwireConfig, options: OpenOptions = {}): Promise<Runtime> {
    checkConfig(config, options.source ?? 'The configuration')
    const log = options.log ?? createLog({ level: config.server?.log ?? 'warn' })
    const runtime = new Runtime(config, log)
    // Whether the folder can be used is known before anything else happens.
    await runtime.local()
    if (options.recover !== false) await runtime.recover()
    return runtime
  }

  /** Continues the sessions that were at work when their process went away, if this process has the folder. */
  async recover(): Promise<void> {
    const local = await this.local()
    if (!local || local === this.#recovered) return
    this.#recovered = local
    const count = await local.recover()
    if (count > 0) this.log('info', 'Unfinished sessions were resumed.', { sessions: count })
  }

  /** From here on this process keeps the data folder. Rejects with `config_invalid` if another server has it. */
  async becomeServer(): Promise<void> {
    if (this.#inner instanceof FolderEngine) await this.#inner.becomeServer()
  }

  /** Seals secrets, and artifacts of wires. */
  get vault(): Vault {
    return this.#own.vault
  }

  async close(): Promise<void> {
    if (this.#inner instanceof FolderEngine) await this.#inner.close()
    else await this.#inner.stop(this.#graceMs)
    this.#world.clear()
    await this.#store?.close()
  }

  // ---- the engine of this process ----------------------------------------------------------------------------

  /** Undefined: another process has the folder. */
  async local(): Promise<LocalEngine | undefined> {
    return this.#inner instanceof FolderEngine ? this.#inner.local() : this.#inner
  }

  get #own(): { agents: readonly Agent[]; vault: Vault } {
    this.#parts ??= {
      agents: buildAgents(this.config, this.log),
      vault: createVault(vaultKey(this.folder)),
    }
    return this.#parts
  }

  #startEngine(store: Store): LocalEngine {
    const { agents, vault } = this.#own
    const byName = new Map(agents.map(agent => [agent.name, agent]))
    const models = new Map(this.config.agents.map(({ name, model }) => [name, model]))
    return new LocalEngine({
      store,
      world: this.#world,
      vault,
      agent: name => byName.get(name),
      agents: () =>
        agents.map(agent => {
          const model = models.get(agent.name)
          return typeof model === 'string' ? { agent, model } : { agent }
        }),
      models: this.config.models ?? {},
      log: this.log,
    })
  }
}

/** Only its owner can enter it. */
function makeFolder(data: string): string {
  const folder = resolve(data)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new TurnwireError('config_invalid', `The data folder ${folder} cannot be made: ${wordsOf(cause)}`, {
      cause,
    })
  }
  return folder
}

/** SQLite is loaded only when needed: a session in memory should not pay for a database. */
export async function openFolderStore(folder: string): Promise<Store> {
  const { sqliteStore } = await import('../stores/sqlite/index.ts')
  return sqliteStore({ file: join(folder, 'sessions.db') })
}
