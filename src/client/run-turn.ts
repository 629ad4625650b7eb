// Runs a turn to its end: runs the application's tools, asks for permission for the server's, sends all answers back in
// one request, and repeats until the model has answered. It uses only the client's public methods.
import type { JsonObject } from '../lib/json/index.ts'
import type { AapClient, TurnRequest } from './client.ts'
import { AapError } from './errors.ts'
import { type ClientTool, runClientTool } from './run-client-tool.ts'
import type {
  AgentMessage,
  ApplicationMessage,
  Content,
  QuestionAnswer,
  StopReason,
  StreamMode,
  ToolAnswerMessage,
  ToolCall,
  ToolMessage,
  ToolPermissionMessage,
  ToolQuestion,
  TurnEvent,
} from './types.ts'

export type { ClientTool } from './run-client-tool.ts'

export type Permission = boolean | { granted: boolean; reason?: string; input?: JsonObject }

export type RunTurnOptions = {
  sessionId: string
  /** The user's message. Or use `messages` for any other input of a turn. */
  text?: string
  messages?: ApplicationMessage[]
  /** Continues a turn that stopped: these calls are answered first (see `pendingCalls`). */
  pending?: readonly ToolCall[]
  /** The questions that the turn stopped for: they are answered first. */
  questions?: readonly ToolQuestion[]
  /** The application's own tools, by the names under which the session declares them. */
  tools?: Readonly<Record<string, ClientTool>>
  /** Called for each call of a server tool that needs a permission, one at a time. Without it the turn stops there. */
  onPermission?: (call: ToolCall, signal: AbortSignal) => Permission | Promise<Permission>
  /** Called for each question of a running call, one at a time. Without it the turn stops there. */
  onQuestion?: (question: ToolQuestion, signal: AbortSignal) => QuestionAnswer | Promise<QuestionAnswer>
  onEvent?: (event: TurnEvent) => void
  /** Called with the result of one of the application's tools, before it is sent. */
  onResult?: (call: ToolCall, content: Content, failed: boolean) => void
  stream?: StreamMode
  overrides?: Pick<TurnRequest, 'agent' | 'tools'>
  /** Cancels the turn at the server. The result still holds the messages so far. */
  signal?: AbortSignal
  /** The most requests that one turn may take. Default 100. */
  rounds?: number
}

export type RunTurnResult = {
  stopReason: StopReason | 'cancelled'
  /** Details from the server: `error` and `code` after a failure, `limit` if one of its limits ended the turn. */
  error?: string
  code?: string
  limit?: string
  messages: AgentMessage[]
  /** With `tool_use`: the calls that the caller has to answer. */
  pending: ToolCall[]
  /** With `tool_use`: the questions of running calls that the caller has to answer. */
  questions: ToolQuestion[]
}

export async function runTurn(client: AapClient, options: RunTurnOptions): Promise<RunTurnResult> {
  const { sessionId, signal = new AbortController().signal } = options
  const run = new TurnRun(client, { ...options, signal })
  let cancelling: Promise<void> | undefined
  const cancel = (): void => {
    cancelling = cancelTurn(client, sessionId)
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const result = signal.aborted ? undefined : await untilOver(run, options)
    // Wait until the server has recorded the cancellation, so that nothing is left running.
    await cancelling
    return result ?? { stopReason: 'cancelled', messages: run.messages, pending: [], questions: [] }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancelling?.catch(() => {})
  }
}

/** A server without this endpoint finishes the turn by itself. */
async function cancelTurn(client: AapClient, sessionId: string): Promise<void> {
  try {
    await client.cancel(sessionId)
  } catch (error) {
    if (!(error instanceof AapError && (error.status === 404 || error.status === 405))) throw error
  }
}

/** Undefined: it was cancelled. */
async function untilOver(run: TurnRun, options: RunTurnOptions): Promise<RunTurnResult | undefined> {
  const { rounds = 100, signal } = options
  let messages = await run.open()
  let waits: Waits = { pending: [...(options.pending ?? [])], questions: [...(options.questions ?? [])] }
  for (let round = 1; ; round += 1) {
    if (signal?.aborted) return undefined
    if (messages === undefined) return { stopReason: 'tool_use', messages: run.messages, ...waits }
    const sent = await run.send(messages, round === 1)
    if (signal?.aborted) return undefined
    waits = { pending: sent.pending, questions: sent.questions }
    const isOver = waits.pending.length + waits.questions.length === 0
    if (sent.stopReason !== 'tool_use' || isOver || round >= rounds)
      return { ...sent, messages: run.messages }
    messages = await run.answer(waits)
  }
}

type Waits = Pick<RunTurnResult, 'pending' | 'questions'>

class TurnRun {
  readonly #client: AapClient
  readonly #options: RunTurnOptions & { signal: AbortSignal }
  readonly messages: AgentMessage[] = []
  #declared: Set<string> | undefined
  readonly #open = new Map<string, ToolCall>()

  constructor(client: AapClient, options: RunTurnOptions & { signal: AbortSignal }) {
    this.#client = client
    this.#options = options
  }

  async open(): Promise<ApplicationMessage[] | undefined> {
    const { messages, pending, questions, text = '' } = this.#options
    if (messages) return messages
    if (!pending && !questions) return [{ role: 'user', content: text }]
    return this.answer({ pending: [...(pending ?? [])], questions: [...(questions ?? [])] })
  }

  async send(
    messages: ApplicationMessage[],
    first: boolean,
  ): Promise<Omit<RunTurnResult, 'messages'> & { stopReason: StopReason }> {
    const { sessionId, stream = 'delta', overrides = {}, onEvent } = this.#options
    const turn = await this.#client.sendTurn(sessionId, { messages, stream, ...(first && overrides) })
    for (const message of messages) if (message.role === 'tool') this.#open.delete(message.toolCallId)
    for await (const event of turn) {
      if (event.event === 'tool_call') {
        const { toolCallId, name, input } = event
        this.#open.set(toolCallId, { toolCallId, name, input })
      } else if (event.event === 'tool_result') this.#open.delete(event.toolCallId)
      onEvent?.(event)
    }
    const { messages: received, asks = [], questions = [], ...stop } = await turn.answer()
    this.messages.push(...received)
    const reasons = new Map(asks.map(question => [question.toolCallId, question]))
    const running = new Set(questions.map(({ toolCallId }) => toolCallId))
    const pending = [...this.#open.values()]
      .filter(({ toolCallId }) => !running.has(toolCallId))
      .map(call => ({ ...call, ...reasons.get(call.toolCallId) }))
    // Some servers do not send the result of a granted call. Forget it, so that it is not asked about again.
    this.#open.clear()
    return { ...stop, pending, questions }
  }

  /** The answers to all of these, or undefined when the caller has to answer one of them. */
  async answer({ pending, questions }: Waits): Promise<ApplicationMessage[] | undefined> {
    const { tools = {}, onPermission, onQuestion, signal } = this.#options
    if (questions.length > 0 && !onQuestion) return undefined
    const own: ToolCall[] = []
    const others: ToolCall[] = []
    for (const call of pending) (Object.hasOwn(tools, call.name) ? own : others).push(call)
    for (const call of others) if (!onPermission || (await this.#isClientTool(call.name))) return undefined
    const results = Promise.all(own.map(call => this.#run(call)))
    const permissions: ToolPermissionMessage[] = []
    for (const call of others) {
      if (signal.aborted) break
      permissions.push(permissionMessage(call.toolCallId, await onPermission!(call, signal)))
    }
    const answers: ToolAnswerMessage[] = []
    for (const question of questions) {
      if (signal.aborted) break
      const { questionId } = question
      answers.push({ role: 'tool_answer', questionId, ...(await onQuestion!(question, signal)) })
    }
    return [...(await results), ...permissions, ...answers]
  }

  /** Whether the session declares a client tool of this name. Such a call needs a result, not a permission. */
  async #isClientTool(name: string): Promise<boolean> {
    if (!this.#declared) {
      const { tools = [] } = await this.#client.getSession(this.#options.sessionId)
      this.#declared = new Set(tools.map(tool => tool.name))
    }
    return this.#declared.has(name)
  }

  async #run(call: ToolCall): Promise<ToolMessage> {
    const { tools = {}, signal, onResult } = this.#options
    const { content, failed } = await runClientTool(tools[call.name]!, call, signal)
    onResult?.(call, content, failed)
    return { role: 'tool', toolCallId: call.toolCallId, content }
  }
}

export function permissionMessage(toolCallId: string, permission: Permission): ToolPermissionMessage {
  if (typeof permission === 'boolean') return { role: 'tool_permission', toolCallId, granted: permission }
  const { granted, reason, input } = permission
  return {
    role: 'tool_permission',
    toolCallId,
    granted,
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(granted && input && { input }),
  }
}
