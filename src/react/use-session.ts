// One session, live: its view, and the actions of a person. The page needs only the session's id: after a reload or a
// restart of the server everything comes from the log, including calls that still wait.
import { useCallback, useEffect, useRef, useState } from 'react'
import type { ApplicationMessage, ClientTool, Content, During, TurnRequest } from '../client/index.ts'
import { runClientTool } from '../client/run-client-tool.ts'
import { permissionMessage } from '../client/run-turn.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { toError } from '../lib/text/error-message.ts'
import type { ApprovalAnswer } from './approval.tsx'
import type { CallView, SessionView } from './view.ts'
import { openCallViews } from './view.ts'
import { ViewFold, type WatchedItem } from './view-fold.ts'
import { parseCallArguments } from './words.ts'

/** The source of a session's log: an AapClient, or an OperatorClient. */
export type WatchSource = {
  watch(
    sessionId: string,
    options: { after?: number; signal?: AbortSignal; onState?: (state: SessionConnection) => void },
  ): AsyncIterable<WatchedItem>
}
export type SessionConnection = 'connecting' | 'live' | 'broken'

export type Watching = {
  view: SessionView | undefined
  connection: SessionConnection
  error: Error | undefined
}

/** The view of a session, drawn at most once per frame. `paused`: closes the stream; it continues where it was. */
export function useSessionView(source: WatchSource, sessionId: string | undefined, paused = false): Watching {
  const [state, setState] = useState<Watching>(nothing)
  const fold = useRef<{ id: string | undefined; fold: ViewFold }>(undefined)
  useEffect(() => {
    if (fold.current?.id !== sessionId) {
      fold.current = { id: sessionId, fold: new ViewFold() }
      setState(nothing)
    }
    if (sessionId === undefined || paused) return undefined
    const stop = new AbortController()
    const own = fold.current?.fold ?? new ViewFold()
    void pump(source, sessionId, own, stop.signal, setState)
    return () => stop.abort()
  }, [source, sessionId, paused])
  return state
}

const nothing: Watching = { view: undefined, connection: 'connecting', error: undefined }

async function pump(
  source: WatchSource,
  sessionId: string,
  fold: ViewFold,
  signal: AbortSignal,
  set: (update: (before: Watching) => Watching) => void,
): Promise<void> {
  let isDue = false
  let connection: SessionConnection = 'connecting'
  const draw = (): void => {
    if (isDue || signal.aborted) return
    isDue = true
    nextFrame(() => {
      isDue = false
      if (!signal.aborted) set(before => ({ ...before, view: fold.snapshot(), connection, error: undefined }))
    })
  }
  const onState = (state: SessionConnection): void => {
    connection = state
    if (!signal.aborted) set(before => ({ ...before, connection }))
  }
  try {
    for await (const item of source.watch(sessionId, { after: fold.seq, signal, onState })) {
      connection = 'live'
      fold.take(item)
      draw()
    }
  } catch (cause) {
    const error = toError(cause)
    if (!signal.aborted) set(before => ({ ...before, connection: 'broken', error }))
  }
}

/** Hidden pages draw no frames: there a timer stands in. */
function nextFrame(draw: () => void): void {
  let isDone = false
  const once = (): void => {
    if (isDone) return
    isDone = true
    draw()
  }
  requestAnimationFrame(once)
  setTimeout(once, 100)
}

// ---- over the Agent Application Protocol ---------------------------------------------------------------------

/** The methods of an AapClient that `useSession` needs. */
export type SessionClient = WatchSource & {
  sendTurn(sessionId: string, request: TurnRequest, options?: { signal?: AbortSignal }): Promise<unknown>
  say(sessionId: string, content: string, options?: { during?: During }): Promise<unknown>
  withdraw(sessionId: string, messageId: string): Promise<void>
  cancelCall(sessionId: string, toolCallId: string, options?: { reason?: string }): Promise<void>
  reconcile(sessionId: string, toolCallId: string): Promise<'ran' | 'did-not-run' | 'unknown'>
  undo(sessionId: string, toolCallId: string): Promise<void>
  cancel(sessionId: string, options?: { withdraw?: boolean }): Promise<void>
}

export type UseSessionOptions = {
  /** The page's own tools, by the names under which the session declares them. One tab of a page runs each call. */
  tools?: Readonly<Record<string, ClientTool>>
}

export type UsedSession = Watching & {
  /** Calls that wait for a person. */
  approvals: CallView[]
  /** `during`: what becomes of it while a turn is under way. Those that wait are in `view.messages`. */
  send: (text: string, during?: During) => Promise<void>
  /** Takes back a message that waits. */
  withdraw: (messageId: string) => Promise<void>
  cancel: (options?: { withdraw?: boolean }) => Promise<void>
  /** Stops one call. The turn goes on. */
  cancelCall: (callId: string, reason?: string) => Promise<void>
  /** What became of a call that may have taken effect. */
  reconcile: (callId: string) => Promise<'ran' | 'did-not-run' | 'unknown'>
  /** Has a call undone, by a call of its own, which may have to be approved. */
  undo: (callId: string) => Promise<void>
  decide: (callId: string, answer: ApprovalAnswer) => Promise<void>
}

export function useSession(
  client: SessionClient,
  sessionId: string | undefined,
  { tools }: UseSessionOptions = {},
): UsedSession {
  const watching = useSessionView(client, sessionId)
  const submit = useCallback(
    async (message: ApplicationMessage) => {
      if (sessionId === undefined) throw new Error('There is no session yet.')
      const left = new AbortController()
      await client.sendTurn(sessionId, { messages: [message], stream: 'message' }, { signal: left.signal })
      // It was accepted. Its effects come through the log, which is watched already.
      left.abort()
    },
    [client, sessionId],
  )
  const { view } = watching
  useClientTools(view, tools, submit)
  return {
    ...watching,
    approvals: view ? [...openCallViews(view)].filter(call => call.status === 'waiting') : [],
    ...useActions(client, sessionId),
    decide: useCallback((callId, answer) => submit(toPermission(callId, answer)), [submit]),
  }
}

function useActions(
  client: SessionClient,
  sessionId: string | undefined,
): Pick<UsedSession, 'send' | 'withdraw' | 'cancel' | 'cancelCall' | 'reconcile' | 'undo'> {
  const id = useCallback(() => {
    if (sessionId === undefined) throw new Error('There is no session yet.')
    return sessionId
  }, [sessionId])
  return {
    send: useCallback(
      async (text, during) => {
        await client.say(id(), text, during && { during })
      },
      [client, id],
    ),
    withdraw: useCallback(async messageId => client.withdraw(id(), messageId), [client, id]),
    cancelCall: useCallback(
      async (callId, reason) => client.cancelCall(id(), callId, reason === undefined ? {} : { reason }),
      [client, id],
    ),
    reconcile: useCallback(async callId => client.reconcile(id(), callId), [client, id]),
    undo: useCallback(async callId => client.undo(id(), callId), [client, id]),
    cancel: useCallback(
      async options => {
        if (sessionId !== undefined) await client.cancel(sessionId, options)
      },
      [client, sessionId],
    ),
  }
}

function toPermission(toolCallId: string, answer: ApprovalAnswer): ApplicationMessage {
  if (!answer.granted) return permissionMessage(toolCallId, { ...answer, granted: false })
  const { edit } = answer
  const input: JsonObject | undefined = typeof edit === 'string' ? { input: edit } : edit
  return permissionMessage(toolCallId, { granted: true, ...(input && { input }) })
}

/** Runs the calls that wait for this page, each once. */
export function useClientTools(
  view: SessionView | undefined,
  tools: Readonly<Record<string, ClientTool>> | undefined,
  submit: (message: { role: 'tool'; toolCallId: string; content: Content }) => Promise<unknown>,
): void {
  const begun = useRef(new Set<string>())
  const calls = view && tools ? [...openCallViews(view)].filter(call => call.status === 'client') : []
  useEffect(() => {
    for (const call of calls) {
      const tool = tools && Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
      if (!tool || begun.current.has(call.id)) continue
      begun.current.add(call.id)
      // Another tab may have it, or may have answered already: its answer is in the log.
      onlyHere(call.id, () =>
        runHere(tool, call).then(content => submit({ role: 'tool', toolCallId: call.id, content })),
      ).catch(() => void begun.current.delete(call.id))
    }
  })
}

async function runHere(tool: ClientTool, call: CallView): Promise<Content> {
  const value = parseCallArguments(call)
  const input = isJsonObject(value) ? value : { input: call.text }
  const { id: toolCallId, name } = call
  const { content } = await runClientTool(tool, { toolCallId, name, input }, new AbortController().signal)
  return content
}

/** Among the tabs of one origin, the first that asks does it; the others leave it. */
async function onlyHere(callId: string, work: () => Promise<unknown>): Promise<void> {
  if (!globalThis.navigator?.locks) {
    await work()
    return
  }
  await navigator.locks.request(`turnwire-call-${callId}`, { ifAvailable: true }, async lock => {
    if (lock) await work()
  })
}
