// How a message of `useStreamChat` reaches a server and how events come back: DeltaKit's three transports with its names and
// options. A run is over once, however often its stream says so; a run in the background goes on when a page leaves it.

import {
  type AnyDeltaKitEvent,
  type DeltaKitMessage,
  parseDeltaKit,
  parseDeltaKitEvent,
} from '../client/deltakit.ts'
import { isJsonObject, parseBounded } from '../lib/json/index.ts'
import { toError } from '../lib/text/error-message.ts'

/** The hook's functions that a transport calls. */
export type ChatTransportContext = {
  emit: (event: AnyDeltaKitEvent) => void
  finish: () => void
  fail: (error: Error) => void
  ensureAssistantMessage: () => void
  getMessages: () => DeltaKitMessage[]
  setRunId: (runId: string | null) => void
}

/** `close`: the page leaves, the run goes on. `stop`: the run is to end. */
export type ChatTransportRun = {
  runId?: string | null
  close?: () => void | Promise<void>
  stop?: () => void | Promise<void>
}

export type ChatTransport = {
  start: (args: { message: string; context: ChatTransportContext }) => ChatTransportRun | undefined
  /** Shows a run that was started before. */
  resume?: (args: { runId: string; context: ChatTransportContext }) => ChatTransportRun | undefined
}

type Members = Record<string, unknown>

export type SseOptions = {
  api: string
  headers?: Record<string, string>
  /** Further members of the request, such as a session id. */
  body?: Members
  method?: string
  fetch?: typeof globalThis.fetch
}

/** A text has `:runId` where the id goes. */
export type RunUrl = string | ((runId: string) => string)

type Resumable = {
  /** The run to show when the page opens. */
  runId?: string | null
  /** The same, read when it is needed, such as from the page's storage. */
  getResumeKey?: () => string | null | undefined
  /** Called with each new run, and with null when it is over: the place to keep it. */
  onRunIdChange?: (runId: string | null) => void
}

export type BackgroundSseOptions = Resumable & {
  startApi: string
  eventsApi: RunUrl
  cancelApi?: RunUrl
  /** DeltaKit has it and never calls it. */
  statusApi?: RunUrl
  startMethod?: string
  startHeaders?: Record<string, string>
  startBody?: Members
  eventHeaders?: Record<string, string>
  /** Of the answer to the start. Default: its member `runId` or `job_id`. */
  resolveRunId?: (response: unknown) => string
  fetch?: typeof globalThis.fetch
}

export type WebSocketOptions = Resumable & {
  url: string | ((runId: string | null) => string)
  cancelUrl?: RunUrl
  protocols?: string | string[]
  body?: Members
  parseMessage?: (data: unknown) => AnyDeltaKitEvent | AnyDeltaKitEvent[] | null
  serializeMessage?: (payload: Members) => string
  /** Of an event. Default: the member `runId` of `run_started`. */
  resolveRunId?: (event: AnyDeltaKitEvent) => string | null
  /** Default `runId`. */
  runIdKey?: string
  /** The message that resumes a run. Default: the run's id, which makes a server show the run from its beginning. */
  buildResumePayload?: (runId: string) => Members
}

export type TransportOptions = {
  sse?: SseOptions
  backgroundSSE?: BackgroundSseOptions
  websocket?: WebSocketOptions
}
export type TransportChoice = 'sse' | 'background-sse' | 'websocket' | ChatTransport

/** `fallback`: for the default transport, where `transportOptions.sse` is not given. */
export function chooseTransport(
  choice: TransportChoice,
  { sse, backgroundSSE, websocket }: TransportOptions,
  fallback: SseOptions,
): ChatTransport {
  if (typeof choice === 'object') return choice
  if (choice === 'sse') return directSse(sse ?? fallback)
  if (choice === 'background-sse') {
    if (backgroundSSE) return backgroundSse(backgroundSSE)
    throw new Error(
      'The transport "background-sse" needs transportOptions.backgroundSSE: startApi and eventsApi.',
    )
  }
  if (websocket) return webSocket(websocket)
  throw new Error('The transport "websocket" needs transportOptions.websocket: url.')
}

/** The run to show when the page opens. */
export function runToResume({ backgroundSSE, websocket }: TransportOptions): string | undefined {
  const keptIn = (options: Resumable | undefined) => options?.runId ?? options?.getResumeKey?.()
  return keptIn(backgroundSSE) ?? keptIn(websocket) ?? undefined
}

/** Whether a resumed run is sent from its beginning, so that the parts already shown must be removed first. */
export function replaysWhole({ websocket }: TransportOptions): boolean {
  return websocket?.buildResumePayload === undefined
}

// ---- one request, one stream ----------------------------------------------------------------------------------

function directSse({
  api,
  headers,
  body,
  method = 'POST',
  fetch = globalThis.fetch,
}: SseOptions): ChatTransport {
  return {
    start({ message, context }) {
      return abortable(context, async signal => {
        const response = await fetch(api, {
          method,
          headers: { 'Content-Type': 'application/json', ...headers },
          body: JSON.stringify({ message, ...body }),
          signal,
        })
        await showStream(response, context, signal)
      })
    },
  }
}

/** Runs until it is aborted. Any other end is reported to the hook. */
function abortable(
  context: ChatTransportContext,
  work: (signal: AbortSignal) => Promise<void>,
): ChatTransportRun {
  const aborting = new AbortController()
  const { signal } = aborting
  work(signal).then(
    () => signal.aborted || context.finish(),
    (cause: unknown) => signal.aborted || context.fail(toError(cause)),
  )
  const end = (): void => aborting.abort()
  return { close: end, stop: end }
}

/** A stream that says `error` has failed, also if it ends as it should: a background run says how it ended so. */
async function showStream(
  response: Response,
  context: ChatTransportContext,
  signal: AbortSignal,
): Promise<void> {
  if (!response.ok) throw new Error(`SSE request failed: ${response.status} ${response.statusText}`)
  if (!response.body) throw new Error('Response body is null')
  let failure: Error | undefined
  for await (const event of parseDeltaKit(response.body, signal)) {
    if (event.type === 'error') failure = new Error(errorWords(event))
    context.emit(event)
  }
  if (failure) throw failure
}

// ---- a run in the background ----------------------------------------------------------------------------------

function backgroundSse(options: BackgroundSseOptions): ChatTransport {
  const { fetch = globalThis.fetch } = options
  const show = async (runId: string, context: ChatTransportContext, signal: AbortSignal): Promise<void> => {
    context.ensureAssistantMessage()
    const headers = options.eventHeaders ?? {}
    const response = await fetch(runAddress(options.eventsApi, runId), { method: 'GET', headers, signal })
    await showStream(response, context, signal)
  }
  const withCancel = (run: ChatTransportRun, runId: () => string | undefined): ChatTransportRun => ({
    ...run,
    stop() {
      void run.stop?.()
      cancel(fetch, options.cancelApi, runId())
    },
  })
  return {
    resume({ runId, context }) {
      context.setRunId(runId)
      return withCancel(
        abortable(context, signal => show(runId, context, signal)),
        () => runId,
      )
    },
    start({ message, context }) {
      let started: string | undefined
      const run = abortable(context, async signal => {
        started = await startRun(options, message, signal)
        context.setRunId(started)
        await show(started, context, signal)
      })
      return withCancel(run, () => started)
    },
  }
}

async function startRun(
  options: BackgroundSseOptions,
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const { startApi, startMethod = 'POST', startHeaders, startBody, fetch = globalThis.fetch } = options
  const response = await fetch(startApi, {
    method: startMethod,
    headers: { 'Content-Type': 'application/json', ...startHeaders },
    body: JSON.stringify({ message, ...startBody }),
    signal,
  })
  if (!response.ok) throw new Error(`Background SSE start failed: ${response.status} ${response.statusText}`)
  return (options.resolveRunId ?? readRunId)(await response.json())
}

function readRunId(answer: unknown): string {
  const { runId, job_id: job } = isJsonObject(answer) ? answer : {}
  const id = runId ?? job
  if (typeof id === 'string') return id
  throw new Error('Background SSE start response did not contain a run id')
}

function runAddress(url: RunUrl, runId: string): string {
  return typeof url === 'function' ? url(runId) : url.replaceAll(':runId', encodeURIComponent(runId))
}

/** The answer is of no interest: the run's own stream says how it ended. */
function cancel(fetch: typeof globalThis.fetch, url: RunUrl | undefined, runId: string | undefined): void {
  if (url !== undefined && runId !== undefined)
    void fetch(runAddress(url, runId), { method: 'POST' }).catch(() => {})
}

// ---- a socket for each run ------------------------------------------------------------------------------------

function webSocket(options: WebSocketOptions): ChatTransport {
  const { runIdKey = 'runId', body } = options
  return {
    resume({ runId, context }) {
      context.setRunId(runId)
      context.ensureAssistantMessage()
      return openSocket(options, runId, options.buildResumePayload?.(runId) ?? { [runIdKey]: runId }, context)
    },
    start({ message, context }) {
      const kept = options.runId ?? options.getResumeKey?.() ?? null
      return openSocket(
        options,
        kept,
        { message, ...body, ...(kept !== null && { [runIdKey]: kept }) },
        context,
      )
    },
  }
}

function openSocket(
  options: WebSocketOptions,
  kept: string | null,
  payload: Members,
  context: ChatTransportContext,
): ChatTransportRun {
  const { url, protocols, parseMessage = readEvents, serializeMessage = JSON.stringify } = options
  const { resolveRunId = runOfEvent } = options
  const socket = new WebSocket(typeof url === 'function' ? url(kept) : url, protocols)
  let runId = kept
  let isLeft = false
  const leave = (): void => {
    isLeft = true
    socket.close()
  }
  const take = (event: AnyDeltaKitEvent): void => {
    const named = resolveRunId(event)
    if (named !== null) {
      runId = named
      context.setRunId(named)
    }
    context.emit(event)
    if (event.type === 'done') context.finish()
    else if (event.type === 'error') context.fail(new Error(errorWords(event)))
    else return
    leave()
  }
  socket.onopen = () => socket.send(serializeMessage(payload))
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    for (const event of [parseMessage(data) ?? []].flat()) if (!isLeft) take(event)
  }
  socket.onerror = () => isLeft || context.fail(new Error('WebSocket connection failed'))
  socket.onclose = () => isLeft || context.finish()
  return {
    runId,
    close: leave,
    stop() {
      leave()
      cancel(globalThis.fetch, options.cancelUrl, runId ?? undefined)
    },
  }
}

function errorWords(event: AnyDeltaKitEvent): string {
  return 'message' in event && typeof event.message === 'string' ? event.message : 'Stream error'
}

/** A frame is one event or a list of them. Unreadable ones are skipped. */
function readEvents(data: unknown): AnyDeltaKitEvent[] {
  if (typeof data !== 'string') return []
  const one = parseDeltaKitEvent(data)
  if (one) return [one]
  const list = parseBounded(data)
  return Array.isArray(list) ? list.flatMap(each => parseDeltaKitEvent(JSON.stringify(each)) ?? []) : []
}

function runOfEvent(event: AnyDeltaKitEvent): string | null {
  return event.type === 'run_started' && 'runId' in event && typeof event.runId === 'string'
    ? event.runId
    : null
}
