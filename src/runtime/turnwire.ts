// The one place that joins both sides: a checked configuration becomes an engine with its adapters. With a server
// or without one, this is where every program starts.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type Agent,
  LocalEngine,
  type ManualControl,
  OpenSessions,
  type Store,
  type Vault,
} from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { memoryStore } from '../stores/memory.ts'
import { buildAgents } from './build-agent.ts'
import { checkConfig } from './check-config.ts'
import type { TurnwireConfig } from './config.ts'
import { Conversation, type ConversationOptions, settingsOf } from './conversation.ts'
import { localOwner } from './keys.ts'
import { createLog, type Log } from './log.ts'
import { createVault, vaultKey } from './vault.ts'
import { realWorld } from './world.ts'
import { takeWriterLock, type WriterLock } from './writer-lock.ts'

export { localOwner }

export type OpenOptions = {
  log?: Log
  source?: string
  /** False: sessions that are at work are left alone, since another process may be working on them. Default true. */
  takeUp?: boolean
}

export class Turnwire {
  readonly local: LocalEngine
  readonly engine: OpenSessions
  /** For requests that leave nothing behind: the same agents, without tools of their own. */
  readonly ephemeral: OpenSessions
  readonly agents: readonly Agent[]
  readonly config: TurnwireConfig
  readonly vault: Vault
  readonly log: Log
  readonly folder: string | undefined
  readonly #graceMs: number
  #lock: WriterLock | undefined
  #takesUp = false
  readonly #world = realWorld()

  private constructor(config: TurnwireConfig, parts: { store: Store; folder: string | undefined; log: Log }) {
    this.config = config
    this.log = parts.log
    this.folder = parts.folder
    this.agents = buildAgents(config, parts.log)
    this.vault = createVault(vaultKey(parts.folder))
    this.#graceMs = config.server?.graceMs ?? 10_000
    const byName = new Map(this.agents.map(agent => [agent.name, agent]))
    const names = new Map(config.agents.map(({ name, model }) => [name, model]))
    this.local = new LocalEngine({
      store: parts.store,
      world: this.#world,
      vault: this.vault,
      agent: name => byName.get(name),
      agents: () =>
        this.agents.map(agent => {
          const model = names.get(agent.name)
          return typeof model === 'string' ? { agent, model } : { agent }
        }),
      models: config.models ?? {},
      takesUp: () => this.#takesUp,
      log: parts.log,
    })
    this.engine = this.local.sessions
    const bare = new Map(
      this.agents.map(agent => [agent.name, { ...agent, tools: [], hosted: false as const }]),
    )
    this.ephemeral = new OpenSessions({
      ...this.engine.ports,
      store: memoryStore(),
      agent: name => bare.get(name),
      takesUp: () => true,
    })
  }

  /** Opens the store and, unless told otherwise, takes up what was left unfinished. */
  static async open(config: TurnwireConfig, options: OpenOptions = {}): Promise<Turnwire> {
    checkConfig(config, options.source ?? 'The configuration')
    const log = options.log ?? createLog({ level: config.server?.log ?? 'warn' })
    const { store, folder } = await openStore(config.data ?? '.turnwire')
    const turnwire = new Turnwire(config, { store, folder, log })
    if (options.takeUp !== false) await turnwire.takeUp()
    return turnwire
  }

  /**
   * From here on this process takes up what others left unfinished, unless another one on the same data folder does
   * so already.
   */
  async takeUp(): Promise<void> {
    if (this.folder !== undefined) {
      this.#lock ??= takeWriterLock(this.folder)
      if (!this.#lock) {
        this.log('warn', 'Another process works on this data folder: its unfinished sessions are left to it.')
        return
      }
    }
    this.#takesUp = true
    const taken = await this.engine.recover()
    if (taken > 0) this.log('info', 'Unfinished sessions were taken up.', { sessions: taken })
  }

  /** A new session of an agent, in this process. */
  async session(
    agent: string = this.agents[0]?.name ?? '',
    options: ConversationOptions = {},
  ): Promise<Conversation> {
    const owner = options.owner ?? localOwner
    const session = await this.engine.create({
      owner,
      agent,
      wire: 'library',
      settings: settingsOf(options, this.engine.agent(agent), this.vault),
      seed: options.history ?? [],
    })
    return new Conversation(this.engine, owner, session.id)
  }

  /** A session that exists, by its id. */
  async resume(id: string, owner: string = localOwner): Promise<Conversation> {
    const session = await this.engine.open(owner, id)
    return new Conversation(this.engine, owner, session.id)
  }

  /** Drive a session by hand, one action at a time. */
  takeOver(id: string, by = 'operator', owner: string = localOwner): Promise<ManualControl> {
    return this.engine.takeOver(owner, id, by)
  }

  async close(): Promise<void> {
    await Promise.all([this.local.stop(this.#graceMs), this.ephemeral.stop(0)])
    this.#world.clear()
    await this.engine.ports.store.close()
    this.#lock?.release()
  }
}

/** A folder is made when it is not there. */
export async function openStore(data: string | Store): Promise<{ store: Store; folder: string | undefined }> {
  if (typeof data !== 'string') return { store: data, folder: undefined }
  if (data === 'memory') return { store: memoryStore(), folder: undefined }
  const folder = resolve(data)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new TurnwireError('config_invalid', `The data folder ${folder} cannot be made: ${String(cause)}`, {
      cause,
    })
  }
  // Loaded only when needed: a session in memory should not pay for a database.
  const { sqliteStore } = await import('../stores/sqlite/index.ts')
  return { store: sqliteStore({ file: join(folder, 'sessions.db') }), folder }
}
