// A wire as one value: where it is served, how it refuses, which of its requests are paid for, and how it is served. The
// server has one table of them, from which everything else that depends on an address is derived.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Hono } from 'hono'
import type { Socket } from '../lib/net/socket.ts'
import type { Principal, WireEnv, WireHost } from './host.ts'
import type { Failure } from './http/index.ts'

/** The parts of a request that tell which wire it is for. */
export type WireRequest = {
  method: string
  path: string
  header(name: string): string | undefined
}

export type Upgrade = {
  socket: Socket
  principal: Principal
  /** The parts of the path at `:name`, by name, decoded. */
  params: Readonly<Record<string, string>>
  request: IncomingMessage
}

/**
 * `path` as in `/api/ws/:agent`. `anonymous`: the wire itself identifies the client, from the first frame, and counts
 * its frames. Their principal owns nothing.
 */
export type UpgradeRoute = { path: string; anonymous?: true; open(upgrade: Upgrade): void }

export type ServedWire = {
  routes?: Hono<WireEnv>
  /** Routes and middleware that come before keys are checked. */
  keyless?: Hono<WireEnv>
  sockets?: readonly UpgradeRoute[]
  close?(): Promise<void>
}

/** `Host`: the services of the server that the wire needs. */
export type Wire<Host extends WireHost = WireHost> = {
  /** In the log of a session and in metrics: the wire of a turn. */
  name: string
  /** A path and everything under it are the wire's. A part in `<>`, and what follows it, is only shown. */
  paths: readonly string[]
  /** One line for the list of wires at GET /. */
  about: string
  /** The page of the docs about the wire. */
  docs: string
  /** Undefined: the configuration does not want it. */
  serve: (host: Host) => ServedWire | undefined | Promise<ServedWire | undefined>
  /** The condition for serving it, for the answer to a request when it is not served. */
  needs?: string
  /** `error`: the thrown value. `outgoing`: has the headers that are set already. */
  errorBody: (failure: Failure, error?: unknown, outgoing?: ServerResponse) => object
  /** Whether a POST or PUT request may begin a turn, so that a wallet may pay for it. Absent: none of them. */
  payable?: (request: WireRequest) => boolean
  /**
   * Where several wires have a path: whether a request is from a client of this wire. The first wire that claims it gets it,
   * else the first that claims nothing.
   */
  claims?: (request: WireRequest) => boolean
  /** The owner of a request without a key, if its address holds an id that is as good as one. */
  ownerByAddress?: (request: WireRequest, host: WireHost) => string | undefined
  /** Whether a request may be for an agent on its owner's machine. */
  relayed?: (request: WireRequest) => boolean
}

export function isUnder(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`)
}

/** For protocols that have no error body of their own. */
export function plainErrorBody({ code, message }: Failure): object {
  return { error: message, code }
}
