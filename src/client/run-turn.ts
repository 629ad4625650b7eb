// A turn to its end: the application's own tools are run, people are asked about the others, and everything is sent
// back in one step, again and again until the model has answered. It adds nothing to what the client can do by hand.
import type { Json, JsonObject } from '../lib/json.ts'
import type { AapClient, TurnRequest } from './client.ts'
import { AapError } from './errors.ts'
import type {
  AgentMessage,
  ApplicationMessage,
  Content,
  StopReason,
  StreamMode,
  ToolCall,
  ToolMessage,
  ToolPermissionMessage,
  TurnEvent,
} from './types.ts'

/** Gives text, blocks, or any JSON value. What it throws is told to the model as a failure. */
export type ClientTool = (input: JsonObject, call: ToolCall & { signal: AbortSignal }) => unknown

export type Permission = boolean | { granted: boolean; reason?: string; input?: JsonObject }

export type RunTurnOptions = {
  sessionId: string
  /** What the user says; or `messages` for anything else that a turn takes. */
  text?: string
  messages?: ApplicationMessage[]
  /** Goes on with a turn that stopped: these calls are answered first (see `pendingCalls`). */
  pending?: readonly ToolCall[]
  /** The application's own tools, by the names under which the session declares them. */
  tools?: Readonly<Record<string, ClientTool>>
  /** Asked for each call of a server tool that may not run by itself, one at a time. Without it the turn stops there. */
  onPermission?: (call: ToolCall, signal: AbortSignal) => Permission | Promise<Permission>
  onEvent?: (event: TurnEvent) => void
  /** Told what came of an own tool, before it is sent. */
  onResult?: (call: ToolCall, content: Content, failed: boolean) => void
  stream?: StreamMode
  overrides?: Pick<TurnRequest, 'agent' | 'tools'>
  /** Cancels the turn at the server; what has happened until then is still given. */
  signal?: AbortSignal
  /** How often it may go back and forth. Default 100. */
  rounds?: number
}

export type RunTurnResult = {
  stopReason: StopReason | 'cancelled'
  /** With `error`, and with a limit of the server, what it says of that. */
  error?: string
  code?: string
  limit?: string
  messages: AgentMessage[]
  /** With `tool_use`: what is left for the caller to answer. */
  pending: ToolCall[]
}

export async function runTurn(client: AapClient, options: RunTurnOptions): Promise<RunTurnResult> {
  const { sessionId, signal = new AbortController().signal } = options
  const run = new Run(client, { ...options, signal })
  let cancelling: Promise<void> | undefined
  const cancel = (): void => {
    cancelling = cancelTurn(client, sessionId)
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const result = signal.aborted ? undefined : await untilOver(run, options)
    // Not before the server has it on record: whoever leaves now leaves nothing running.
    await cancelling
    return result ?? { stopReason: 'cancelled', messages: run.messages, pending: [] }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancelling?.catch(() => {})
  }
}

/** A server that knows no such thing is left to finish by itself. */
async function cancelTurn(client: AapClient, sessionId: string): Promise<void> {
  try {
    await client.cancel(sessionId)
  } catch (error) {
    if (!(error instanceof AapError && (error.status === 404 || error.status === 405))) throw error
  }
}

/** Undefined: it was cancelled. */
async function untilOver(run: Run, options: RunTurnOptions): Promise<RunTurnResult | undefined> {
  const { rounds = 100, signal } = options
  let messages = await run.open()
  let pending = [...(options.pending ?? [])]
  for (let round = 1; ; round += 1) {
    if (signal?.aborted) return undefined
    if (messages === undefined) return { stopReason: 'tool_use', messages: run.messages, pending }
    const sent = await run.send(messages, round === 1)
    if (signal?.aborted) return undefined
    pending = sent.pending
    if (sent.stopReason !== 'tool_use' || pending.length === 0 || round >= rounds)
      return { ...sent, messages: run.messages }
    messages = await run.answer(pending)
  }
}

class Run {
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
    const { messages, pending, text = '' } = this.#options
    if (messages) return messages
    return pending ? this.answer(pending) : [{ role: 'user', content: text }]
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
    const { messages: said, asks = [], ...stop } = await turn.answer()
    this.messages.push(...said)
    const asked = new Map(asks.map(ask => [ask.toolCallId, ask]))
    const pending = [...this.#open.values()].map(call => ({ ...call, ...asked.get(call.toolCallId) }))
    // Some servers keep the result of a granted call to themselves: what was decided is not asked again.
    this.#open.clear()
    return { ...stop, pending }
  }

  /** All answers for one request, or undefined when one of them is not ours to give. */
  async answer(pending: readonly ToolCall[]): Promise<ApplicationMessage[] | undefined> {
    const { tools = {}, onPermission, signal } = this.#options
    const own: ToolCall[] = []
    const others: ToolCall[] = []
    for (const call of pending) (Object.hasOwn(tools, call.name) ? own : others).push(call)
    for (const call of others) if (!onPermission || (await this.#isClients(call.name))) return undefined
    const results = Promise.all(own.map(call => this.#run(call)))
    const permissions: ToolPermissionMessage[] = []
    for (const call of others) {
      if (signal.aborted) break
      permissions.push(permissionOf(call, await onPermission!(call, signal)))
    }
    return [...(await results), ...permissions]
  }

  /** The session may declare a tool that this caller has no function for: that is no question of permission. */
  async #isClients(name: string): Promise<boolean> {
    if (!this.#declared) {
      const { tools = [] } = await this.#client.getSession(this.#options.sessionId)
      this.#declared = new Set(tools.map(tool => tool.name))
    }
    return this.#declared.has(name)
  }

  async #run(call: ToolCall): Promise<ToolMessage> {
    const { tools = {}, signal, onResult } = this.#options
    const { content, failed } = await carryOut(tools[call.name]!, call, signal)
    onResult?.(call, content, failed)
    return { role: 'tool', toolCallId: call.toolCallId, content }
  }
}

async function carryOut(
  tool: ClientTool,
  call: ToolCall,
  signal: AbortSignal,
): Promise<{ content: Content; failed: boolean }> {
  try {
    return { content: contentOf(await tool(call.input, { ...call, signal })), failed: false }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    return { content: `The tool failed: ${words}`, failed: true }
  }
}

function contentOf(value: unknown): Content {
  if (typeof value === 'string') return value
  if (value === undefined) return '(no output)'
  // Blocks are recognised by the shape that the protocol gives them; any other value goes as JSON.
  if (Array.isArray(value) && value.length > 0 && value.every(isBlock)) return value as Content
  return JSON.stringify(value) ?? '(no output)'
}

function isBlock(value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return (
    (value['type'] === 'text' && typeof value['text'] === 'string') ||
    (value['type'] === 'image' && typeof value['url'] === 'string')
  )
}

function permissionOf({ toolCallId }: ToolCall, permission: Permission): ToolPermissionMessage {
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
