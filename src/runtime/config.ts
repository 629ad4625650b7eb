// What an operator writes: agents, models, tools, policy, server. Types for the editor; `check-config.ts` is for whoever
// gets one wrong.
import type { AgentOption, Compaction, Limits, Model, Store, Tool } from '../engine/ports.ts'
import type { ToolChoice } from '../language/tools.ts'
import type { GateOptions, PolicyRule } from '../policy/index.ts'
import type { KeyEntry } from './keys.ts'
import type { LogLevel } from './log.ts'

export type AgentConfig = {
  name: string
  title?: string
  version?: string
  description?: string
  /** The instructions that the model reads before anything else. */
  system?: string
  /** A model, or the name of one in `models`. */
  model: Model | string
  tools?: readonly Tool[]
  options?: readonly AgentOption[]
  /** Rules for this agent; they come before those of `policy`. */
  rules?: readonly PolicyRule[]
  limits?: Partial<Limits>
  choice?: ToolChoice
  parallel?: boolean
  maxTokens?: number
  /** When the conversation has grown past so many tokens, its beginning is summarised by the model itself. */
  compaction?: Compaction
  /** Whether clients may bring tools of their own. Default true. */
  clientTools?: boolean
  images?: { http?: boolean; data?: boolean }
  /** On the Responses door. `serverTools`: its own tools run there too, for stored responses. Default false. */
  responses?: { serverTools?: boolean }
}

export type ServerConfig = {
  host?: string
  port?: number
  /** Further names under which this server is reached, with or without a port. */
  hosts?: readonly string[]
  /** Web origins that may call it, such as "https://app.example". */
  origins?: readonly string[]
  /** Bearer keys by hash; `turnwire keys add <name>` keeps them in the data folder instead. */
  keys?: readonly KeyEntry[]
  bodyBytes?: number
  heartbeatMs?: number
  unsentBytes?: number
  /** Also serves the Agent Client Protocol at /acp, over HTTP and WebSocket: experimental transports. Default false. */
  acp?: boolean
  /** How long running tools may take to finish when the server stops. */
  graceMs?: number
  log?: LogLevel
}

export type TurnwireConfig = {
  agents: readonly AgentConfig[]
  models?: Readonly<Record<string, Model>>
  policy?: GateOptions
  limits?: Partial<Limits>
  server?: ServerConfig
  /** Where sessions live: a folder (SQLite), "memory", or a store of your own. Default ".turnwire". */
  data?: string | Store
}

/** Gives its argument back: for the types, and so that a config file reads as one. */
export function defineConfig(config: TurnwireConfig): TurnwireConfig {
  return config
}
