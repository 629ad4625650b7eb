// Joins the Agent Client Protocol to a runtime: which agent is served, who the client is, and how MCP servers that it
// names are reached. A client on a pipe is the user's own editor; one that comes over a network may name no servers.
import type { Readable, Writable } from 'node:stream'
import type { Agent, EngineDescription } from '../engine/index.ts'
import { publicError, TurnwireError } from '../language/errors.ts'
import { mcpServer } from '../tools/mcp/index.ts'
import {
  type AcpHost,
  type AcpHttp,
  type AcpOptions,
  acpOverHttp,
  secretVariable,
  serveAcp,
  stdioStream,
} from '../wires/acp/index.ts'
import type { Principal, WireHost } from '../wires/host.ts'
import { localOwner } from './keys.ts'
import type { Runtime } from './runtime.ts'
import type { Upgrade, UpgradeRoute } from './upgrades.ts'
import { ownVersion } from './version.ts'

export type AcpHostOptions = {
  /** Default: the first of the configuration. */
  agent?: string
  principal?: Principal
  /** It comes over a network. */
  remote?: boolean
}

export async function acpHost(runtime: Runtime, options: AcpHostOptions = {}): Promise<AcpHost> {
  return hostFrom(runtime, await runtime.engine.describe(), options)
}

function hostFrom(runtime: Runtime, about: EngineDescription, options: AcpHostOptions): AcpHost {
  const { agents, config, engine, log } = runtime
  const { principal = { owner: localOwner, name: localOwner }, remote = false } = options
  const agent = options.agent === undefined ? agents[0] : agents.find(each => each.name === options.agent)
  if (!agent)
    throw new TurnwireError(
      'unknown_agent',
      `There is no agent named "${options.agent}". There are: ${agents.map(each => each.name).join(', ')}.`,
    )
  const own = config.agents.find(each => each.name === agent.name)?.model
  const names = Object.keys(config.models ?? {})
  const info = about.agents.find(each => each.name === agent.name)
  if (!info) throw new TurnwireError('internal', `The agent "${agent.name}" is not described.`)
  return {
    engine,
    get old() {
      return runtime.sessions
    },
    info,
    modelInfos: about.models,
    agent,
    principal,
    version: ownVersion(),
    seal: text => runtime.vault.seal(text),
    models: typeof own === 'string' ? { own, names } : undefined,
    // What stands in this process's environment is its operator's, not a stranger's.
    secrets: remote ? {} : secretsOf(agent.options),
    mcp: { stdio: !remote, http: !remote },
    connectMcp: (server, link) => mcpServer(server, link),
    log,
  }
}

function secretsOf(options: Agent['options']): Record<string, string> {
  return Object.fromEntries(
    options.flatMap(({ name, type }) => {
      const value = type === 'secret' ? process.env[secretVariable(name)] : undefined
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

export type AcpOverHttp = Pick<AcpHttp, 'routes' | 'close'> & { sockets: UpgradeRoute[] }

/** For clients that come over a network, each with a key of its own. */
export async function serveAcpOverHttp(runtime: Runtime, limits: WireHost['limits']): Promise<AcpOverHttp> {
  const about = await runtime.engine.describe()
  const { routes, open, close } = await acpOverHttp(
    (principal, agent) =>
      hostFrom(runtime, about, { principal, remote: true, ...(agent !== undefined && { agent }) }),
    limits,
  )
  const enter = ({ socket, principal, params }: Upgrade): void => {
    try {
      open(socket, principal, params['agent'])
    } catch (error) {
      socket.close(1008, publicError(error).message.slice(0, 100))
    }
  }
  return { routes, close, sockets: ['/acp', '/acp/:agent'].map(path => ({ path, open: enter })) }
}
