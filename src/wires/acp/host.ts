// What the runtime gives this wire: the engine, the one agent that it serves, and a way to reach MCP servers that a
// client names. A wire may not know tools itself, so that way comes in as a function.
import type {
  Agent,
  AgentInfo,
  Engine,
  EngineDescription,
  EnginePorts,
  OpenSessions,
  Tool,
} from '../../engine/index.ts'
import type { Principal } from '../host.ts'
import type { Models } from './config.ts'

/** A server that a client named, with a name that tools can carry. */
export type NamedServer =
  | { name: string; command: string; args: string[]; env: Record<string, string>; cwd: string }
  | { name: string; url: string; headers: Record<string, string> }

export type Question = {
  mode?: string | undefined
  message: string
  requestedSchema?: unknown
  url?: string | undefined
  elicitationId?: string | undefined
}
export type Answer = {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

export type McpLinkOptions = {
  log: EnginePorts['log']
  taken: Iterable<string>
  elicit?: (question: Question, about: { callId?: string; signal: AbortSignal }) => Promise<Answer>
  elicitModes: readonly ('form' | 'url')[]
  onTools: (tools: readonly Tool[]) => void
}
export type McpLink = { readonly tools: Tool[]; readonly warnings: readonly string[]; close(): Promise<void> }

export type AcpHost = {
  engine: Engine
  /** The agent that is served, and the models that a session may choose. */
  info: AgentInfo
  modelInfos: EngineDescription['models']
  /** Until every wire uses `engine`. */
  old: OpenSessions
  agent: Agent
  principal: Principal
  version: string
  seal(text: string): string
  models: Models
  /** Values of the agent's secret options, from outside of any session. */
  secrets: Readonly<Record<string, string>>
  /** Which servers a client may name. Over a network none: a command would run on this machine. */
  mcp: { stdio: boolean; http: boolean }
  connectMcp(server: NamedServer, options: McpLinkOptions): Promise<McpLink>
  log: EnginePorts['log']
}
