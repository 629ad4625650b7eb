// The host of this wire: the engine, the agent that it serves, and a function that connects MCP servers. A wire may not
// import tools, so the connection comes in as a function.
import type {
  AgentInfo,
  Engine,
  EngineDescription,
  EnginePorts,
  SessionRef,
  Tool,
} from '../../engine/index.ts'
import type { Principal } from '../host.ts'
import type { Workspace } from './decode.ts'
import type { Peer } from './peer.ts'

/** An MCP server that a client named. Tool names are built from `name`. */
export type NamedServer =
  | { name: string; command: string; args: string[]; env: Record<string, string>; cwd: string }
  | { name: string; url: string; headers: Record<string, string> }

/** A question of an MCP server to the user. */
export type Elicitation = {
  mode?: string | undefined
  message: string
  requestedSchema?: unknown
  url?: string | undefined
  elicitationId?: string | undefined
}
export type ElicitationAnswer = {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

export type McpLinkOptions = {
  log: EnginePorts['log']
  taken: Iterable<string>
  elicit?: (
    question: Elicitation,
    about: { callId?: string; signal: AbortSignal },
  ) => Promise<ElicitationAnswer>
  elicitModes: readonly ('form' | 'url')[]
  onTools: (tools: readonly Tool[]) => void
}
export type McpLink = { readonly tools: Tool[]; readonly warnings: readonly string[]; close(): Promise<void> }

/** The named models that a session may choose. `own`: the agent's. Undefined: there is no choice. */
export type ModelChoice = { own: string; names: readonly string[] } | undefined

export type AcpHost = {
  engine: Engine
  /** The agent that is served. */
  info: AgentInfo
  modelInfos: EngineDescription['models']
  models: ModelChoice
  principal: Principal
  /** Where relative paths lead for the agent's own tools that do not say it. Absent: that is not known. */
  folder?: string
  version: string
  /** Values of the agent's secret options, given to every session that is made here. */
  secrets: Readonly<Record<string, string>>
  /** Which servers a client may name. Over a network none: a command would run on this machine. */
  mcp: { stdio: boolean; http: boolean }
  connectMcp(server: NamedServer, options: McpLinkOptions): Promise<McpLink>
  log: EnginePorts['log']
}

/** One session on one connection. */
export type SessionContext = { host: AcpHost; peer: Peer; ref: SessionRef; workspace: Workspace }
