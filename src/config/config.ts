// The types of an operator's configuration: agents, models, tools, policy, server. They check the names of agents and
// models too; `check-config.ts` checks the values.

import type { IncomingMessage } from 'node:http'
import type { KeyEntry } from '../callers/keys.ts'
import type { OidcSettings } from '../callers/oidc/settings.ts'
import type { OwnerLimits, WalletLimits } from '../callers/owner-limits.ts'
import type { TokenIssuer } from '../callers/tokens/settings.ts'
import type { Retention } from '../data/retention.ts'
import type { HookSubject, Hooks } from '../engine/index.ts'
import type {
  AgentOption,
  AppContext,
  Budgets,
  Compaction,
  Limits,
  Model,
  Store,
  Tool,
} from '../engine/ports/index.ts'
import type { ClusterSettings } from '../engines/cluster/settings.ts'
import type { budgetToolName, readOutputName } from '../language/calls.ts'
import type { FlowMode, planActionsName } from '../language/flow.ts'
import type { ToolChoice } from '../language/tools.ts'
import type { EgressRules } from '../lib/net/egress.ts'
import type { AnySchema, InferOutput } from '../lib/schema/standard.ts'
import type { LogLevel } from '../log.ts'
import type { PaymentsConfig, PriceConfig } from '../payments/config.ts'
import type { FlowSettings, GateOptions, PolicyRule } from '../policy/index.ts'
import type { RelayConfig } from '../relay/config.ts'
import type { TelemetryConfig } from '../telemetry/index.ts'
import type { CodeOptions, defaultCodeName, OwnPrompt, OwnResource, ToolOutputOf } from '../tools/index.ts'
import type { EmbedderOptions, findToolsName, ToolLookup } from '../tools/search/index.ts'
import type { WebhooksConfig } from '../webhooks/index.ts'
import type { McpServing } from '../wires/mcp/index.ts'
import type { McpServerConfig } from './mcp-config.ts'

/** Without the patterns. */
type WholeName<Key extends string> = Exclude<Key, `${string}*${string}`>

export type AgentConfig<
  Name = string,
  ModelName extends string = string,
  Tools = readonly Tool[],
  Answer = AnySchema,
> = {
  name: Name
  title?: string
  version?: string
  description?: string
  /** The instructions that the model reads before anything else. */
  system?: string
  /** A model, or the name of one in `models`. */
  model: Model | WholeName<NoInfer<ModelName>>
  tools?: Tools
  /**
   * The model may write programs that call the tools. `only`: tools that programs alone may call, by name or all (`true`);
   * the model is not told of them, so that a large catalogue costs no context.
   */
  code?: boolean | (CodeOptions & { only?: true | readonly string[] })
  /**
   * For many tools: the model is declared a search and those in `always`, and each tool that the search found from then on.
   * Default: all tools are declared.
   */
  search?: boolean | SearchConfig
  /** With `search`: names of the tools that are declared from the start; `*` stands for any run of characters. */
  always?: readonly string[]
  options?: readonly AgentOption[]
  /** Rules for this agent; they come before those of `policy`. */
  rules?: readonly PolicyRule[]
  /** Follows where the arguments of its calls came from: `warrants`, `strict` or `off`. Default `off`. */
  flow?: FlowMode | FlowSettings
  limits?: Partial<Limits>
  /** What it may spend beyond one turn. Each replaces the one of the configuration with the same name. */
  budgets?: Budgets
  choice?: ToolChoice
  parallel?: boolean
  /** How many calls of one turn run here at the same time. The others wait, in order. Default 16. */
  callsAtOnce?: number
  maxTokens?: number
  /** The shape of its answers: a JSON Schema, a zod 4 schema or another Standard Schema. Answers are then JSON text. */
  answer?: Answer
  /** When the conversation has grown past so many tokens, its beginning is summarised by the model itself. */
  compaction?: Compaction
  /** Whether clients may bring tools of their own. Default true. */
  clientTools?: boolean
  /** Whether an owner may remember a permission for all of its sessions with this agent. Default false. */
  agentGrants?: boolean
  /** The servers of `mcp` whose tools it has, by name. Default: all. */
  mcpServers?: readonly string[]
  images?: { http?: boolean; data?: boolean }
  /** How long its sessions are kept, stored responses among them. Default: until someone deletes them. */
  retention?: Retention
  /** On the Responses wire. `serverTools`: its own tools run there too, for stored responses. Default false. */
  responses?: { serverTools?: boolean }
  /** The price of a turn for callers without a key. Needs `payments`. */
  price?: PriceConfig
  /** Texts and files that people attach to messages, and messages with names, beside those of its MCP servers. */
  resources?: readonly OwnResource[]
  prompts?: readonly OwnPrompt[]
  /** Served to MCP clients at /mcp/<name>. */
  serveMcp?: McpServing
}

export type SearchConfig = {
  /** How many tools one search finds, unless the model says how many. Default 5. */
  results?: number
  /** Ranks by meaning too. Asked within the egress rule. */
  embedder?: EmbedderOptions
  /** A search of the program's own, in place of ours. */
  lookup?: ToolLookup
  /** The model's vendor searches, where it can. All tools are then sent to it with each request. Default false. */
  byVendor?: boolean
}

/**
 * A caller that the application knows. Sessions belong to `owner`; the log names `name`. `operator`: sees every owner. `roles`:
 * which approvals the caller may decide, where policy names approvers.
 */
export type OwnCaller = { owner: string; name?: string; operator?: boolean; roles?: readonly string[] }

export const wireNames = [
  'aap',
  'gemini',
  'messages',
  'responses',
  'chat',
  'deltakit',
  'agui',
  'ui',
  'mcp',
  'acp',
  'callbacks',
  'approve',
  'connect',
  'operator',
] as const

export type WireName = (typeof wireNames)[number]

export type ServerConfig = {
  host?: string
  port?: number
  /** Further names under which this server is reached, with or without a port. */
  hosts?: readonly string[]
  /** The address under which others reach it, such as "https://agent.example", for callback addresses. Default: its own. */
  publicUrl?: string
  /** Web origins that may call it, such as "https://app.example". */
  origins?: readonly string[]
  /** Bearer keys by hash; `turnwire keys add <name>` keeps them in the data folder instead. */
  keys?: readonly KeyEntry[]
  /**
   * Who sends a request, by the application's own means: a session, a token. Undefined: nobody that it knows; a key still counts. The
   * request comes without its body; `incoming` is Node's. Streams that are open are not asked about again.
   */
  authenticate?: (
    request: Request,
    incoming: IncomingMessage,
  ) => OwnCaller | null | undefined | Promise<OwnCaller | null | undefined>
  /**
   * Bearer tokens (JWT) of these issuers count like keys: a claim is the owner, another lists the roles. Their keys are fetched
   * within the egress rule.
   */
  jwt?: TokenIssuer | readonly TokenIssuer[]
  /** People sign in to the console at this identity provider (OpenID Connect). Its addresses are fetched within the egress rule. */
  oidc?: OidcSettings
  /** The wires that are served, by name. Default: all. */
  wires?: readonly WireName[]
  /** Where `turnwire.fetch` and `turnwire.node` are mounted, such as "/agents". Default: at the root. */
  path?: string
  bodyBytes?: number
  /** A request that has not arrived whole after this long is answered with 408, and its connection is closed. Default 120,000. */
  requestMs?: number
  heartbeatMs?: number
  unsentBytes?: number
  /** A client that reads nothing of its stream for this long is dropped. Default 30,000. */
  stallMs?: number
  /** Limits for one owner (the name of a key), over all wires. A request beyond them is answered with 429. */
  perOwner?: Partial<OwnerLimits>
  /** Limits for all wallets that pay or sign in together: they have no account, and making one costs nothing. */
  allWallets?: Partial<WalletLimits>
  /** Also serves the Agent Client Protocol at /acp, over HTTP and WebSocket: experimental transports. Default false. */
  acp?: boolean
  /**
   * On wires whose requests name a model: with one agent, a name that is not known means that agent. Default: true with `relay`
   * (there also with one attached agent) and for the demonstration, else false.
   */
  anyModel?: boolean
  /** `store`: whether a response is stored whose request does not say so. Default true, as OpenAI's clients expect. */
  responses?: { store?: boolean }
  /** How long running tools may take to finish when the server stops. */
  graceMs?: number
  /** How this server works with others on the same PostgreSQL database. */
  cluster?: ClusterSettings
  log?: LogLevel
}

/** Sizes and times of the server that a configuration may change. */
export const serverDefaults = {
  bodyBytes: 20 * 1024 * 1024,
  requestMs: 120_000,
  heartbeatMs: 15_000,
  unsentBytes: 4 * 1024 * 1024,
  stallMs: 30_000,
  graceMs: 10_000,
} satisfies ServerConfig

export type PolicyConfig = GateOptions & {
  /**
   * A file with rules, in YAML or JSON, relative to the working directory. They come after those of agents and before `rules`. It is
   * read again when it changes.
   */
  file?: string
}

export type TurnwireConfig<
  Name extends string = string,
  ModelName extends string = string,
  Server extends string = string,
> = {
  agents: readonly AgentConfig<Name, ModelName>[]
  /**
   * Models by the names that agents and requests give. A name with `*` is a pattern, for names that clients choose
   * themselves. An entry may be the name of another one: `'claude-*': 'main'`.
   */
  models?: Readonly<Record<ModelName, Model | WholeName<NoInfer<ModelName>>>>
  /** MCP servers by name: `{ command, args }` or `{ url }`. They are started and stopped with the process. */
  mcp?: Readonly<Record<Server, McpServerConfig>>
  policy?: PolicyConfig
  limits?: Partial<Limits>
  /** What sessions, agents and owners may spend beyond one turn, and whether a person is asked then. Default: none. */
  budgets?: Budgets
  /** How many calls of all sessions run in this process at the same time. The others wait, in order. Default 256. */
  callsAtOnce?: number
  /** Hosts and limits for requests on behalf of a model. Default: every public host. */
  egress?: EgressRules
  /** Functions around model steps and calls: they see, refuse or replace. */
  hooks?: Hooks
  /** The value that tools get as `context.app`, or a function that gives it for a call. Never logged. */
  context?: AppContext | ((subject: HookSubject) => AppContext)
  server?: ServerConfig
  /** Agents that their owners attach from their own machines. Absent: there are none. */
  relay?: RelayConfig
  /** Takes payments for turns of agents that have a `price`. Absent: nothing of it is loaded. */
  payments?: PaymentsConfig
  telemetry?: TelemetryConfig
  /** Signs the logs of sessions, so that changes are found and calls can be proved. Default false. */
  receipts?: boolean
  /** Programs that are told, by a signed message, that something waits, is over, or may have happened. By name. */
  webhooks?: WebhooksConfig
  /** Where sessions live: a folder (SQLite), "postgres://…", "memory", or a store. Default ".turnwire". */
  data?: string | Store
}

/**
 * A configuration that is written out: the compiler knows the tools and the form of the answers of each agent too. `Names`,
 * `Tools` and `Answers` have an element for each agent. Each is inferred apart, so that an unknown setting stays an error.
 */
export type WrittenConfig<
  Name extends string,
  ModelName extends string,
  Server extends string,
  Names extends readonly string[],
  Tools extends readonly unknown[],
  Answers extends readonly unknown[],
> = TurnwireConfig<Name, ModelName, Server> & {
  // An empty list among the types makes the compiler infer a tuple.
  agents: (readonly [] | readonly AgentConfig<Name, ModelName, readonly [] | readonly Tool[]>[]) &
    OfKnownLength<Names, { [At in keyof Names]: AgentConfig<Names[At], ModelName> }> &
    OfKnownLength<Tools, { [At in keyof Tools]: AgentConfig<string, ModelName, Tools[At]> }> &
    OfKnownLength<
      Answers,
      { [At in keyof Answers]: AgentConfig<string, ModelName, readonly Tool[], Answers[At]> }
    >
}

type OfKnownLength<List extends readonly unknown[], Agents> = number extends List['length'] ? unknown : Agents

/** What `defineConfig` gives, with everything that the compiler knows of each agent in one place. */
export type DefinedConfig<
  Name extends string,
  ModelName extends string,
  Server extends string,
  Names extends readonly string[],
  Tools extends readonly unknown[],
  Answers extends readonly unknown[],
> = Omit<TurnwireConfig<Name, ModelName, Server>, 'agents'> & {
  agents: number extends Names['length']
    ? readonly AgentConfig<Name, ModelName>[]
    : {
        [At in keyof Names]: AgentConfig<
          Names[At],
          ModelName,
          At extends keyof Tools ? (unknown extends Tools[At] ? readonly [] : Tools[At]) : readonly Tool[],
          At extends keyof Answers ? (unknown extends Answers[At] ? never : Answers[At]) : AnySchema
        >
      }
}

/** What the compiler knows of an agent. `answer`: what its answers are as data; never: they are text. */
export type AgentTypes = { name: string; tool: ToolTypes; answer: unknown }

export type ToolTypes = { name: string; output: unknown }

/** Tools that an agent has without naming them. */
export type ImpliedTool =
  | typeof readOutputName
  | typeof budgetToolName
  | typeof planActionsName
  | typeof defaultCodeName
  | typeof findToolsName

/** The agents of a written configuration: a union of `AgentTypes`. */
export type WrittenAgents<
  Names extends readonly string[],
  Tools extends readonly unknown[],
  Answers extends readonly unknown[],
> = {
  [At in keyof Names]: {
    name: Names[At]
    tool: At extends keyof Tools ? ListedTools<Tools[At]> : ToolTypes
    answer: At extends keyof Answers ? AnswerOf<Answers[At]> : unknown
  }
}[number]

type ListedTools<List> = List extends readonly (infer Each extends Tool)[]
  ? Each extends Tool
    ? { name: Each['name']; output: ToolOutputOf<Each> }
    : never
  : never

/** Unknown: the agent has no `answer`. */
type AnswerOf<Schema> = unknown extends Schema ? never : Schema extends object ? InferOutput<Schema> : never

/** Gives its argument back, with the names of its agents and models, their tools and their answers as types. */
export function defineConfig<
  Name extends string,
  const Names extends readonly string[],
  const Tools extends readonly unknown[],
  const Answers extends readonly unknown[],
  ModelName extends string = never,
  Server extends string = never,
>(
  config: WrittenConfig<Name, ModelName, Server, Names, Tools, Answers>,
): DefinedConfig<Name, ModelName, Server, Names, Tools, Answers> {
  // The same value: each agent has one type here, where the parameter has three.
  return config as unknown as DefinedConfig<Name, ModelName, Server, Names, Tools, Answers>
}
