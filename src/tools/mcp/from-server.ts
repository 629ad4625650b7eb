// A server's own requests while a call runs: a person's answer, a model's answer, the folders it may work in; and its
// log messages. A question belongs to the call during which it came. If calls of several sessions run on one
// connection, the call cannot be told: the question is refused, because it must not reach another session.
import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  Client,
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitRequestParams,
  ElicitResult,
} from '@modelcontextprotocol/client'
import type { ToolContext } from '../../engine/ports/index.ts'
import type { FormSchema } from '../../language/questions.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import type { McpOptions } from './index.ts'
import { sample } from './sampling.ts'
import { tasksExtension } from './task.ts'

export class RunningCalls {
  readonly #calls = new Set<ToolContext>()
  readonly #current = new AsyncLocalStorage<ToolContext>()
  /** By the id of an address that a person was asked to open: the callback for when the server says that it is done. */
  readonly #opened = new Map<string, () => void>()

  /** Runs one call. Requests of the server on the same stream, or in the same round trip, are assigned to it. */
  async run<Result>(context: ToolContext, act: () => Promise<Result>): Promise<Result> {
    this.#calls.add(context)
    try {
      return await this.#current.run(context, act)
    } finally {
      this.#calls.delete(context)
    }
  }

  /** Resolves when the server says that one of these addresses was dealt with, or after `otherwise`. */
  async completed(ids: readonly string[], otherwise: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const id of ids) this.#opened.set(id, resolve)
    try {
      await Promise.race([promise, otherwise])
    } finally {
      for (const id of ids) if (this.#opened.get(id) === resolve) this.#opened.delete(id)
    }
  }

  complete(id: string): void {
    this.#opened.get(id)?.()
    this.#opened.delete(id)
  }

  /** The call that a question belongs to: the newest one, if all that run are of one session. */
  current(): ToolContext | undefined {
    const known = this.#current.getStore()
    if (known && this.#calls.has(known)) return known
    const calls = [...this.#calls]
    return new Set(calls.map(({ session }) => session)).size === 1 ? calls.at(-1) : undefined
  }
}

export function clientCapabilities({ elicit, elicitModes, roots, sampling }: McpOptions): ClientCapabilities {
  const modes = elicitationModes({ ...(elicit && { elicit }), ...(elicitModes && { elicitModes }) })
  return {
    ...(modes.length > 0 && {
      elicitation: Object.fromEntries(modes.map(mode => [mode, modeSettings[mode] ?? {}])),
    }),
    ...(roots && { roots: {} }),
    ...(sampling && { sampling: {} }),
    extensions: { [tasksExtension]: {} },
  }
}

export function elicitationModes({
  elicit,
  elicitModes,
}: Pick<McpOptions, 'elicit' | 'elicitModes'>): readonly string[] {
  return elicitModes ?? (elicit ? ['form'] : ['form', 'url'])
}

/** Members that a person left out get the defaults that the form names. */
const modeSettings: Record<string, JsonObject> = { form: { applyDefaults: true }, url: {} }

export function handleRequests(
  client: Client,
  server: string,
  options: McpOptions,
  calls: RunningCalls,
): void {
  const { roots, sampling, log } = options
  if (elicitationModes(options).length > 0) {
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
      answerQuestion(params, { server, options, calls, signal: mcpReq.signal }),
    )
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
      calls.complete(params.elicitationId),
    )
  }
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: listed(roots) }))
  if (sampling)
    client.setRequestHandler(
      'sampling/createMessage',
      ({ params }, { mcpReq }): Promise<CreateMessageResult | CreateMessageResultWithTools> =>
        sample(params satisfies CreateMessageRequestParams, {
          server,
          settings: sampling,
          context: calls.current(),
          signal: mcpReq.signal,
          log,
        }),
    )
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    const fields = {
      server,
      level,
      text: printable(text ?? '', 500),
      ...(logger && { logger: printable(logger, 80) }),
    }
    log?.(levels[level] ?? 'info', 'An MCP server sent a log message.', fields)
  })
}

function listed(roots: NonNullable<McpOptions['roots']>): { uri: string; name?: string }[] {
  return roots.map(({ uri, name }) => (name === undefined ? { uri } : { uri, name }))
}

/** Answers a request of a task. Throws if the server was not offered this kind of request. */
export async function answerRequest(
  method: string,
  params: JsonObject,
  asked: Asked & { context: ToolContext },
): Promise<JsonObject> {
  const { options, server, signal, context } = asked
  const { roots, sampling, log } = options
  // The values were parsed from JSON and may not fit the SDK's types. The functions that use them refuse such values.
  if (method === 'elicitation/create' && elicitationModes(options).length > 0)
    return (await answerQuestion(params as unknown as ElicitRequestParams, asked)) as JsonObject
  if (method === 'roots/list' && roots) return { roots: listed(roots) }
  if (method === 'sampling/createMessage' && sampling) {
    const wanted = params as unknown as CreateMessageRequestParams
    const answer = await sample(wanted, { server, settings: sampling, context, signal, log })
    return answer as unknown as JsonObject
  }
  throw new Error(
    `The MCP server "${server}" asks for ${printable(method, 100)}, which was not offered to it.`,
  )
}

type Asked = { server: string; options: McpOptions; calls: RunningCalls; signal: AbortSignal }

export async function answerQuestion(
  question: ElicitRequestParams,
  { server, options: { elicit, log }, calls, signal }: Asked,
): Promise<ElicitResult> {
  const context = calls.current()
  if (elicit) return elicit(question, { ...(context && { callId: context.callId }), signal })
  if (context) return askPerson(question, server, context, signal)
  log?.(
    'warn',
    'A question of an MCP server belongs to no call that can be named. It was answered with cancel.',
    {
      server,
    },
  )
  return { action: 'cancel' }
}

/**
 * Asks a person durably, on every wire that can show it. The message names the server, since a form or an address does not show
 * where it comes from. Throws if the question is no valid form and no http address.
 */
async function askPerson(
  question: ElicitRequestParams,
  server: string,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const message = `The MCP server "${server}" asks: ${printable(question.message, 5_000)}`
  const asked =
    question.mode === 'url'
      ? { message, url: question.url }
      : // It is checked by `ask`, which throws at what is no form.
        { message, schema: question.requestedSchema as unknown as FormSchema }
  const answer = await context.ask(asked, { signal })
  if (answer.action !== 'accept') return { action: answer.action }
  return answer.content ? { action: 'accept', content: answer.content } : { action: 'accept' }
}

const levels: Record<string, 'info' | 'warn' | 'error'> = {
  warning: 'warn',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
}
