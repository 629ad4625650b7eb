// Joins the Agent Client Protocol to a runtime: which agent is served, who the client is, and how MCP servers that it
// names are reached. A client on a pipe is the user's own editor; one that comes over a network may name no servers.
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { TurnwireError } from '../language/errors.ts'
import { mcpServer } from '../tools/mcp/index.ts'
import { type AcpHost, type AcpOptions, secretVariable, serveAcp, stdioStream } from '../wires/acp/index.ts'
import type { Principal } from '../wires/host.ts'
import { localOwner, type Turnwire } from './turnwire.ts'

export type AcpHostOptions = {
  /** Default: the first of the configuration. */
  agent?: string
  principal?: Principal
  /** It comes over a network. */
  remote?: boolean
}

export function acpHost(turnwire: Turnwire, options: AcpHostOptions = {}): AcpHost {
  const { agents, config, engine, vault, log } = turnwire
  const { principal = { owner: localOwner, name: localOwner }, remote = false } = options
  const agent = options.agent === undefined ? agents[0] : agents.find(each => each.name === options.agent)
  if (!agent)
    throw new TurnwireError(
      'unknown_agent',
      `There is no agent named "${options.agent}". There are: ${agents.map(each => each.name).join(', ')}.`,
    )
  const own = config.agents.find(each => each.name === agent.name)?.model
  const names = Object.keys(config.models ?? {})
  return {
    engine,
    agent,
    principal,
    version: ownVersion(),
    seal: text => vault.seal(text),
    models: typeof own === 'string' ? { own, names } : undefined,
    secrets: secretsOf(agent.options.filter(option => option.type === 'secret').map(option => option.name)),
    mcp: { stdio: !remote, http: !remote },
    connectMcp: (server, link) => mcpServer(server, link),
    log,
  }
}

function secretsOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = process.env[secretVariable(name)]
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
}

/** Serves one client on a pipe until it closes its end. */
export async function serveAcpOverPipe(
  host: AcpHost,
  pipe: { input: Readable; output: Writable },
  options: AcpOptions = {},
): Promise<void> {
  const link = await serveAcp(host, stdioStream(pipe.input, pipe.output), options)
  await link.closed
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  } // Our own file.
  return version
}
