// The types of the operator API, as docs/protocols/operator.md describes them, and what it needs of the server besides the
// engine. They are the API's own: what the engine calls a row or a call may change without them.
import type { ModelRequest } from '../../engine/index.ts'
import type { TurnStop } from '../../language/events.ts'
import type { Json } from '../../lib/json/index.ts'

export type OperatorRow = {
  id: string
  owner: string
  agent: string
  model?: string
  wire?: string
  status: 'idle' | 'running' | 'waiting'
  opening?: string
  createdAt: number
  updatedAt: number
  events: number
  bytes: number
  tokens: number
  cost?: number
  waits?: readonly string[]
  /** How the last turn ended, unless it simply ended. */
  stop?: TurnStop
  leftAlone?: true
  forkedFrom?: { session: string; seq: number }
}

export type ModelStatus = {
  name: string
  id: string
  requests: number
  failures: number
  lastError?: string
  lastErrorAt?: number
  medianMs?: number
  tokens: number
}

/** One of the nodes that share a store. `self`: the one that answers. `leftMs`: 0 or less when its lease has ended. */
export type NodeStatus = {
  id: string
  address?: string
  version: string
  leftMs: number
  self?: true
  /** Why it should be given no requests now. Known of `self` only. */
  problem?: string
}

export type SystemStatus = {
  version: string
  node: string
  startedAt: number
  memory: number
  store: { ok: boolean; error?: string }
  models: ModelStatus[]
  /** Only where nodes share the store. */
  nodes?: NodeStatus[]
  nodesSeenAt?: number
  /** What `turnwire attach` does, or did, with the same data folder. */
  attached?: AttachedMachine
}

/** This machine as one that serves a relay. Amounts are in the smallest unit of the relay's asset. */
export type AttachedMachine = {
  server: string
  agentId: string
  state: string
  since: string
  prices: { inputTokenPrice: string; outputTokenPrice: string }
  requests: { served: number; failed: number; refused: number; inFlight: number }
  earnings: string
  refusals: { at: string; reason: string }[]
}

export type VendorRequest = {
  body: Json
  warnings: string[]
  findings: { rule: string; message: string; why: string }[]
}

export type OperatorFeature = 'payments' | 'relay'

export type OperatorKey = { name: string; operator: boolean; fixed: boolean }

/** What the server gives the operator API besides the engine. */
export type OperatorBackend = {
  readonly version: string
  /** The server has no keys. */
  isOpen(): boolean
  /** The parts of the server that are configured and have pages of their own. */
  readonly features: readonly OperatorFeature[]
  /** The cookie's value and the secret that goes with it, or undefined for a key that is not known. */
  signIn(key: string): { cookie: string; secret: string; maxAgeS: number } | undefined
  /** What a vendor would receive. Throws `bad_request` for a protocol that is not known. */
  prepare(request: ModelRequest, protocol: string): Promise<VendorRequest>
  system(): SystemStatus
  keys: {
    list(): OperatorKey[]
    /** Gives the key. Throws `bad_request` for a name that is taken or not allowed. */
    add(name: string, operator: boolean): string
    /** False: there is none of this name that can be removed. */
    remove(name: string): boolean
  }
}

export const cookieName = 'turnwire_console'
/** Has the secret of the sign-in. The cookie counts only with it. */
export const consoleHeader = 'x-turnwire-console'
