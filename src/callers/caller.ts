// The caller of a request or connection: the owner whose sessions it reaches, its trace and its payment.
import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import type { Engine, EngineDescription } from '../engine/ports/boundary.ts'
import type { TraceContext } from '../language/trace.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'

/**
 * The caller's identity. Sessions belong to `owner`; the log names `name` for decisions. `operator`: sees every owner.
 * `roles`: what the caller may decide about, see language/approvers.ts. `wallet`: signed in with this wallet, and reaches agents
 * on their owners' machines only.
 */
export type Principal = {
  owner: string
  name: string
  operator?: boolean
  roles?: readonly string[]
  wallet?: string
}

/** A caller as the engine is bound to it: one request, or one connection. */
export type Caller = Pick<Principal, 'owner' | 'operator' | 'roles'> & {
  /** Absent: the owner. */
  name?: string
  /** The trace that its turns belong to. */
  trace?: TraceContext | undefined
  /** Absent: nothing can be paid with it, as on a socket. */
  payment?: RequestPayment | undefined
}

/** The server itself, where it acts for sessions of any owner. */
export const serverCaller: Caller = { owner: '', operator: true }

/** Counts the body bytes that the caller's owner has open. */
export type OwnerAccount = {
  /** Counts bytes of a body that is being read. Throws `rate_limited` if all bodies of the owner are too many bytes. */
  takeBody(bytes: number): void
  releaseBody(bytes: number): void
}

/** The payment of a request, where payments are configured. */
export type RequestPayment = {
  /** The caller has no key. */
  readonly bare: boolean
  /** Called with the body of the request, in pieces: a payment is for one request. */
  takeBody(pieces: readonly Uint8Array[]): void
  /** The owner who calls. Without a key: the owner that the caller claims to be. */
  readonly owner: string
  /** A message in the body carries its payment itself. `about`: what it pays for. Throws `bad_request`. */
  carry(payment: Json | undefined, about: Json): void
  /**
   * In place of the wire's own error body: what to pay, for a request that was refused with `payment_required`.
   * `required`: the same in the form of x402 version 2.
   */
  readonly refusal: { headers: Record<string, string>; body: JsonObject; required: JsonObject } | undefined
  /** Of a payment that is settled. */
  readonly receipt: JsonObject | undefined
}

/** A request for an agent on its owner's machine, as the wire is to decode it. */
export type RelayedTarget = {
  /** The agent of the engine that stands for all attached ones. */
  agent: string
  /** The recipient, for that agent's model. */
  to: JsonObject
  body: JsonObject
  /** In place of the host's own. */
  offers: { about: Pick<EngineDescription, 'agents' | 'models'>; serverTools: ReadonlySet<string> }
  /** The model name that the response shows. */
  shown: string
}

/** Agents on their owners' machines. */
export type Relay = {
  /** Undefined: the request is for an agent of this server. `routed`: the agent that the path names. */
  target(
    body: JsonObject,
    routed: string | undefined,
    caller: Principal & Pick<Caller, 'payment'>,
  ): Promise<RelayedTarget | undefined>
}

/** The variables that the server has set on a request before a route gets it. */
export type WireEnv = {
  Bindings: HttpBindings
  Variables: {
    principal: Principal
    /** Bound to the caller. */
    engine: Engine
    account?: OwnerAccount
    payment?: RequestPayment
  }
}

/** Helpers of the server for routes that belong to no wire. */
export type RouteHost = {
  /** Routes whose errors have a plain body. */
  app(): Hono<WireEnv>
  /** The body of a request, if it is a JSON object of at most so many bytes. Throws `bad_request` or `too_large`. */
  readBody(c: Context<WireEnv>, bytes: number): Promise<JsonObject>
  send(c: Context<WireEnv>, body: object): Response
  /** Throws `forbidden` unless the caller is an operator. */
  requireOperator(c: Context<WireEnv>): void
}
