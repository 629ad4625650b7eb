// Connects to MCP servers that an operator configured or that a client named, and offers their tools. The MCP SDK is
// loaded with the first connection.
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import type { Tool } from '../../engine/ports.ts'
import { checkOptions, checkSpec, type McpServerSpec } from './spec.ts'

export { type KeptServer, KeptServers } from './kept-servers.ts'
export type { McpHttpServer, McpServerSpec, McpStdioServer } from './spec.ts'
export { checkSpec } from './spec.ts'

/**
 * Answers a question that a server asks the person during a call. A question without a `mode` is a form. `callId` is
 * known if only one call is running.
 */
type Elicit = (
  question: ElicitRequestParams,
  about: { callId?: string; signal: AbortSignal },
) => Promise<ElicitResult>

export type McpOptions = {
  log?: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>) => void
  /** Default `ask`. */
  trust?: Tool['trust']
  /** Believes the server's hints on read-only, idempotent and destructive. Default false. */
  trustAnnotations?: boolean
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
  /** If the list of tools is older than this, it is read again before a call. Default 60,000. */
  refreshMs?: number
  /** Without it, servers are told that they cannot ask. */
  elicit?: Elicit
  elicitModes?: readonly ('form' | 'url')[]
  /** Called when the tools have changed. */
  onTools?: (tools: readonly Tool[]) => void
}

export type McpConnection = {
  /** From the last list. */
  readonly tools: Tool[]
  readonly warnings: readonly string[]
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
