// The table of wires. Routes, sockets, refusals, payments, the list at GET / and the checks of the docs come from it, so a
// new wire is a folder in src/wires and a line here.
import type { ServerResponse } from 'node:http'
import { aap } from '../wires/aap/index.ts'
import { type AcpNeeds, acp } from '../wires/acp/index.ts'
import { agui } from '../wires/agui/index.ts'
import { approve } from '../wires/approve/index.ts'
import { callbacks } from '../wires/callbacks/index.ts'
import { chat } from '../wires/chat/index.ts'
import { type ConnectNeeds, connect } from '../wires/connect/index.ts'
import { deltakit } from '../wires/deltakit/index.ts'
import { gemini } from '../wires/gemini/index.ts'
import type { WireHost } from '../wires/host.ts'
import type { Failure } from '../wires/http/index.ts'
import { type McpNeeds, mcp } from '../wires/mcp/index.ts'
import { messages } from '../wires/messages/index.ts'
import { type OperatorNeeds, operator } from '../wires/operator/index.ts'
import { responses } from '../wires/responses/index.ts'
import { ui } from '../wires/ui/index.ts'
import { isUnder, plainErrorBody, type ServedWire, type Wire, type WireRequest } from '../wires/wire.ts'

/** All that wires need of the server. */
export type ServedHost = WireHost & AcpNeeds & ConnectNeeds & McpNeeds & OperatorNeeds

/** Where wires share a path, those that claim requests come first. */
export const wires: readonly Wire<ServedHost>[] = [
  aap,
  gemini,
  messages,
  responses,
  chat,
  deltakit,
  agui,
  ui,
  mcp,
  acp,
  callbacks,
  approve,
  connect,
  operator,
]

/** Those of the configuration. Undefined: all. */
export function chooseWires(names: readonly string[] | undefined): typeof wires {
  return names === undefined ? wires : wires.filter(({ name }) => names.includes(name))
}

/** A wire, or routes that are served beside the wires. */
type Row = Pick<Wire, 'paths' | 'about'> & Partial<Wire<ServedHost>>

const besideWires: readonly Row[] = [
  { paths: ['/health'], about: 'whether it can work; /health/live: whether it is up' },
  { paths: ['/metrics'], about: 'for Prometheus', docs: 'docs/operations/telemetry.md' },
  {
    paths: ['/v1/providers', '/auth'],
    about: 'agents on their owners’ machines, if a relay is configured',
    docs: 'docs/protocols/sixerr.md',
    needs: 'This is served if the configuration has relay.',
    errorBody: responses.errorBody,
  },
  {
    paths: ['/v1/wallet', '/v1/usage'],
    about: 'wallets that pay, if payments are configured',
    docs: 'docs/guide/payments.md',
    needs: 'This is served if the configuration has payments.',
    errorBody: responses.errorBody,
  },
]

export class WireTable {
  readonly wires: readonly Wire<ServedHost>[]
  readonly #rows: readonly Row[]
  /** The longest first. */
  readonly #bases: readonly { base: string; row: Row }[]

  constructor(served = wires) {
    this.wires = served
    this.#rows = [...served, ...besideWires]
    this.#bases = this.#rows
      .flatMap(row => row.paths.map(path => ({ base: basePath(path), row })))
      .sort((a, b) => b.base.length - a.base.length)
  }

  /** Of each wire that the configuration wants. */
  async serve(host: ServedHost): Promise<ServedWire[]> {
    const served = await Promise.all(this.wires.map(async wire => wire.serve(host)))
    return served.filter(wire => wire !== undefined)
  }

  /** The wire whose path it is. */
  at(request: WireRequest): Row | undefined {
    const longest = this.#bases.find(({ base }) => isUnder(request.path, base))?.base
    const sharing = this.#bases.filter(({ base }) => base === longest)
    return choose(
      sharing.map(({ row }) => row),
      request,
    )
  }

  /** In the form of the wire whose path it is. An unknown path is refused in the form of a neighbouring path. */
  errorBody(request: WireRequest, failure: Failure, error?: unknown, outgoing?: ServerResponse): object {
    const { errorBody = plainErrorBody } = this.at(request) ?? this.#neighbour(request) ?? {}
    return errorBody(failure, error, outgoing)
  }

  /** Whether the request may begin a turn. */
  isPayable(request: WireRequest): boolean {
    const { method } = request
    return (method === 'POST' || method === 'PUT') && this.at(request)?.payable?.(request) === true
  }

  ownerByAddress(request: WireRequest, host: WireHost): string | undefined {
    return this.at(request)?.ownerByAddress?.(request, host)
  }

  isRelayed(request: WireRequest): boolean {
    return this.at(request)?.relayed?.(request) === true
  }

  /** By paths: the line that says what is served there. */
  list(): Record<string, string> {
    return Object.fromEntries(
      this.#rows.map(({ paths, about, docs }) => [
        paths.join(', '),
        docs === undefined ? about : `${about}: ${docs}`,
      ]),
    )
  }

  /** A row that has the first part of the path in common. */
  #neighbour(request: WireRequest): Row | undefined {
    const [, first = ''] = request.path.split('/')
    const rows = this.#rows.filter(({ paths }) => paths.some(path => path.split('/')[1] === first))
    return choose(rows, request)
  }
}

function choose(rows: readonly Row[], request: WireRequest): Row | undefined {
  return rows.find(({ claims }) => claims?.(request)) ?? rows.find(({ claims }) => !claims) ?? rows[0]
}

/** `/agui` of `/agui/<agent>`. */
function basePath(path: string): string {
  return path.split('/<', 1)[0] ?? path
}
