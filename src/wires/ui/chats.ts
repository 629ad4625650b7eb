// Chats as sessions: what a request means for the session of its chat, the same over HTTP and over a socket. It gives the items
// to show and how to show them; how they are sent is up to the routes and the socket.
import type {
  Accepted,
  Command,
  Engine,
  FollowItem,
  FollowOptions,
  GivenSettings,
  SessionRef,
  SessionSummary,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type ClientThread, findThread, messageKeys, newWords, openThread } from '../client-threads.ts'
import { agentNamed, type Principal, type WireHost } from '../host.ts'
import { changeOwn } from '../own-tools.ts'
import { StopByLeaving } from '../stop-by-leaving.ts'
import {
  chatCreation,
  decodeAnswers,
  decodeChatTools,
  questionAnswers,
  toolParts,
  uiWire,
  userMessages,
} from './decode.ts'
import type { MessageOptions } from './encode.ts'
import { ResumedChats } from './resumed-chats.ts'
import type { ChatRequest } from './schema.ts'

/** Who asks, for which agent. */
export type Asking = { engine: Engine; principal: Principal; agent: string }

type Begun = Pick<Accepted, 'first' | 'replayed' | 'turn'>

/**
 * A message to show. `items`: until the session rests or waits, or the signal aborts; an abort cancels the turn unless it
 * `staysOn`. Default: it does if the chat has a client that resumes.
 */
export type OpenMessage = {
  ref: SessionRef
  message: MessageOptions
  begun: Begun
  items: (
    signal: AbortSignal,
    staysOn?: () => boolean | Promise<boolean>,
  ) => AsyncIterable<readonly FollowItem[]>
}

export class Chats {
  readonly #host: WireHost
  readonly #turns = new StopByLeaving(uiWire)
  readonly #resumed = new ResumedChats()

  constructor(host: WireHost) {
    this.#host = host
  }

  /** `signal`: aborts when the client leaves. */
  async open(asking: Asking, request: ChatRequest, signal: AbortSignal): Promise<OpenMessage> {
    const { engine, principal } = asking
    const agent = agentNamed(this.#host, asking.agent)
    const users = userMessages(request, agent)
    const thread = toThread(asking, request.id)
    const ref = await openThread(engine, thread, () => chatCreation(request, agent))
    await this.#resumed.keep(engine, thread, ref)
    const before = await engine.summary(ref, messageKeys(request.messages, users))
    const settings = changedSettings(before, request)
    const { results, decisions, message } = decodeAnswers(
      toolParts(request.messages),
      before.calls,
      principal.name,
    )
    const answers = questionAnswers(request, before.calls, principal.name)
    const answered = results.length + decisions.length + answers.length > 0
    const words = newWords(before, request.messages, answered, users)
    const common = settings ? { settings } : {}
    if (answered) {
      const accepted = await engine.command(ref, {
        do: 'respond',
        results,
        decisions,
        ...(answers.length > 0 && { answers }),
        skipAnswered: true,
        ...common,
      })
      const own = new Set(results.map(({ callId }) => callId))
      const shown = message ?? answerMessageId(request, before)
      if (!words) return this.#opened(engine, ref, { before, own, message: shown }, accepted)
      await this.#untilStopped(engine, ref, accepted, signal)
    }
    if (!words) return this.#join(engine, ref, before, request)
    const say: Command = { do: 'say', wire: uiWire, ...words, ...(!answered && common) }
    const accepted = await this.#turns.command(engine, ref, say)
    return this.#opened(engine, ref, { before, own: new Set() }, accepted)
  }

  /** Answers and words at once: the stream shows the answer to the words, so the turn before it ends unseen. */
  async #untilStopped(
    engine: Engine,
    ref: SessionRef,
    { first, turn }: Accepted,
    signal: AbortSignal,
  ): Promise<void> {
    const options: FollowOptions = { from: first, until: 'stop', deltas: 'none', as: uiWire }
    const unseen = engine.follow(ref, options, signal)
    const items = this.#turns.watch(engine, ref, unseen, { signal, ...(turn !== undefined && { turn }) })
    for await (const _ of items);
    signal.throwIfAborted()
  }

  /** Nothing is new: a turn that runs is joined, and one that waits says again what it waits for. */
  #join(engine: Engine, ref: SessionRef, before: SessionSummary, request: ChatRequest): OpenMessage {
    if (before.status === 'idle')
      throw new TurnwireError(
        'bad_request',
        'messages hold nothing new: add what the user says. If a call was answered elsewhere, load the chat again.',
      )
    const message = answerMessageId(request, before)
    const accepted = { first: before.seq + 1, replayed: false }
    return this.#opened(engine, ref, { message, own: new Set(), before }, accepted)
  }

  /** The running turn again from its first step. Undefined: none runs. */
  async resume(asking: Asking, id: string): Promise<OpenMessage | undefined> {
    agentNamed(this.#host, asking.agent)
    const { engine } = asking
    const thread = toThread(asking, id)
    const ref = await findThread(engine, thread)
    await this.#resumed.add(engine, thread, ref)
    const summary = ref && (await engine.summary(ref))
    if (!ref || summary?.status !== 'running' || !summary.turn) return undefined
    const begun = { first: summary.turn.first, replayed: false, turn: summary.turn.id }
    return this.#opened(engine, ref, { own: new Set() }, begun)
  }

  /** The same message again from its beginning, to where it stopped. */
  again({ engine }: Asking, { ref, message, begun }: Omit<OpenMessage, 'items'>): OpenMessage {
    return this.#opened(engine, ref, message, { ...begun, replayed: true })
  }

  /** The session of a chat. Throws `session_not_found`. */
  async find(asking: Asking, id: string): Promise<SessionRef> {
    const ref = await findThread(asking.engine, toThread(asking, id))
    if (!ref) throw new TurnwireError('session_not_found', 'There is no such chat.')
    return ref
  }

  /** `turn`: the turn that the request started or continued. */
  #opened(engine: Engine, ref: SessionRef, message: MessageOptions, begun: Begun): OpenMessage {
    const { first, replayed, turn } = begun
    const options: FollowOptions = {
      from: first,
      until: 'stop',
      replay: replayed,
      deltas: 'take-back',
      as: uiWire,
    }
    const isResumed = (): Promise<boolean> => this.#resumed.has(engine, ref)
    const items: OpenMessage['items'] = (signal, staysOn = isResumed) =>
      this.#turns.watch(engine, ref, engine.follow(ref, options, signal), {
        signal,
        ...(turn !== undefined && { turn }),
        staysOn,
      })
    return { ref, message, begun, items }
  }
}

/** The message that the client shows for the turn: its last one, or the one that the turn began. */
function answerMessageId({ messages }: ChatRequest, { turn }: SessionSummary): string {
  return messages.findLast(({ role }) => role === 'assistant')?.id ?? turn?.id ?? ''
}

function toThread({ principal, agent }: Asking, id: string): ClientThread {
  return { owner: principal.owner, wire: uiWire, agent, id }
}

function changedSettings(
  { settings }: SessionSummary,
  { tools }: ChatRequest,
): Partial<GivenSettings> | undefined {
  const own = decodeChatTools(tools)
  return own && changeOwn(settings, uiWire, own)
}
