// Tools of MCP servers: what an operator, or a wire that was given a server by its client, calls. The SDK is loaded
// only when there is a server to speak to.
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import type { Tool } from '../../engine/ports.ts'
import { checkSpec, type McpServerSpec } from './spec.ts'

export type { McpHttpServer, McpServerSpec, McpStdioServer } from './spec.ts'

/**
 * A server asks the person something in the midst of a call. A question without a `mode` is a form. `callId`: whose
 * call, where only one is running.
 */
export type Elicit = (
  question: ElicitRequestParams,
  about: { callId?: string; signal: AbortSignal },
) => Promise<ElicitResult>

export type McpOptions = {
  log?: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>) => void
  /** Default `ask`. */
  trust?: Tool['trust']
  /** Takes the server's word on read-only, idempotent and destructive. Default false. */
  trustAnnotations?: boolean
  /** Default true. */
  exposed?: boolean
  /** Of one call. Default 60,000. */
  timeoutMs?: number
  /** Of the connection, list of tools included. Default 30,000. */
  connectTimeoutMs?: number
  /** Bytes of a result that the model is shown. Default 64 KiB. */
  outputLimit?: number
  /** The longest message that is taken from a server. Default 8 MiB. */
  maxMessageBytes?: number
  /** How many tools a server may have. Default 500. */
  maxTools?: number
  /** Variables that may be passed on although they can make a program run foreign code. */
  allowEnv?: readonly string[]
  /** Names that other tools have. */
  taken?: Iterable<string>
  /** A list older than this is read again before a call. Default 60,000. */
  refreshMs?: number
  /** Answers what a server asks of the person. Absent: servers are told that no one can be asked. */
  elicit?: Elicit
  elicitModes?: readonly ('form' | 'url')[]
  /** Told when the tools have changed. */
  onTools?: (tools: readonly Tool[]) => void
}

export type McpConnection = {
  /** As last listed. */
  readonly tools: Tool[]
  readonly warnings: readonly string[]
  close(): Promise<void>
}

/** Starts or reaches the server. On stdio its command is started twice: once to find out which revision it speaks. */
export async function mcpServer(spec: McpServerSpec, options: McpOptions = {}): Promise<McpConnection> {
  checkSpec(spec, options.allowEnv ?? [])
  const { McpServer } = await import('./server.ts')
  const server = new McpServer(spec, options)
  await server.open()
  return server
}
