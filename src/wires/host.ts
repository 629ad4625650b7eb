// The host: services of the server for every HTTP wire. A wire decodes requests, commands the engine and encodes the
// results; the server decides, once for all wires, who the caller is, how large a body may be and where logs go.
import type { Caller, Relay } from '../callers/caller.ts'
import type { AgentInfo, Engine, EngineDescription, EnginePorts } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { AgentFlowReport } from '../language/flow.ts'
import type { SealUse } from '../language/seals.ts'

export type { Principal, RelayedTarget, RequestPayment, WireEnv } from '../callers/caller.ts'

export type ServedDescription = EngineDescription & {
  /** With one agent, a model name that is not known means that agent. */
  anyModel?: boolean
  /** False: a response is stored only if its request says so. */
  storesResponses?: boolean
  /** What the tools of each agent can do together. For operators. */
  flow?: readonly AgentFlowReport[]
}

export type WireHost = {
  /** For one request or connection: it reaches what this caller may, within the limits of its owner. */
  engineFor(caller: Caller): Engine
  /** Absent: no relay is configured. */
  relay?: Relay
  /** The agents and models of the engine, and how requests are read that name none of them. */
  about: ServedDescription
  /** The agents whose own tools may run on wires that otherwise know client tools only. */
  serverTools: ReadonlySet<string>
  /** For artifacts that a client carries for a wire. They can be neither read nor forged. */
  seal(text: string, use: SealUse): string
  /** The same text always gets the same signature, which only this installation can make. */
  sign(text: string): string
  /** Throws for text that was not sealed by this installation for this use. */
  unseal(sealed: string, use: SealUse): string
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
