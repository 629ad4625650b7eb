// What an operator writes: agents, models, tools, policy, server. These are the types, which check the names of agents and
// models too; `check-config.ts` checks the values.
import type { AgentOption, Compaction, Limits, Model, Store, Tool } from '../engine/ports.ts'
import type { ToolChoice } from '../language/tools.ts'
import type { GateOptions, PolicyRule } from '../policy/index.ts'
import type { KeyEntry } from './keys.ts'
import type { LogLevel } from './log.ts'

export type AgentConfig<Name extends string = string, ModelName extends string = string> = {
  name: Name
  title?: string
  version?: string
  description?: string
  /** The instructions that the model reads before anything else. */
  system?: string
  /** A model, or the name of one in `models`. */
  model: Model | NoInfer<ModelName>
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
  /** On the Responses wire. `serverTools`: its own tools run there too, for stored responses. Default false. */
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
  /** A client that reads nothing of its stream for this long is dropped. Default 30,000. */
  stallMs?: number
  /** Also serves the Agent Client Protocol at /acp, over HTTP and WebSocket: experimental transports. Default false. */
  acp?: boolean
  /** How long running tools may take to finish when the server stops. */
  graceMs?: number
  log?: LogLevel
}

export type TurnwireConfig<Name extends string = string, ModelName extends string = string> = {
  agents: readonly AgentConfig<Name, ModelName>[]
  models?: Readonly<Record<ModelName, Model>>
  policy?: GateOptions
  limits?: Partial<Limits>
  server?: ServerConfig
  /** Where sessions live: a folder (SQLite), "memory", or a store of your own. Default ".turnwire". */
  data?: string | Store
}

/** Gives its argument back, with the names of its agents and models as types. */
export function defineConfig<Name extends string, ModelName extends string = never>(
  config: TurnwireConfig<Name, ModelName>,
): TurnwireConfig<Name, ModelName> {
  return config
}
