// The transports to a server: a child process without a shell, or HTTP with a limit on every message. Nothing here knows
// tools.
import {
  type AuthProvider,
  type FetchLike,
  type OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { printable } from '../../lib/text/index.ts'
import { guardedFetch, type OtherFetch } from './other-hosts.ts'
import type { McpHttpServer, McpServerSpec } from './spec.ts'

/** `http`: Streamable HTTP. `sse`: the transport of 2024-11-05, which some servers still speak. */
export type TransportKind = 'stdio' | 'http' | 'sse'

/** What servers are told of this client. */
export const clientInfo = { name: 'turnwire', version: '0.1.0' }

export type HttpTransport = StreamableHTTPClientTransport | SSEClientTransport

type TransportOptions = {
  maxMessageBytes: number
  authProvider?: AuthProvider | OAuthClientProvider
  /** Fetches what stands at other addresses than the server's own: metadata and tokens. */
  fetchOther?: OtherFetch
  log(level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, string>): void
}

export function openTransport(
  spec: McpServerSpec,
  kind: TransportKind,
  options: TransportOptions,
): Transport | HttpTransport {
  if (!('url' in spec)) return openStdio(spec, options)
  const { authProvider } = options
  const settings = {
    fetch: serverFetch(spec, options.maxMessageBytes, options.fetchOther),
    ...(authProvider && { authProvider }),
  }
  const url = new URL(spec.url)
  return kind === 'sse'
    ? new SSEClientTransport(url, settings)
    : new StreamableHTTPClientTransport(url, settings)
}

/** It adds the server's headers: those of the transport would be sent to the authorization server, too. */
export function serverFetch(
  spec: McpHttpServer,
  maxMessageBytes: number,
  fetchOther: OtherFetch | undefined,
): FetchLike {
  return guardedFetch(spec, boundedFetch(maxMessageBytes), fetchOther)
}

function openStdio(
  { name, command, args = [], env = {}, cwd }: Extract<McpServerSpec, { command: string }>,
  options: TransportOptions,
): Transport {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: 'pipe',
    maxBufferSize: options.maxMessageBytes,
    ...(cwd !== undefined && { cwd }),
  })
  transport.stderr?.on('data', (chunk: Buffer) =>
    options.log('info', 'An MCP server wrote to its log.', {
      server: name,
      text: printable(chunk.toString('utf8').trimEnd(), 500),
    }),
  )
  return transport
}

/** A response may be an endless stream, so the limit is per message: the bytes between two blank lines. */
function boundedFetch(maxBytes: number): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetchSameOrigin(url, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    return new Response(response.body.pipeThrough(limitMessages(maxBytes, isStream)), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
}

const maxRedirects = 3

/**
 * Follows a redirect only within the same origin and with the same method. The headers hold the server's credentials,
 * and on a redirect to another origin fetch removes only some of them.
 */
async function fetchSameOrigin(url: string | URL, init?: RequestInit): Promise<Response> {
  let at = new URL(url)
  for (let count = 0; ; count += 1) {
    const response = await fetch(at, { ...init, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    const next = URL.parse(location, at)
    const keeps = response.status === 307 || response.status === 308 || (init?.method ?? 'GET') === 'GET'
    if (next?.origin !== at.origin || !keeps || count >= maxRedirects)
      throw new Error(
        `The server answered with a redirect (${response.status}) that is not followed. Name the address that it stands at.`,
      )
    at = next
  }
}

function limitMessages(
  maxBytes: number,
  isStream: boolean,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let since = 0
  let previous = 0
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? lastBlankLine(chunk, previous) : -1
      since = end < 0 ? since + chunk.length : chunk.length - end
      previous = chunk.at(-1) ?? previous
      if (since > maxBytes)
        controller.error(new Unanswered(`The server sent a message of more than ${maxBytes} bytes.`))
      else controller.enqueue(chunk)
    },
  })
}

const LF = 0x0a

/** The index after the last blank line of a chunk, or -1. A blank line is LF LF or CR LF CR LF. */
function lastBlankLine(chunk: Uint8Array, previous: number): number {
  for (let at = chunk.lastIndexOf(LF); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(LF, at - 1)) {
    const before = at === 0 ? previous : chunk[at - 1]
    const farther = at <= 1 ? previous : chunk[at - 2]
    if (before === LF || (before === 0x0d && farther === LF)) return at + 1
  }
  return -1
}
