// A session for programs in the same process: say something, get the reply, answer what it waits for. It commands
// the engine as any wire does.

import type {
  Agent,
  Answers,
  CallState,
  FeedItem,
  OpenSessions,
  Session,
  SessionState,
  Vault,
} from '../engine/index.ts'
import { type InputPart, type ResultPart, textOf } from '../language/content.ts'
import { TurnwireError } from '../language/errors.ts'
import type { OptionValue, Settings, TurnStop } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { inspectSchema } from '../lib/schema.ts'
import { type AnySchema, describeSchema } from '../lib/standard-schema.ts'

/** A tool that the calling program runs itself: the turn stops for it. */
export type OwnTool = { name: string; title?: string; description: string; input: AnySchema }

export type ConversationOptions = {
  owner?: string
  /** Exposed server tools that are on, with the caller's trust. Default: all, as the operator declared them. */
  tools?: { name: string; trust: boolean }[]
  options?: Record<string, string>
  ownTools?: readonly OwnTool[]
  history?: Entry[]
  model?: string
}

/** A call that the conversation waits for. `needs`: a decision, or the result of one of the program's own tools. */
export type Pending = {
  callId: string
  tool: string
  input: Json
  needs: 'permission' | 'result'
  reason?: string
  hash: string
}

export type Reply = {
  /** `waiting`: see `pending`. */
  status: 'done' | 'waiting'
  text: string
  stop?: TurnStop
  pending: Pending[]
  error?: { code: string; message: string }
}

export class Conversation {
  readonly #engine: OpenSessions
  readonly #owner: string
  readonly id: string

  constructor(engine: OpenSessions, owner: string, id: string) {
    this.#engine = engine
    this.#owner = owner
    this.id = id
  }

  /**
   * Says something and waits until the model has answered, or something else must happen first. What `watch` throws is
   * thrown here; the turn goes on.
   */
  async send(message: string | InputPart[], watch?: (item: FeedItem) => void): Promise<Reply> {
    const parts: InputPart[] = typeof message === 'string' ? [{ type: 'text', text: message }] : message
    return this.#turn(session => session.say({ parts, wire: 'library' }), watch)
  }

  approve(callId: string, options: { by?: string; input?: Json } = {}): Promise<Reply> {
    const { by = this.#owner, input } = options
    const edit =
      input === undefined ? {} : { edit: typeof input === 'string' ? input : JSON.stringify(input) }
    return this.answer({ results: [], decisions: [{ callId, granted: true, by, ...edit }] })
  }

  deny(callId: string, reason?: string, by: string = this.#owner): Promise<Reply> {
    return this.answer({
      results: [],
      decisions: [{ callId, granted: false, by, ...(reason !== undefined && { reason }) }],
    })
  }

  /** The result of one of the program's own tools. */
  result(callId: string, output: string | ResultPart[], failed = false): Promise<Reply> {
    const parts: ResultPart[] = typeof output === 'string' ? [{ type: 'text', text: output }] : output
    return this.answer({ results: [{ callId, parts, failed }], decisions: [] })
  }

  /** Several answers at once, in one step. */
  answer(answers: Answers, watch?: (item: FeedItem) => void): Promise<Reply> {
    return this.#turn(session => session.respond(answers), watch)
  }

  async cancel(): Promise<void> {
    await (await this.#session()).cancel()
  }

  /** A summary in place of the oldest messages, for the model alone. False: there was nothing to gain. */
  async compact(): Promise<boolean> {
    return (await this.#session()).compact()
  }

  async history(): Promise<readonly Entry[]> {
    return (await this.#engine.peek(this.#owner, this.id)).entries
  }

  async pending(): Promise<Pending[]> {
    return pendingOf(await this.#engine.peek(this.#owner, this.id))
  }

  #session(): Promise<Session> {
    return this.#engine.open(this.#owner, this.id)
  }

  async #turn(
    command: (session: Session) => Promise<unknown>,
    watch?: (item: FeedItem) => void,
  ): Promise<Reply> {
    const session = await this.#session()
    const over = Promise.withResolvers<FeedItem[]>()
    const items: FeedItem[] = []
    const before = session.state.seq
    let begun = false
    const unwatch = session.feed.watch(item => {
      begun ||= item.type === 'event' && item.seq > before
      items.push(item)
      try {
        watch?.(item)
      } catch (error) {
        over.reject(error)
      }
      if (item.type === 'closed') over.reject(item.reason)
      else if (begun && item.type === 'status' && item.status !== 'running') over.resolve(items)
    })
    try {
      await Promise.race([command(session), over.promise])
      return replyOf(session.state, await over.promise)
    } finally {
      over.promise.catch(() => {})
      unwatch()
    }
  }
}

function replyOf(state: SessionState, items: readonly FeedItem[]): Reply {
  let text = ''
  let ended: Extract<FeedItem & { type: 'event' }, { type: 'event' }>['event'] | undefined
  for (const item of items) {
    if (item.type !== 'event') continue
    if (item.event.type === 'model.answered') text = textOf(item.event.parts) || text
    if (item.event.type === 'turn.ended') ended = item.event
  }
  const pending = pendingOf(state)
  if (ended?.type !== 'turn.ended' || state.turn) return { status: 'waiting', text, pending }
  return { status: 'done', text, pending, stop: ended.stop, ...(ended.error && { error: ended.error }) }
}

function pendingOf(state: SessionState): Pending[] {
  return state.batch.flatMap(call => {
    if (call.stage !== 'asking' && call.stage !== 'handed') return []
    return [
      {
        callId: call.part.id,
        tool: call.part.name,
        input: inputOf(call),
        needs: call.stage === 'asking' ? ('permission' as const) : ('result' as const),
        ...(call.reason !== undefined && { reason: call.reason }),
        hash: call.argsHash ?? '',
      },
    ]
  })
}

function inputOf(call: CallState): Json {
  // It passed the gate, so it parses; an empty text stands for no arguments.
  if (call.part.form === 'text') return call.text
  return call.text.trim() === '' ? {} : (JSON.parse(call.text) as Json)
}

/** The engine's settings from what a program wrote. Secrets are sealed here. */
export function settingsOf(options: ConversationOptions, agent: Agent, vault: Vault): Settings {
  const values: Record<string, OptionValue> = {}
  for (const [name, value] of Object.entries(options.options ?? {})) {
    const secret = agent.options.some(option => option.name === name && option.type === 'secret')
    values[name] = secret ? { sealed: vault.seal(value) } : value
  }
  return {
    tools: options.tools ?? null,
    options: values,
    clientTools: (options.ownTools ?? []).map(declare),
    ...(options.model !== undefined && { model: options.model }),
  }
}

function declare(own: OwnTool): ToolDeclaration {
  return {
    name: own.name,
    ...(own.title !== undefined && { title: own.title }),
    description: own.description,
    input: { form: 'json', schema: schemaOf(own) },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'client',
  }
}

function schemaOf({ name, input }: OwnTool): JsonObject {
  try {
    const schema = describeSchema(input).json
    inspectSchema(schema)
    return schema
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    throw new TurnwireError('invalid_tool', `The schema of "${name}" cannot be used: ${words}`, { cause })
  }
}
