// What the server gives every HTTP wire. A wire decodes requests, commands the engine and encodes what comes of it; who the
// caller is, how large a body may be and where logs go is decided by the server, once for all wires.
import type { HttpBindings } from '@hono/node-server'
import type { AgentInfo, Engine, EngineDescription, EnginePorts } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { JsonObject } from '../lib/json.ts'

/**
 * Who is calling. Sessions belong to `owner`; the log names `name` as the one who decided. `operator`: may see every owner.
 * `wallet`: signed in with this wallet, and reaches agents on their owners' machines only.
 */
export type Principal = { owner: string; name: string; operator?: boolean; wallet?: string }

/** Counts what the caller's owner has at a time. */
export type OwnerAccount = {
  /** Counts bytes of a body that is being read. Throws `rate_limited` if all bodies of the owner are too many bytes. */
  takeBody(bytes: number): void
  releaseBody(bytes: number): void
}

/** What a request pays with, where payments are configured. */
export type RequestPayment = {
  /** The caller has no key. */
  readonly bare: boolean
  /** Called with the body of the request, in pieces: a payment is for one request. */
  takeBody(pieces: readonly Uint8Array[]): void
  /** In place of the wire's own error body: what to pay, for a request that was refused with `payment_required`. */
  readonly refusal: { headers: Record<string, string>; body: JsonObject } | undefined
}

export type WireEnv = {
  Bindings: HttpBindings
  Variables: { principal: Principal; account?: OwnerAccount; payment?: RequestPayment }
}

/** A request for an agent on its owner's machine, as the wire is to decode it. */
export type RelayedTarget = {
  /** The agent of the engine that stands for all attached ones. */
  agent: string
  body: JsonObject
  catalog: Pick<EngineDescription, 'agents' | 'models'> & { serverTools: ReadonlySet<string> }
  /** What the response gives as its model. */
  shown: string
}

/** Agents on their owners' machines. */
export type Relay = {
  /** Undefined: the request is for an agent of this server. `routed`: the agent that the path names. */
  target(
    body: JsonObject,
    routed: string | undefined,
    principal: Principal,
  ): Promise<RelayedTarget | undefined>
}

export type WireHost = {
  engine: Engine
  /** Absent: no relay is configured. */
  relay?: Relay
  /** The agents and models of the engine. */
  about: EngineDescription
  /** The agents whose own tools may run on wires that otherwise know client tools only. */
  serverTools: ReadonlySet<string>
  /** For artifacts that a client carries for a wire. They can be neither read nor forged. */
  seal(text: string): string
  /** The same text always gets the same signature, which only this installation can make. */
  sign(text: string): string
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
