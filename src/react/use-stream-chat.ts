// DeltaKit's hook with its own names, options and behaviour, on Turnwire's DeltaKit wire: `messages` made of parts
// (`ToolCallPart` and the others), `onEvent` with helpers that replaces the default handling, `stop`. Without `onEvent` it
// shows text, reasoning, calls, results and calls that wait, which DeltaKit's default does not.
import { useCallback, useEffect, useRef, useState } from 'react'
import {
  type AnyDeltaKitEvent,
  applyDeltaKit,
  type DeltaKitMessage,
  type DeltaKitPart,
  parseDeltaKit,
  withUserMessage,
} from '../client/deltakit.ts'

export type EventHelpers = {
  /** Extends the last part if it is text, else begins a text part. */
  appendText: (delta: string) => void
  appendPart: (part: DeltaKitPart) => void
  setMessages: (update: (messages: DeltaKitMessage[]) => DeltaKitMessage[]) => void
}

export type UseStreamChatOptions = {
  /** Default `/api/chat`. */
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

export function useStreamChat(options: UseStreamChatOptions = {}): UsedStreamChat {
  const latest = useRef(options)
  latest.current = options
  const messages = useRef(options.initialMessages ?? [])
  const [shown, setShown] = useState(messages.current)
  const [isLoading, setLoading] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [runId, setRunId] = useState<string | null>(null)
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const setMessages = useCallback<UsedStreamChat['setMessages']>(next => {
    messages.current = typeof next === 'function' ? next(messages.current) : next
    setShown(messages.current)
  }, [])
  const stop = useCallback(() => {
    running.current?.abort()
    running.current = undefined
    setLoading(false)
  }, [])
  const finish = useCallback((run: AbortController, failure: Error | undefined) => {
    if (run.signal.aborted || running.current !== run) return
    running.current = undefined
    setLoading(false)
    setRunId(null)
    if (failure) {
      setError(failure)
      latest.current.onError?.(failure)
      return
    }
    const last = messages.current.at(-1)
    if (last) latest.current.onMessage?.(last)
    latest.current.onFinish?.(messages.current)
  }, [])
  const sendMessage = useCallback(
    (text: string) => {
      if (running.current) return
      const run = new AbortController()
      running.current = run
      setMessages(before => withUserMessage(before, text))
      setLoading(true)
      setError(null)
      const user = messages.current.at(-2)
      if (user) latest.current.onMessage?.(user)
      const take = (event: AnyDeltaKitEvent): void => {
        if (event.type === 'run_started' && 'runId' in event && typeof event.runId === 'string')
          setRunId(event.runId)
        const { onEvent } = latest.current
        if (onEvent) onEvent(event, helpersOf(setMessages))
        else setMessages(before => applyDeltaKit(before, event))
      }
      readAnswer(text, latest.current, take, run.signal).then(
        () => finish(run, undefined),
        (cause: unknown) => finish(run, cause instanceof Error ? cause : new Error(String(cause))),
      )
    },
    [setMessages, finish],
  )
  return { messages: shown, isLoading, error, runId, sendMessage, stop, setMessages }
}

async function readAnswer(
  message: string,
  { api = '/api/chat', headers, body, fetch = globalThis.fetch }: UseStreamChatOptions,
  take: (event: AnyDeltaKitEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(api, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ message, ...body }),
    signal,
  })
  if (!response.ok) throw new Error(`SSE request failed: ${response.status} ${response.statusText}`)
  if (!response.body) throw new Error('Response body is null')
  for await (const event of parseDeltaKit(response.body, signal)) take(event)
}

function helpersOf(setMessages: UsedStreamChat['setMessages']): EventHelpers {
  const onLast = (change: (parts: DeltaKitPart[]) => DeltaKitPart[]): void =>
    setMessages(before => {
      const last = before.at(-1)
      return last?.role === 'assistant'
        ? [...before.slice(0, -1), { ...last, parts: change(last.parts) }]
        : before
    })
  return {
    appendText: delta =>
      onLast(parts => {
        const last = parts.at(-1)
        return last?.type === 'text'
          ? [...parts.slice(0, -1), { ...last, text: last.text + delta }]
          : [...parts, { type: 'text', text: delta }]
      }),
    appendPart: part => onLast(parts => [...parts, part]),
    setMessages,
  }
}
