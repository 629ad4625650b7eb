// Joins the Agent Client Protocol to a runtime: which agent is served, who the client is, and how MCP servers that it
// names are connected. A client on a pipe is the user's own editor; one on a network may not name servers.
import type { Readable, Writable } from 'node:stream'
import type { AgentInfo, EngineDescription } from '../engine/index.ts'
import { publicError, TurnwireError } from '../language/errors.ts'
import { isModelPattern } from '../language/model-names.ts'
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

/** The engine may be the runtime's own, or one that limits its callers. */
type Served = Pick<Runtime, 'engine' | 'log'>

export type AcpHostOptions = {
  /** Default: the first of the configuration. */
  agent?: string
  principal?: Principal
  /** The client is on a network. */
  remote?: boolean
}

export async function acpHost(runtime: Served, options: AcpHostOptions = {}): Promise<AcpHost> {
  return hostFrom(runtime, await runtime.engine.describe(), options)
}

function hostFrom(runtime: Served, about: EngineDescription, options: AcpHostOptions): AcpHost {
  const { engine, log } = runtime
  const { agents, models } = about
  const { principal = { owner: localOwner, name: localOwner }, remote = false } = options
  const info = options.agent === undefined ? agents[0] : agents.find(({ name }) => name === options.agent)
  if (!info)
    throw new TurnwireError(
      'unknown_agent',
      `There is no agent named "${options.agent}". There are: ${agents.map(each => each.name).join(', ')}.`,
    )
  const own = info.model.name
  return {
    engine,
    info,
    modelInfos: models,
    models:
      own === undefined
        ? undefined
        : { own, names: Object.keys(models).filter(name => !isModelPattern(name)) },
    principal,
    version: ownVersion(),
    // The environment of this process belongs to its operator, not to a remote client.
    secrets: remote ? {} : secretsOf(info.options),
    mcp: { stdio: !remote, http: !remote },
    connectMcp: (server, link) => mcpServer(server, link),
    log,
  }
}

function secretsOf(options: AgentInfo['options']): Record<string, string> {
  return Object.fromEntries(
    options.flatMap(({ name, type }) => {
      const value = type === 'secret' ? process.env[secretVariable(name)] : undefined
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
}

/** Serves one client on a pipe until the client closes it. */
export async function serveAcpOverPipe(
  host: AcpHost,
  pipe: { input: Readable; output: Writable },
  options: AcpOptions = {},
): Promise<void> {
  const link = await serveAcp(host, stdioStream(pipe.input, pipe.output), options)
  await link.closed
}

export type AcpOverHttp = Pick<AcpHttp, 'routes' | 'close'> & { sockets: UpgradeRoute[] }

/** Serves clients on a network, each with its own key. */
export async function serveAcpOverHttp(runtime: Served, limits: WireHost['limits']): Promise<AcpOverHttp> {
  const about = await runtime.engine.describe()
  const { routes, open, close } = await acpOverHttp(
    (principal, agent) =>
      hostFrom(runtime, about, { principal, remote: true, ...(agent !== undefined && { agent }) }),
    limits,
    runtime.log,
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
