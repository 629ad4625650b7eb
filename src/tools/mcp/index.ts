// Connects to MCP servers that an operator configured or that a client named, and offers their tools. The MCP SDK is
// loaded with the first connection.
import type { ElicitRequestParams, ElicitResult, LoggingLevel } from '@modelcontextprotocol/client'
import type { Tool, ToolContext } from '../../engine/ports/index.ts'
import type { InputPart } from '../../language/content.ts'
import type { FlowLabels } from '../../language/flow.ts'
import type { PromptMessage, ServerPrompt, ServerResource, ToolServerInfo } from '../../language/servers.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { AuthPerson, AuthStore } from './auth.ts'
import type { OtherFetch } from './other-hosts.ts'
import type { SamplingSettings } from './sampling.ts'
import { checkOptions, checkSpec, type McpServerSpec } from './spec.ts'

export type { AuthStore, KeptAuth } from './auth.ts'
export { type KeptServer, KeptServers } from './kept-servers.ts'
export { OwnerAccounts } from './owner-accounts.ts'
export type { OwnerConnections } from './owner-connections.ts'
export type { SamplingSettings } from './sampling.ts'
export type { McpAuth, McpHttpServer, McpServerSpec, McpStdioServer } from './spec.ts'
export { checkSpec, specIdentity } from './spec.ts'

/**
 * Answers a question that a server asks the person during a call. A question without a `mode` is a form. `callId` is
 * known if only one call is running.
 */
type Elicit = (
  question: ElicitRequestParams,
  about: { callId?: string; signal: AbortSignal },
) => Promise<ElicitResult>

/** Contract: `load` gives what was given to `save` last. */
export type AcceptedDefinitions = {
  load(): readonly ToolDeclaration[]
  save(accepted: readonly ToolDeclaration[]): void
}

export type McpOptions = {
  log?: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>) => void
  /** Default `ask`. */
  trust?: Tool['trust']
  /** Believes the server's hints on read-only, idempotent and destructive, and its flow labels. Default false. */
  trustAnnotations?: boolean
  /** What its tools are for flow control, by their names on the server; before anything that the server says itself. */
  flow?: Readonly<Record<string, FlowLabels>>
  /** Default true. */
  exposed?: boolean
  /** For one call. Default 60,000. */
  timeoutMs?: number
  /** For connecting, including the list of tools. Default 30,000. */
  connectTimeoutMs?: number
  /** Bytes of a result that the model is shown. Default 64 KiB. */
  outputLimit?: number
  /** The longest message that a server may send. Default 8 MiB. */
  maxMessageBytes?: number
  /** How many tools a server may have. Default 500. */
  maxTools?: number
  /** Variables that may be set although they can make a program load foreign code. */
  allowEnv?: readonly string[]
  /** Names of other tools. A tool of the server with such a name is left out. */
  taken?: Iterable<string>
  /** An older list of tools is read again before a call. A server's own `ttlMs` takes precedence. Default 60,000. */
  refreshMs?: number
  /** Answers a server's questions to a person. Default: the call itself asks, durably, on every wire. */
  elicit?: Elicit
  /** The kinds of questions that can be put. Default: forms, and addresses if there is no `elicit`. */
  elicitModes?: readonly ('form' | 'url')[]
  /** Folders (file: addresses) that the server is told it may work in. Default: it is told of none. */
  roots?: readonly { uri: string; name?: string }[]
  /** Lets the server ask the session's model. Default: it may not. */
  sampling?: SamplingSettings
  /** Asks the server for its log from this level on. Default: what it sends of itself. */
  logLevel?: LoggingLevel
  /**
   * Where tokens are kept, and who logs in. Default: they are kept in memory, and nobody logs in. `login`: a call that needs a login
   * asks for it and waits; it resolves when there are new tokens.
   */
  auth?: {
    store: AuthStore
    person?: AuthPerson
    login?: (context: ToolContext, scope: string | undefined) => Promise<void>
  }
  /** Which definitions someone has allowed, from one process to the next. Default: what the first list has. */
  definitions?: AcceptedDefinitions
  /** Fetches what the server names at other addresses than its own. Default: nothing is fetched there. */
  fetchOther?: OtherFetch
  /** Pays for calls that have a price, such as `payingFetch` of turnwire/payments. Default: nothing is paid. */
  pay?: ToolPayer
  /** Called when the tools have changed. */
  onTools?: (tools: readonly Tool[]) => void
}

/** Contract: rejects, and signs nothing, if the terms are beyond its owner's limits. */
export type ToolPayer = {
  /** `required`: the server's payment terms, by x402. `url`: of the server. */
  pay(
    required: Record<string, unknown>,
    url: string,
  ): Promise<{ payment: Record<string, unknown>; settled: (receipt: unknown) => void }>
}

export type McpConnection = {
  /** From the last list. */
  readonly tools: Tool[]
  readonly warnings: readonly string[]
  /** How it is now: connected or not, the revision of the protocol, what it offers. */
  readonly info: Omit<ToolServerInfo, 'agents'>
  resources(): Promise<ServerResource[]>
  read(uri: string): Promise<InputPart[]>
  prompts(): Promise<ServerPrompt[]>
  prompt(name: string, values: Readonly<Record<string, string>>): Promise<PromptMessage[]>
  close(): Promise<void>
}

/** Connects and lists the tools. A program that is started keeps running until `close`. */
export async function mcpServer(spec: McpServerSpec, options: McpOptions = {}): Promise<McpConnection> {
  checkOptions(options)
  checkSpec(spec, options.allowEnv ?? [])
  const { McpServer } = await import('./server.ts')
  const server = new McpServer(spec, options)
  try {
    await server.open()
  } catch (error) {
    await server.close()
    throw error
  }
  return server
}
