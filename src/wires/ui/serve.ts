// The routes. A chat is a session: its first message makes it, later messages continue it, and a page that comes back
// resumes the turn that runs. A client that closes its request early ends the turn, because that is all that the stop
// button does; a client that resumes its chats only ends its stream.
import { type Context, Hono } from 'hono'
import type {
  Accepted,
  Command,
  FollowOptions,
  GivenSettings,
  SessionRef,
  SessionSummary,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type ClientThread, findThread, messageKeys, newWords, openThread } from '../client-threads.ts'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { readJsonObject } from '../http/index.ts'
import { clientGone, streamItems } from '../http/stream.ts'
import { changeOwn } from '../own-tools.ts'
import { StopByLeaving } from '../stop-by-leaving.ts'
import {
  chatCreation,
  decodeAnswers,
  decodeChatRequest,
  decodeChatTools,
  questionAnswers,
  toolParts,
  uiWire,
  userMessages,
} from './decode.ts'
import { type MessageOptions, messageFrames } from './encode.ts'
import { ResumedChats } from './resumed-chats.ts'
import type { ChatRequest } from './schema.ts'

export function uiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const handlers = new UiHandlers(host)
  app.post('/ui/:agent', c => handlers.chat(c))
  app.get('/ui/:agent/:id/stream', c => handlers.resume(c))
  return app
}

class UiHandlers {
  readonly #host: WireHost
  readonly #turns = new StopByLeaving(uiWire)
  readonly #resumed = new ResumedChats()

  constructor(host: WireHost) {
    this.#host = host
  }

  async chat(c: Context<WireEnv>): Promise<Response> {
    const engine = c.get('engine')
    const request = decodeChatRequest(await readJsonObject(c, this.#host.limits))
    const agent = agentNamed(this.#host, c.req.param('agent') ?? '')
    const users = userMessages(request, agent)
    const thread = toThread(c, request.id)
    const ref = await openThread(engine, thread, () => chatCreation(request, agent))
    await this.#resumed.keep(engine, thread, ref)
    const before = await engine.summary(ref, messageKeys(request.messages, users))
    const settings = changedSettings(before, request)
    const { results, decisions, message } = decodeAnswers(
      toolParts(request.messages),
      before.calls,
      c.get('principal').name,
    )
    const answers = questionAnswers(request, before.calls, c.get('principal').name)
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
      if (!words) return this.#stream(c, ref, { before, own, message: shown }, accepted)
      await this.#untilStopped(c, ref, accepted)
    }
    if (!words) return this.#join(c, ref, before, request)
    const say: Command = { do: 'say', wire: uiWire, ...words, ...(!answered && common) }
    return this.#stream(c, ref, { before, own: new Set() }, await this.#turns.command(engine, ref, say))
  }

  /** Answers and words at once: the stream shows the answer to the words, so the turn before it ends unseen. */
  async #untilStopped(c: Context<WireEnv>, ref: SessionRef, { first, turn }: Accepted): Promise<void> {
    const signal = clientGone(c)
    const options: FollowOptions = { from: first, until: 'stop', deltas: 'none', as: uiWire }
    const engine = c.get('engine')
    const unseen = engine.follow(ref, options, signal)
    const items = this.#turns.watch(engine, ref, unseen, { signal, ...(turn !== undefined && { turn }) })
    for await (const _ of items);
    signal.throwIfAborted()
  }

  /** Nothing is new: a turn that runs is joined, and one that waits says again what it waits for. */
  #join(c: Context<WireEnv>, ref: SessionRef, before: SessionSummary, request: ChatRequest): Response {
    if (before.status === 'idle')
      throw new TurnwireError(
        'bad_request',
        'messages hold nothing new: add what the user says. If a call was answered elsewhere, load the chat again.',
      )
    const message = answerMessageId(request, before)
    const accepted = { first: before.seq + 1, replayed: false }
    return this.#stream(c, ref, { message, own: new Set(), before }, accepted)
  }

  /** Shows the running turn again from its first step. */
  async resume(c: Context<WireEnv>): Promise<Response> {
    agentNamed(this.#host, c.req.param('agent') ?? '')
    const thread = toThread(c, c.req.param('id') ?? '')
    const engine = c.get('engine')
    const ref = await findThread(engine, thread)
    await this.#resumed.add(engine, thread, ref)
    const summary = ref && (await engine.summary(ref))
    if (!ref || summary?.status !== 'running' || !summary.turn) return c.body(null, 204)
    return this.#stream(c, ref, { own: new Set() }, { first: summary.turn.first, replayed: false })
  }

  /** `turn`: the turn that the request started or continued. */
  #stream(
    c: Context<WireEnv>,
    ref: SessionRef,
    message: MessageOptions,
    { first, replayed, turn }: Pick<Accepted, 'first' | 'replayed' | 'turn'>,
  ): Response {
    c.env.outgoing.setHeader('X-Vercel-AI-UI-Message-Stream', 'v1')
    c.env.outgoing.setHeader('X-Session-Id', ref.session)
    const options: FollowOptions = {
      from: first,
      until: 'stop',
      replay: replayed,
      deltas: 'take-back',
      as: uiWire,
    }
    const engine = c.get('engine')
    const items = (signal: AbortSignal) =>
      this.#turns.watch(engine, ref, engine.follow(ref, options, signal), {
        signal,
        ...(turn !== undefined && { turn }),
        staysOn: () => this.#resumed.has(engine, ref),
      })
    return streamItems(c, this.#host, items, messageFrames(message))
  }
}

/** The message that the client shows for the turn: its last one, or the one that the turn began. */
function answerMessageId({ messages }: ChatRequest, { turn }: SessionSummary): string {
  return messages.findLast(({ role }) => role === 'assistant')?.id ?? turn?.id ?? ''
}

function toThread(c: Context<WireEnv>, id: string): ClientThread {
  return { owner: c.get('principal').owner, wire: uiWire, agent: c.req.param('agent') ?? '', id }
}

function changedSettings(
  { settings }: SessionSummary,
  { tools }: ChatRequest,
): Partial<GivenSettings> | undefined {
  const own = decodeChatTools(tools)
  return own && changeOwn(settings, uiWire, own)
}
