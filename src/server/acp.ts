// Joins the Agent Client Protocol to a runtime: which agent is served, who the client is, and how MCP servers that it
// names are connected. A client on a pipe is the user's own editor; one on a network may not name servers.
import type { Readable, Writable } from 'node:stream'
import { localOwner } from '../callers/keys.ts'
import { ownVersion } from '../data/version.ts'
import type { AgentInfo, EngineDescription } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { isModelPattern } from '../language/model-names.ts'
import type { Runtime } from '../runtime.ts'
import { mcpServer } from '../tools/mcp/index.ts'
import { type AcpOptions, serveAcp } from '../wires/acp/connect.ts'
import { secretVariable } from '../wires/acp/connection.ts'
import type { AcpHost } from '../wires/acp/host.ts'
import type { HostFor } from '../wires/acp/http.ts'
import { stdioStream } from '../wires/acp/stdio.ts'
import type { Principal, WireHost } from '../wires/host.ts'

/** The engine may be the runtime's own, or one that is bound to a caller. */
type AcpRuntime = Pick<Runtime, 'engine' | 'log'>

export type AcpHostOptions = {
  /** Default: the first of the configuration. */
  agent?: string
  principal?: Principal
  /** The client is on a network. */
  remote?: boolean
}

export async function acpHost(runtime: AcpRuntime, options: AcpHostOptions = {}): Promise<AcpHost> {
  return hostFrom(runtime, await runtime.engine.describe(), options)
}

function hostFrom(runtime: AcpRuntime, about: EngineDescription, options: AcpHostOptions): AcpHost {
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
    // A tool that takes a relative path mostly gives it to the file system. The paths of a remote client are others.
    ...(!remote && { folder: process.cwd() }),
    version: ownVersion(),
    // The environment of this process belongs to its operator, not to a remote client.
    secrets: remote ? {} : readSecrets(info.options),
    mcp: { stdio: !remote, http: !remote },
    connectMcp: (server, link) => mcpServer(server, link),
    log,
  }
}

function readSecrets(options: AgentInfo['options']): Record<string, string> {
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

/** For clients on a network, each with its own key. */
export async function acpHostFor({ engine, log }: AcpRuntime, host: WireHost): Promise<HostFor> {
  const about = await engine.describe()
  return (principal, agent) => {
    const bound = { engine: host.engineFor(principal), log }
    return hostFrom(bound, about, { principal, remote: true, ...(agent !== undefined && { agent }) })
  }
}
