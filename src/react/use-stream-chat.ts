// DeltaKit's hook with its own names, options and behaviour, on Turnwire's DeltaKit wire: `messages` made of parts
// (`ToolCallPart` and the others), `onEvent` with helpers that replaces the default handling, `stop`, three transports and
// runs that a reload resumes. Without `onEvent` it shows text, reasoning, calls, results and calls that wait, which
// DeltaKit's default does not.

import { useCallback, useEffect, useRef, useState } from 'react'
import {
  type AnyDeltaKitEvent,
  applyDeltaKit,
  type DeltaKitMessage,
  type DeltaKitPart,
  withAssistantMessage,
  withUserMessage,
} from '../client/deltakit.ts'
import { toError } from '../lib/text/error-message.ts'
import {
  type ChatTransport,
  type ChatTransportContext,
  type ChatTransportRun,
  chooseTransport,
  replaysWhole,
  runToResume,
  type TransportChoice,
  type TransportOptions,
} from './deltakit-transports.ts'

export type EventHelpers = {
  /** Extends the last part if it is text, else begins a text part. */
  appendText: (delta: string) => void
  appendPart: (part: DeltaKitPart) => void
  setMessages: (update: (messages: DeltaKitMessage[]) => DeltaKitMessage[]) => void
}

export type StreamStatus = 'starting' | 'resuming' | 'stopped' | 'finished' | 'error'
export type StreamStatusContext = {
  messages: DeltaKitMessage[]
  runId: string | null
  error?: Error
  /** Of `stopped`: who stopped it. */
  reason?: 'user' | 'unmount'
}

export type UseStreamChatOptions = {
  /** Default `sse`: one request, one stream. Or a transport of your own. */
  transport?: TransportChoice
  transportOptions?: TransportOptions
  /** Of the default transport. Default `/api/chat`. */
  api?: string
  headers?: Record<string, string>
  /** Further members of the request, such as a session id. */
  body?: Record<string, unknown>
  initialMessages?: DeltaKitMessage[]
  /** Replaces the default handling of events entirely. */
  onEvent?: (event: AnyDeltaKitEvent, helpers: EventHelpers) => void
  onMessage?: (message: DeltaKitMessage) => void
  onFinish?: (messages: DeltaKitMessage[]) => void
  onError?: (error: Error) => void
  onStatusChange?: (status: StreamStatus, context: StreamStatusContext) => void
  fetch?: typeof globalThis.fetch
}

export type UsedStreamChat = {
  messages: DeltaKitMessage[]
  isLoading: boolean
  error: Error | null
  runId: string | null
  sendMessage: (text: string) => void
  stop: () => void
  setMessages: (messages: DeltaKitMessage[] | ((before: DeltaKitMessage[]) => DeltaKitMessage[])) => void
}

type ShownMessages = Pick<UsedStreamChat, 'messages' | 'isLoading' | 'error' | 'runId'>

export function useStreamChat(options: UseStreamChatOptions = {}): UsedStreamChat {
  const latest = useRef(options)
  latest.current = options
  const [shown, setShown] = useState<ShownMessages>(() => ({
    messages: options.initialMessages ?? [],
    isLoading: false,
    error: null,
    runId: null,
  }))
  const [chat] = useState(() => new StreamChat(shown, latest))
  useEffect(() => {
    chat.onShow = setShown
    chat.resume()
    return () => chat.leave()
  }, [chat])
  const sendMessage = useCallback((text: string) => chat.send(text), [chat])
  const stop = useCallback(() => chat.stop(), [chat])
  const setMessages = useCallback<UsedStreamChat['setMessages']>(next => chat.setMessages(next), [chat])
  return { ...shown, sendMessage, stop, setMessages }
}

/** One chat: at most one run at a time. The hook shows what it says. */
class StreamChat {
  onShow: (shown: ShownMessages) => void = () => {}
  #shown: ShownMessages
  readonly #latest: { readonly current: UseStreamChatOptions }
  /** The run that is shown now. Events of an older run are dropped. */
  #run: { handle?: ChatTransportRun | undefined } | undefined

  constructor(shown: ShownMessages, latest: { readonly current: UseStreamChatOptions }) {
    this.#shown = shown
    this.#latest = latest
  }

  setMessages(next: Parameters<UsedStreamChat['setMessages']>[0]): void {
    const before = this.#shown.messages
    this.#show({ messages: typeof next === 'function' ? next(before) : next })
  }

  send(text: string): void {
    if (this.#run) return
    this.#show({ messages: withUserMessage(this.#shown.messages, text) })
    const user = this.#shown.messages.at(-2)
    if (user) this.#latest.current.onMessage?.(user)
    this.#begin('starting', (transport, context) => transport.start({ message: text, context }))
  }

  /** Shows the run that the page had before it was opened again. */
  resume(): void {
    const { transportOptions = {} } = this.#latest.current
    const runId = runToResume(transportOptions)
    if (runId === undefined || this.#run) return
    const isWhole = replaysWhole(transportOptions)
    this.#show({ runId })
    this.#begin('resuming', (transport, context) => {
      if (isWhole) this.setMessages(withoutLastAnswer)
      return transport.resume?.({ runId, context })
    })
  }

  stop(): void {
    const { handle } = this.#run ?? {}
    if (!this.#run) return
    const { runId } = this.#shown
    this.#run = undefined
    void handle?.stop?.()
    this.#setRunId(null)
    this.#show({ isLoading: false })
    this.#tell('stopped', { runId, reason: 'user' })
  }

  /** The page goes away. A run in the background goes on, and its id stays known. */
  leave(): void {
    const { handle } = this.#run ?? {}
    if (!this.#run) return
    this.#run = undefined
    void handle?.close?.()
    this.#tell('stopped', { runId: this.#shown.runId, reason: 'unmount' })
  }

  #begin(
    status: 'starting' | 'resuming',
    begin: (transport: ChatTransport, context: ChatTransportContext) => ChatTransportRun | undefined,
  ): void {
    const { transport = 'sse', transportOptions = {}, api = '/api/chat', ...rest } = this.#latest.current
    const { headers, body, fetch } = rest
    const direct = { api, ...(headers && { headers }), ...(body && { body }), ...(fetch && { fetch }) }
    const run: { handle?: ChatTransportRun | undefined } = {}
    this.#run = run
    this.#show({ isLoading: true, error: null })
    this.#tell(status, { runId: this.#shown.runId })
    const context = this.#runContext(run)
    try {
      run.handle = begin(chooseTransport(transport, transportOptions, direct), context)
    } catch (cause) {
      context.fail(toError(cause))
    }
  }

  #runContext(run: object): ChatTransportContext {
    const ifShown =
      <Args extends unknown[]>(act: (...args: Args) => void) =>
      (...args: Args): void => {
        if (this.#run === run) act(...args)
      }
    return {
      emit: ifShown(event => this.#take(event)),
      finish: ifShown(() => this.#end(undefined)),
      fail: ifShown(error => this.#end(error)),
      ensureAssistantMessage: ifShown(() => this.setMessages(withAssistantMessage)),
      getMessages: () => this.#shown.messages,
      setRunId: ifShown(runId => this.#setRunId(runId)),
    }
  }

  #take(event: AnyDeltaKitEvent): void {
    if (event.type === 'run_started' && 'runId' in event && typeof event.runId === 'string')
      this.#setRunId(event.runId)
    const { onEvent } = this.#latest.current
    if (onEvent)
      onEvent(
        event,
        makeHelpers(next => this.setMessages(next)),
      )
    else this.setMessages(before => applyDeltaKit(before, event))
  }

  #end(error: Error | undefined): void {
    const { runId } = this.#shown
    const { onError, onMessage, onFinish } = this.#latest.current
    this.#run = undefined
    this.#setRunId(null)
    this.#show({ isLoading: false, ...(error && { error }) })
    if (error) {
      onError?.(error)
      this.#tell('error', { runId, error })
      return
    }
    const last = this.#shown.messages.at(-1)
    if (last?.role === 'assistant') onMessage?.(last)
    onFinish?.(this.#shown.messages)
    this.#tell('finished', { runId })
  }

  #setRunId(runId: string | null): void {
    if (runId === this.#shown.runId) return
    this.#show({ runId })
    const { transportOptions: { backgroundSSE, websocket } = {} } = this.#latest.current
    backgroundSSE?.onRunIdChange?.(runId)
    websocket?.onRunIdChange?.(runId)
  }

  #show(change: Partial<ShownMessages>): void {
    this.#shown = { ...this.#shown, ...change }
    this.onShow(this.#shown)
  }

  #tell(status: StreamStatus, context: Omit<StreamStatusContext, 'messages'>): void {
    this.#latest.current.onStatusChange?.(status, { messages: this.#shown.messages, ...context })
  }
}

/** The parts of the last answer are taken away: a run that is shown from its beginning brings them again. */
function withoutLastAnswer(messages: DeltaKitMessage[]): DeltaKitMessage[] {
  return withLastParts(messages, () => [])
}

function withLastParts(
  messages: DeltaKitMessage[],
  change: (parts: DeltaKitPart[]) => DeltaKitPart[],
): DeltaKitMessage[] {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return messages
  return [...messages.slice(0, -1), { ...last, parts: change(last.parts) }]
}

function makeHelpers(setMessages: EventHelpers['setMessages']): EventHelpers {
  return {
    appendText: delta => setMessages(before => applyDeltaKit(before, { type: 'text_delta', delta })),
    appendPart: part => setMessages(before => withLastParts(before, parts => [...parts, part])),
    setMessages,
  }
}
