/**
 * The frame that every strict double stands in: an HTTP server on 127.0.0.1 that hands each request to a
 * vendor's pure functions, answers with the first rule it breaks, or plays the next scripted turn.
 * It owns the socket, the script and the record; it knows no vendor's shapes. Those are in `VendorDouble`s.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BodyProblem, parseBody, surrogateProblem } from './body.ts'
import {
  bendFrames,
  cutBytes,
  type Fault,
  type FrameMaker,
  faultsOf,
  frameText,
  planWrites,
  reshapeTurn,
} from './faults.ts'
import {
  createPlayer,
  type Frame,
  type Mode,
  type Rejection,
  type Script,
  type ScriptedTurn,
} from './script.ts'

export type { BodyProblem } from './body.ts'
export type { Fault } from './faults.ts'
export type { Frame, Mode, Rejection, Script, ScriptedCall, ScriptedTurn } from './script.ts'

export type VendorName =
  | 'anthropic'
  | 'openai-responses'
  | 'openai-chat'
  | 'openai-compatible'
  | 'gemini'
  | 'gemini-interactions'

export type RequestHeaders = Readonly<Record<string, string>>

export type Route = { kind: string; params: Record<string, string>; streaming?: boolean }

/** A request as a vendor's functions see it. `body` is `undefined` when there was none. */
export type DoubleRequest = {
  route: Route
  query: URLSearchParams
  headers: RequestHeaders
  body: unknown
  rawText: string
}

/** An answer that takes no turn from the script (a stored response, a token count). */
export type DirectAnswer = { status: number; body?: unknown; frames?: Frame[] }

/**
 * One vendor's API, without sockets. Contract: all functions are pure but for `memory`, which only this
 * vendor reads and writes; `check` gives every broken rule, the one that the real API reports first.
 */
export type VendorDouble<Memory> = FrameMaker & {
  name: VendorName
  /** `trustForeign`: signatures of unknown origin count as genuine, for bodies that a real API answered. */
  memory(options?: { trustForeign?: boolean }): Memory
  route(method: string, path: string, query: URLSearchParams): Route | null
  /** With `apiKey` given the key must be that one; otherwise any key will do, but none will not. */
  authorise(headers: RequestHeaders, query: URLSearchParams, apiKey?: string): Rejection | null
  /** How the vendor refuses a body that it cannot read; `null` where it does not mind. */
  unreadable(problem: BodyProblem): Rejection | null
  check(request: DoubleRequest, memory: Memory, mode: Mode): Rejection[]
  /** Answers routes that no script plays. Called after `check`; `null` means: play a turn. */
  direct?(request: DoubleRequest, memory: Memory): DirectAnswer | null
  streams(request: DoubleRequest): boolean
  respond(turn: ScriptedTurn, request: DoubleRequest, memory: Memory): { body: unknown; frames: Frame[] }
  /** The vendor's words for a failure of its own: 404, 429, 500, 529 and so on. */
  failure(status: number): Rejection
  rejectionBody(rejection: Rejection): { status: number; headers: Record<string, string>; body: unknown }
}

export type Exchange = {
  method: string
  path: string
  headers: RequestHeaders
  body: unknown
  rawText: string
  status: number
  /** Index of the scripted turn that answered, `null` when none did. */
  turn: number | null
  /** Every rule that the request broke; the first is the one that was answered. */
  rejections: Rejection[]
  /** The script's own failure (it ran out, an expectation threw); never the vendor's. */
  harness: string | null
  faults: Fault[]
  response: unknown
  frames: Frame[]
}

export type ServeOptions = {
  script?: Script
  mode?: Mode
  port?: number
  apiKey?: string
  log?: (exchange: Exchange) => void
}

export type RunningDouble = {
  /** Origin without a path, e.g. `http://127.0.0.1:40123`. */
  url: string
  exchanges: Exchange[]
  push(...turns: ScriptedTurn[]): void
  /** What was answered as the vendor's refusal, in order. */
  rejections(): Rejection[]
  /** What was answered as the harness's own failure, in order. */
  harnessErrors(): string[]
  close(): Promise<void>
}

/** Every rule that a body breaks, with no server. Headers are taken to be right. */
export function checkWith<Memory>(
  vendor: VendorDouble<Memory>,
  body: unknown,
  options: { mode?: Mode; memory?: Memory; route?: Route; trustForeign?: boolean } = {},
): Rejection[] {
  const rawText = JSON.stringify(body) ?? ''
  const problem = surrogateProblem(rawText)
  const unreadable = problem && vendor.unreadable(problem)
  if (unreadable) return [unreadable]
  const route = options.route ?? { kind: 'create', params: {} }
  const request: DoubleRequest = { route, query: new URLSearchParams(), headers: {}, body, rawText }
  const memory = options.memory ?? vendor.memory({ trustForeign: options.trustForeign ?? false })
  return vendor.check(request, memory, options.mode ?? 'strict')
}

export async function serveDouble<Memory>(
  vendor: VendorDouble<Memory>,
  options: ServeOptions = {},
): Promise<RunningDouble> {
  const exchanges: Exchange[] = []
  const player = createPlayer(options.script)
  const memory = vendor.memory()
  const server = createServer((incoming, outgoing) => {
    handle({ vendor, memory, player, options, exchanges }, incoming, outgoing).catch(error => {
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)))
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  // A TCP server that listens on a port has an AddressInfo; the string form is for pipes only.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    push: (...turns) => player.push(turns),
    rejections: () => exchanges.flatMap(exchange => exchange.rejections.slice(0, 1)),
    harnessErrors: () => exchanges.flatMap(exchange => exchange.harness ?? []),
    close: () =>
      new Promise((resolve, reject) => {
        server.close(error => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

type Running<Memory> = {
  vendor: VendorDouble<Memory>
  memory: Memory
  player: ReturnType<typeof createPlayer>
  options: ServeOptions
  exchanges: Exchange[]
}

async function handle<Memory>(
  running: Running<Memory>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { vendor, memory, player, options, exchanges } = running
  const bytes = await readAll(incoming)
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  const exchange: Exchange = {
    method: incoming.method ?? 'GET',
    path: url.pathname + url.search,
    headers: flatHeaders(incoming),
    body: undefined,
    rawText: bytes.toString('utf8'),
    status: 0,
    turn: null,
    rejections: [],
    harness: null,
    faults: [],
    response: undefined,
    frames: [],
  }
  exchanges.push(exchange)
  try {
    const read = readRequest(vendor, exchange, bytes, url, options.apiKey)
    if ('refused' in read) return refuse(vendor, exchange, outgoing, [read.refused])
    const { request } = read
    const rejections = vendor.check(request, memory, options.mode ?? 'strict')
    if (rejections.length > 0) return refuse(vendor, exchange, outgoing, rejections)
    const direct = vendor.direct?.(request, memory)
    if (direct) return await answer(exchange, outgoing, direct, [], 0)
    const played = player.next(request.body)
    if (played === null) {
      return harnessError(vendor, exchange, outgoing, 'the script has no more turns: push one per request')
    }
    exchange.turn = played.index
    await playTurn(running, request, played.turn, exchange, outgoing)
  } catch (error) {
    harnessError(vendor, exchange, outgoing, error instanceof Error ? error.message : String(error))
  } finally {
    options.log?.(exchange)
  }
}

async function playTurn<Memory>(
  { vendor, memory }: Running<Memory>,
  request: DoubleRequest,
  turn: ScriptedTurn,
  exchange: Exchange,
  outgoing: ServerResponse,
): Promise<void> {
  turn.expect?.(request.body)
  const faults = faultsOf(turn)
  exchange.faults = faults
  if (faults.some(fault => fault.kind === 'hang')) return
  if (faults.some(fault => fault.kind === 'reset')) {
    outgoing.socket?.resetAndDestroy()
    return
  }
  const failure = statusFault(vendor, faults)
  if (failure) return fail(vendor, exchange, outgoing, failure.rejection, failure.headers)
  const { body, frames } = vendor.respond(reshapeTurn(turn), request, memory)
  const answered: DirectAnswer = vendor.streams(request)
    ? { status: 200, frames: bendFrames(frames, faults, vendor) }
    : { status: 200, body }
  await answer(exchange, outgoing, answered, faults, turn.delayMs ?? 0)
}

function readRequest<Memory>(
  vendor: VendorDouble<Memory>,
  exchange: Exchange,
  bytes: Buffer,
  url: URL,
  apiKey: string | undefined,
): { request: DoubleRequest } | { refused: Rejection } {
  const query = url.searchParams
  const { headers, rawText } = exchange
  const unauthorised = vendor.authorise(headers, query, apiKey)
  if (unauthorised) return { refused: unauthorised }
  const route = vendor.route(exchange.method, url.pathname, query)
  if (route === null) return { refused: vendor.failure(404) }
  if (exchange.method === 'POST' && bytes.length > 0) {
    const parsed = parseBody(bytes, headers['content-type'] ?? '')
    exchange.body = parsed.body
    const unreadable = parsed.problem && vendor.unreadable(parsed.problem)
    if (unreadable) return { refused: unreadable }
  }
  return { request: { route, query, headers, body: exchange.body, rawText } }
}

function statusFault<Memory>(
  vendor: VendorDouble<Memory>,
  faults: Fault[],
): { rejection: Rejection; headers: Record<string, string> } | null {
  for (const fault of faults) {
    if (fault.kind === 'overloaded') return { rejection: vendor.failure(529), headers: {} }
    if (fault.kind === 'server-error') return { rejection: vendor.failure(fault.status ?? 500), headers: {} }
    if (fault.kind === 'rate-limit') {
      const seconds = fault.retryAfter ?? 1
      const value =
        fault.as === 'http-date' ? new Date(Date.now() + seconds * 1000).toUTCString() : String(seconds)
      return { rejection: vendor.failure(429), headers: { 'retry-after': value } }
    }
  }
  return null
}

function refuse<Memory>(
  vendor: VendorDouble<Memory>,
  exchange: Exchange,
  outgoing: ServerResponse,
  rejections: Rejection[],
): void {
  const [first] = rejections
  if (first === undefined) return
  exchange.rejections = rejections
  fail(vendor, exchange, outgoing, first, { 'x-double-rule': first.rule })
}

/** 422 is a status that no vendor's SDK retries, and `x-should-retry` says so once more. */
function harnessError<Memory>(
  vendor: VendorDouble<Memory>,
  exchange: Exchange,
  outgoing: ServerResponse,
  message: string,
): void {
  exchange.harness = message
  if (outgoing.headersSent) {
    outgoing.destroy()
    return
  }
  const rejection: Rejection = { rule: 'harness', status: 422, type: 'double_harness_error', message }
  fail(vendor, exchange, outgoing, rejection, { 'x-double-rule': 'harness', 'x-should-retry': 'false' })
}

function fail<Memory>(
  vendor: VendorDouble<Memory>,
  exchange: Exchange,
  outgoing: ServerResponse,
  rejection: Rejection,
  extra: Record<string, string>,
): void {
  const { status, headers, body } = vendor.rejectionBody(rejection)
  exchange.status = status
  exchange.response = body
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers, ...extra })
  outgoing.end(JSON.stringify(body))
}

async function answer(
  exchange: Exchange,
  outgoing: ServerResponse,
  { status, body, frames }: DirectAnswer,
  faults: Fault[],
  delayMs: number,
): Promise<void> {
  exchange.status = status
  exchange.response = body
  if (delayMs > 0) await sleep(delayMs)
  const plan = planWrites(faults)
  if (frames === undefined) {
    outgoing.writeHead(status, { 'content-type': 'application/json' })
    if (plan.stopAfter === 0) {
      outgoing.flushHeaders()
      return
    }
    const bytes = Buffer.from(JSON.stringify(body) ?? '', 'utf8')
    for (const part of cutBytes(bytes, plan.cut)) await write(outgoing, part)
    outgoing.end()
    return
  }
  exchange.frames = frames
  outgoing.writeHead(status, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  })
  outgoing.flushHeaders()
  for (const [at, frame] of frames.entries()) {
    if (at >= plan.stopAfter || outgoing.destroyed) break
    if (at > 0 && delayMs > 0) await sleep(delayMs)
    const bytes = Buffer.from(frameText(frame, plan.newline), 'utf8')
    for (const part of cutBytes(bytes, plan.cut)) await write(outgoing, part)
  }
  if (plan.finish === 'reset') outgoing.socket?.resetAndDestroy()
  else if (plan.finish === 'end') outgoing.end()
}

function write(outgoing: ServerResponse, part: Uint8Array): Promise<void> {
  if (outgoing.destroyed) return Promise.resolve()
  return new Promise(resolve => outgoing.write(part, () => resolve()))
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  return Buffer.concat(parts)
}

function flatHeaders(incoming: IncomingMessage): RequestHeaders {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
