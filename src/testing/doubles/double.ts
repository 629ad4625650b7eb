// The HTTP server that every strict double runs in, on 127.0.0.1. It hands each request to a vendor's pure functions,
// answers with the first rule that the request breaks, or plays the next scripted turn.
// It owns the socket, the script and the record of exchanges. It knows no vendor's shapes; those are in `VendorDouble`.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BodyProblem, parseBody, surrogateProblem } from './body.ts'
import {
  bendFrames,
  checkFaults,
  cutBytes,
  type Fault,
  type FrameMaker,
  frameText,
  listFaults,
  planWrites,
  reshapeTurn,
  type WritePlan,
} from './faults.ts'
import {
  createPlayer,
  type DoubleAnswer,
  type DoubleFrame,
  type Mode,
  type Rejection,
  rawFrames,
  type Script,
  type ScriptedTurn,
} from './script.ts'
import { isRecord } from './shape.ts'

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

/** An answer that uses no turn of the script: a stored response, a token count. */
export type DirectAnswer = { body?: unknown; frames?: DoubleFrame[] }

/** With `trustForeign`, ids and signatures of unknown origin count as genuine: for bodies that a real API answered. */
export type MemoryOptions = { trustForeign?: boolean }

/**
 * One vendor's API, without sockets. Contract: all functions are pure but for `memory`, which only this vendor reads and
 * writes. `check` returns every broken rule; the first is the one that the real API reports.
 */
export type VendorDouble<Memory> = FrameMaker & {
  name: VendorName
  memory(options?: MemoryOptions): Memory
  route(method: string, path: string): Route | null
  /** With `apiKey` the key must be that one. Without it any key will do, but there must be one. */
  authorise(headers: RequestHeaders, query: URLSearchParams, apiKey?: string): Rejection | null
  /** How the vendor refuses a body that it cannot read. */
  unreadable(problem: BodyProblem): Rejection
  check(request: DoubleRequest, memory: Memory, mode: Mode): Rejection[]
  /** Answers routes that no script plays. Called after `check`; `null` means: play a turn. */
  direct?(request: DoubleRequest, memory: Memory): DirectAnswer | null
  /** Whether the request asks for a stream. Without it, the body's `stream` says so. */
  streams?(request: DoubleRequest): boolean
  respond(turn: ScriptedTurn, request: DoubleRequest, memory: Memory): DoubleAnswer
  /** The vendor's words for a failure of its own: 404, 429, 500, 529 and so on. */
  failure(status: number): Rejection
  rejectionBody(rejection: Rejection): { status: number; headers?: Record<string, string>; body: unknown }
}

/** A vendor by any memory: methods compare bivariantly, and a vendor only gets back the memory that it made. */
export type AnyDouble = VendorDouble<unknown>

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
  frames: DoubleFrame[]
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
  /** The vendor's refusals that were answered, in order. */
  rejections(): Rejection[]
  /** The harness's own failures that were answered, in order. */
  harnessErrors(): string[]
  close(): Promise<void>
}

/** Every rule that a body breaks, with no server. Headers are taken to be right. */
export function checkWith(
  vendor: AnyDouble,
  body: unknown,
  options: MemoryOptions & { mode?: Mode; memory?: unknown; route?: Route } = {},
): Rejection[] {
  const rawText = JSON.stringify(body) ?? ''
  const problem = surrogateProblem(rawText)
  if (problem) return [vendor.unreadable(problem)]
  const { route = { kind: 'create', params: {} }, mode = 'strict' } = options
  const request: DoubleRequest = { route, query: new URLSearchParams(), headers: {}, body, rawText }
  return vendor.check(request, options.memory ?? vendor.memory(options), mode)
}

/** Whether the body asks for a stream, as most vendors have it. */
const asksForStream = ({ body }: DoubleRequest): boolean => isRecord(body) && body['stream'] === true

/** The answer of a turn whose `raw` is a list of frames, or `null`. Frames can only answer a request that streams. */
export function rawAnswer(turn: ScriptedTurn, request: DoubleRequest): DoubleAnswer | null {
  const frames = rawFrames(turn.raw)
  if (frames === null) return null
  if (asksForStream(request)) return { body: null, frames }
  throw new Error('raw frames can only answer a request that streams: script the whole response instead')
}

/** The key of an `Authorization: Bearer` header. */
export const bearerKey = (headers: RequestHeaders): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1]

export async function serveDouble(vendor: AnyDouble, options: ServeOptions = {}): Promise<RunningDouble> {
  const exchanges: Exchange[] = []
  if (Array.isArray(options.script)) checkTurns(options.script, 'script')
  const shared = { vendor, memory: vendor.memory(), player: createPlayer(options.script), options }
  const server = createServer((incoming, outgoing) => {
    const served = buffer(incoming).then(bytes => {
      const exchange = newExchange(incoming, bytes)
      exchanges.push(exchange)
      return handle({ ...shared, exchange, outgoing }, bytes)
    })
    served.catch(error => outgoing.destroy(error instanceof Error ? error : new Error(String(error))))
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
    push: (...turns) => {
      checkTurns(turns, 'push')
      shared.player.push(turns)
    },
    rejections: () => exchanges.flatMap(exchange => exchange.rejections.slice(0, 1)),
    harnessErrors: () => exchanges.flatMap(exchange => exchange.harness ?? []),
    close: () =>
      new Promise((resolve, reject) => {
        server.close(error => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

function checkTurns(turns: readonly ScriptedTurn[], at: string): void {
  for (const [index, turn] of turns.entries()) checkFaults(turn.fault, `${at}[${index}]`)
}

/** One request that is being served. */
type Serving = {
  vendor: AnyDouble
  memory: unknown
  player: ReturnType<typeof createPlayer>
  options: ServeOptions
  exchange: Exchange
  outgoing: ServerResponse
}

function newExchange(incoming: IncomingMessage, bytes: Buffer): Exchange {
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, [value].flat().join(', ')])
  return {
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: Object.fromEntries(headers),
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
}

async function handle(serving: Serving, bytes: Buffer): Promise<void> {
  const { vendor, memory, player, options, exchange } = serving
  try {
    const read = readRequest(serving, bytes)
    if ('refused' in read) return refuseRequest(serving, [read.refused])
    const { request } = read
    const rejections = vendor.check(request, memory, options.mode ?? 'strict')
    if (rejections.length > 0) return refuseRequest(serving, rejections)
    const direct = vendor.direct?.(request, memory)
    if (direct) return await writeAnswer(serving, direct, 0)
    const played = player.next(request.body)
    if (played === null) throw new Error('the script has no more turns: push one per request')
    // The turns of a function are not known before.
    if (typeof options.script === 'function') checkFaults(played.turn.fault, `script(${played.index})`)
    exchange.turn = played.index
    await playTurn(serving, request, played.turn)
  } catch (error) {
    harnessError(serving, error instanceof Error ? error.message : String(error))
  } finally {
    options.log?.(exchange)
  }
}

type ReadRequest = { request: DoubleRequest } | { refused: Rejection }

function readRequest({ vendor, exchange, options }: Serving, bytes: Buffer): ReadRequest {
  const { method, headers, rawText } = exchange
  const { pathname, searchParams: query } = new URL(exchange.path, 'http://127.0.0.1')
  const unauthorised = vendor.authorise(headers, query, options.apiKey)
  if (unauthorised) return { refused: unauthorised }
  const route = vendor.route(method, pathname)
  if (route === null) return { refused: vendor.failure(404) }
  if (method === 'POST' && bytes.length > 0) {
    const { body, problem } = parseBody(bytes, headers['content-type'] ?? '')
    exchange.body = body
    if (problem) return { refused: vendor.unreadable(problem) }
  }
  return { request: { route, query, headers, body: exchange.body, rawText } }
}

async function playTurn(serving: Serving, request: DoubleRequest, turn: ScriptedTurn): Promise<void> {
  const { vendor, memory, exchange, outgoing } = serving
  turn.expect?.(request.body)
  const faults = listFaults(turn)
  exchange.faults = faults
  if (faults.some(fault => fault.kind === 'hang')) return
  if (faults.some(fault => fault.kind === 'reset')) return void outgoing.socket?.resetAndDestroy()
  if (faults.some(fault => writeStatusFault(serving, fault))) return
  const { body, frames } = vendor.respond(reshapeTurn(turn), request, memory)
  const streams = vendor.streams?.(request) ?? asksForStream(request)
  const answer = streams ? { frames: bendFrames(frames, faults, vendor) } : { body }
  await writeAnswer(serving, answer, turn.delayMs ?? 0)
}

/** Answers with a failure of the vendor's, if the fault is one. */
function writeStatusFault(serving: Serving, fault: Fault): boolean {
  const { vendor } = serving
  if (fault.kind === 'overloaded') writeRejection(serving, vendor.failure(529), {})
  else if (fault.kind === 'unauthorized') writeRejection(serving, vendor.failure(401), {})
  else if (fault.kind === 'forbidden') writeRejection(serving, vendor.failure(403), {})
  else if (fault.kind === 'server-error') writeRejection(serving, vendor.failure(fault.status ?? 500), {})
  else if (fault.kind === 'rate-limit') {
    const seconds = fault.retryAfter ?? 1
    const date = new Date(Date.now() + seconds * 1000).toUTCString()
    const headers = { 'retry-after': fault.as === 'http-date' ? date : String(seconds) }
    writeRejection(serving, vendor.failure(429), headers)
  } else return false
  return true
}

function refuseRequest(serving: Serving, rejections: Rejection[]): void {
  serving.exchange.rejections = rejections
  const [first] = rejections
  if (first) writeRejection(serving, first, { 'x-double-rule': first.rule })
}

/** 422 is a status that no vendor's SDK retries, and `x-should-retry` says so once more. */
function harnessError(serving: Serving, message: string): void {
  serving.exchange.harness = message
  if (serving.outgoing.headersSent) return void serving.outgoing.destroy()
  const rejection: Rejection = { rule: 'harness', status: 422, type: 'double_harness_error', message }
  writeRejection(serving, rejection, { 'x-double-rule': 'harness', 'x-should-retry': 'false' })
}

function writeRejection(serving: Serving, rejection: Rejection, extra: Record<string, string>): void {
  const { vendor, exchange, outgoing } = serving
  const { status, headers, body } = vendor.rejectionBody(rejection)
  exchange.status = status
  exchange.response = body
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    ...requestId(vendor),
    ...headers,
    ...extra,
  })
  outgoing.end(JSON.stringify(body))
}

/** Some vendors name each request, so that their support can find it. */
function requestId({ name }: AnyDouble): Record<string, string> {
  const header = name === 'anthropic' ? 'request-id' : name.startsWith('openai') ? 'x-request-id' : ''
  return header === '' ? {} : { [header]: `req_${randomUUID().replaceAll('-', '')}` }
}

async function writeAnswer(serving: Serving, { body, frames }: DirectAnswer, delayMs: number): Promise<void> {
  const { exchange, outgoing } = serving
  exchange.status = 200
  exchange.response = body
  if (delayMs > 0) await sleep(delayMs)
  const plan = planWrites(exchange.faults)
  outgoing.writeHead(200, {
    'content-type': frames ? 'text/event-stream; charset=utf-8' : 'application/json',
    ...(frames && { 'cache-control': 'no-cache' }),
    ...requestId(serving.vendor),
  })
  outgoing.flushHeaders()
  if (frames === undefined) {
    if (plan.stopAfter === 0) return
    await writeText(outgoing, JSON.stringify(body) ?? '', plan.cut)
    outgoing.end()
    return
  }
  exchange.frames = frames
  for (const [at, frame] of frames.entries()) {
    if (at >= plan.stopAfter || outgoing.destroyed) break
    if (at > 0 && delayMs > 0) await sleep(delayMs)
    await writeText(outgoing, frameText(frame, plan.newline), plan.cut)
  }
  if (plan.finish === 'reset') outgoing.socket?.resetAndDestroy()
  else if (plan.finish === 'end') outgoing.end()
}

async function writeText(outgoing: ServerResponse, text: string, cut: WritePlan['cut']): Promise<void> {
  for (const part of cutBytes(Buffer.from(text, 'utf8'), cut)) {
    if (outgoing.destroyed) return
    await new Promise<void>(resolve => outgoing.write(part, () => resolve()))
  }
}
