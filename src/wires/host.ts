// What every HTTP wire is given by the server that carries it. A wire decodes, commands the engine and encodes; who
// the caller is, how large a body may be and where logs go is decided here, once for all wires.
import type { HttpBindings } from '@hono/node-server'
import type {
  Agent,
  AgentInfo,
  Engine,
  EngineDescription,
  EnginePorts,
  OpenSessions,
} from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'

/** Who is calling. Sessions belong to `owner`; `name` is what the log says of the one who decided. */
export type Principal = { owner: string; name: string }

export type WireEnv = { Bindings: HttpBindings; Variables: { principal: Principal } }

export type WireHost = {
  engine: Engine
  /** The agents and models of the engine. */
  about: EngineDescription
  /** Until every wire uses `engine`. */
  old: OpenSessions
  /**
   * For requests that leave nothing behind: it keeps sessions in memory only, and its agents, of the same names, have no
   * tools of their own, so that nothing can run on the server.
   */
  ephemeral: OpenSessions
  /** As configured, in that order. */
  agents: readonly Agent[]
  /** The names of the configured models. */
  models: readonly string[]
  /** The agents whose own tools may run for doors that by themselves know client tools only. */
  serverTools: ReadonlySet<string>
  /** For artifacts that a client carries for a wire. They can be neither read nor forged. */
  seal(text: string): string
  /** Throws for text that was not sealed by this installation. */
  unseal(sealed: string): string
  limits: {
    bodyBytes: number
    jsonDepth: number
    heartbeatMs: number
    /** Unsent bytes after which a client that does not read is dropped. */
    unsentBytes: number
    /** A client that reads nothing for this long is dropped. Default 30 s. */
    stallMs?: number
  }
  log: EnginePorts['log']
}

/** The agent of this name. Throws `unknown_agent`. */
export function agentNamed({ about }: Pick<WireHost, 'about'>, name: string): AgentInfo {
  const agent = about.agents.find(each => each.name === name)
  if (!agent)
    throw new TurnwireError('unknown_agent', `There is no agent named "${name}". GET /meta lists them.`)
  return agent
}
