// What a page does with one session, whatever library draws it: it follows the log into a view, sends what a person says and decides, and
// runs the page's own tools. It holds nothing that is drawn, and imports no such library: the hooks of React and Vue do.
import type {
  ApplicationMessage,
  ClientTool,
  Content,
  During,
  QuestionAnswer,
  TurnRequest,
} from '../client/index.ts'
import { runClientTool } from '../client/run-client-tool.ts'
import { permissionMessage } from '../client/run-turn.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { toError } from '../lib/text/error-message.ts'
import { type CallView, openCallViews, type SessionView } from './view.ts'
import type { ViewFold, WatchedItem } from './view-fold.ts'
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

export const nothingYet: Watching = { view: undefined, connection: 'connecting', error: undefined }

/** Follows the log until `signal` aborts. The view is set at most once per frame. Never rejects. */
export async function followView(
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

// ---- what a person does --------------------------------------------------------------------------------------

/** The methods of an AapClient that a page needs. */
export type SessionClient = WatchSource & {
  sendTurn(sessionId: string, request: TurnRequest, options?: { signal?: AbortSignal }): Promise<unknown>
  say(sessionId: string, content: string, options?: { during?: During }): Promise<unknown>
  withdraw(sessionId: string, messageId: string): Promise<void>
  cancelCall(sessionId: string, toolCallId: string, options?: { reason?: string }): Promise<void>
  reconcile(sessionId: string, toolCallId: string): Promise<'ran' | 'did-not-run' | 'unknown'>
  undo(sessionId: string, toolCallId: string): Promise<void>
  cancel(sessionId: string, options?: { withdraw?: boolean }): Promise<void>
}

/** A person's decision about a call. `edit`: other arguments than the model's. */
export type CallDecision = { granted: true; edit?: JsonObject | string } | { granted: false; reason?: string }

export type SessionActions = {
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
  decide: (callId: string, answer: CallDecision) => Promise<void>
  /** Answers a question of a running call, by the question's id. */
  answer: (questionId: string, answer: QuestionAnswer) => Promise<void>
  /** Gives the result of a call that waits for this page. */
  submit: (message: ApplicationMessage) => Promise<void>
}

/** Each rejects while there is no session; `cancel` does nothing then. */
export function sessionActions(client: SessionClient, currentId: () => string | undefined): SessionActions {
  const id = (): string => {
    const current = currentId()
    if (current === undefined) throw new Error('There is no session yet.')
    return current
  }
  const submit = async (message: ApplicationMessage): Promise<void> => {
    const left = new AbortController()
    await client.sendTurn(id(), { messages: [message], stream: 'message' }, { signal: left.signal })
    // It was accepted. Its effects come through the log, which is watched already.
    left.abort()
  }
  return {
    submit,
    send: async (text, during) => {
      await client.say(id(), text, during && { during })
    },
    withdraw: async messageId => client.withdraw(id(), messageId),
    cancelCall: async (callId, reason) =>
      client.cancelCall(id(), callId, reason === undefined ? {} : { reason }),
    reconcile: async callId => client.reconcile(id(), callId),
    undo: async callId => client.undo(id(), callId),
    cancel: async options => {
      if (currentId() !== undefined) await client.cancel(id(), options)
    },
    decide: (callId, answer) => submit(toPermission(callId, answer)),
    answer: (questionId, answer) => submit({ role: 'tool_answer', questionId, ...answer }),
  }
}

function toPermission(toolCallId: string, answer: CallDecision): ApplicationMessage {
  if (!answer.granted) return permissionMessage(toolCallId, { ...answer, granted: false })
  const { edit } = answer
  const input: JsonObject | undefined = typeof edit === 'string' ? { input: edit } : edit
  return permissionMessage(toolCallId, { granted: true, ...(input && { input }) })
}

// ---- the page's own tools ------------------------------------------------------------------------------------

/** By the names under which the session declares them. One tab of a page runs each call. */
export type PageTools = Readonly<Record<string, ClientTool>>

/** Calls that wait for a person. */
export function waitingForPerson(view: SessionView | undefined): CallView[] {
  return view ? [...openCallViews(view)].filter(call => call.status === 'waiting') : []
}

/** Runs the calls that wait for this page. `begun` has those that are at work, so that each is run once. */
export function runPageTools(
  view: SessionView,
  tools: PageTools,
  begun: Set<string>,
  submit: (message: { role: 'tool'; toolCallId: string; content: Content }) => Promise<unknown>,
): void {
  for (const call of openCallViews(view)) {
    const tool = call.status === 'client' && Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
    if (!tool || begun.has(call.id)) continue
    begun.add(call.id)
    // Another tab may have it, or may have answered already: its answer is in the log.
    onlyHere(call.id, () =>
      runHere(tool, call).then(content => submit({ role: 'tool', toolCallId: call.id, content })),
    ).catch(() => void begun.delete(call.id))
  }
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
