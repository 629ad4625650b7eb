// Opens one connection to a server, in the revision of the protocol that the server speaks. Over stdio the older revision is
// tried first: asking beforehand which one it speaks would start the program twice. A server that refuses the older one
// is started again with the newer one, and is known from then on.
import { Client, type ClientOptions, ProtocolError } from '@modelcontextprotocol/client'
import { printable } from '../../lib/text.ts'
import type { McpOptions } from './index.ts'
import type { McpServerSpec } from './spec.ts'
import { openTransport } from './transport.ts'

type Negotiation = NonNullable<ClientOptions['versionNegotiation']>

const legacy: Negotiation = { mode: 'legacy' }
const modern: Negotiation = { mode: { pin: '2026-07-28' } }
const either: Negotiation = { mode: 'auto' }

export type ConnectionEvents = {
  warn(words: string): void
  /** The server says that its tools are others now. */
  changed(client: Client): void
  closed(client: Client): void
  /** The call that a question of the server belongs to, if it is known. */
  onlyCall(): { callId?: string }
}

export class McpConnector {
  readonly #spec: McpServerSpec
  readonly #options: McpOptions
  readonly #events: ConnectionEvents
  #isModern = false

  constructor(spec: McpServerSpec, options: McpOptions, events: ConnectionEvents) {
    this.#spec = spec
    this.#options = options
    this.#events = events
  }

  async connect(): Promise<Client> {
    if ('url' in this.#spec) return this.#open(either)
    if (this.#isModern) return this.#open(modern)
    try {
      return await this.#open(legacy)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const client = await this.#open(modern)
      this.#isModern = true
      return client
    }
  }

  async #open(versionNegotiation: Negotiation): Promise<Client> {
    const { connectTimeoutMs = 30_000, maxMessageBytes = 8 * 1024 * 1024, log } = this.#options
    const client = this.#client(versionNegotiation)
    const transport = openTransport(this.#spec, {
      maxMessageBytes,
      log: (level, message, fields) => log?.(level, message, fields),
    })
    try {
      await client.connect(transport, {
        timeout: connectTimeoutMs,
        signal: AbortSignal.timeout(connectTimeoutMs),
      })
      return client
    } catch (error) {
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
      throw error
    }
  }

  #client(versionNegotiation: Negotiation): Client {
    const { elicit, elicitModes = ['form'] } = this.#options
    const events = this.#events
    const client = new Client(
      { name: 'turnwire', version: '0.1.0' },
      {
        versionNegotiation,
        capabilities: elicit ? { elicitation: Object.fromEntries(elicitModes.map(mode => [mode, {}])) } : {},
        listChanged: { tools: { autoRefresh: false, onChanged: () => events.changed(client) } },
      },
    )
    client.onerror = error =>
      events.warn(`The MCP server "${this.#spec.name}" broke the protocol: ${printable(error.message, 300)}`)
    client.onclose = () => events.closed(client)
    if (elicit)
      client.setRequestHandler('elicitation/create', (request, { mcpReq }) =>
        elicit(request.params, { ...events.onlyCall(), signal: mcpReq.signal }),
      )
    return client
  }
}
