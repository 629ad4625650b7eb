// A turn that a program started or waits for. Awaited, it gives the reply; iterated, it gives items as they come. It is
// read from the log, so it can be iterated late, and more than once.
import type { TurnwireConfig } from '../config/config.ts'
import type { Accepted, Engine, FollowItem, FollowOptions, SessionCall, SessionRef } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type ShownEnd, ShownFold } from '../language/show.ts'
import { parseBounded } from '../lib/json/index.ts'
import { refineBySchema } from '../lib/schema/standard.ts'
import type { LogFailures } from './log-failures.ts'
import { pendingCalls, type Reply, type TurnItem, TurnReader, type TurnTypes } from './reply.ts'

/**
 * Where to read from: the first event of the request. `calls` and `text` are what is known before it. `message`: it waits, and
 * the turn is the one that it is delivered to.
 */
export type TurnStart = {
  from: number
  calls: readonly SessionCall[]
  text?: string
  message?: NonNullable<Accepted['message']>
}

/** The parts of the runtime that a handle uses. */
export type LibraryHost = { engine: Engine; failures: LogFailures; config: Pick<TurnwireConfig, 'agents'> }

/** Before its data is known. */
type Done = Extract<Reply<never>, { status: 'done' }>

const withdrawn: Reply<never> = { status: 'withdrawn', text: '' }

export class TurnHandle<Known extends TurnTypes = TurnTypes>
  implements Promise<Reply<Known['answer']>>, AsyncIterable<TurnItem<Known>>
{
  readonly [Symbol.toStringTag] = 'TurnHandle'
  readonly #host: LibraryHost
  readonly #ref: SessionRef
  readonly #started: Promise<TurnStart>
  #reply: Promise<Reply<Known['answer']>> | undefined

  constructor(host: LibraryHost, ref: SessionRef, started: Promise<TurnStart>) {
    this.#host = host
    this.#ref = ref
    this.#started = started
  }

  /** Resolves once the request is recorded; rejects if it was refused. */
  get accepted(): Promise<void> {
    return this.#started.then(() => {})
  }

  /** A message that had to wait: its id, and what had become of it when it was accepted. Undefined: it started a turn. */
  get message(): Promise<TurnStart['message']> {
    return this.#started.then(({ message }) => message)
  }

  then<Done = Reply<Known['answer']>, Failed = never>(
    onDone?: ((reply: Reply<Known['answer']>) => Done | PromiseLike<Done>) | null,
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    this.#reply ??= this.#wait()
    return this.#reply.then(onDone, onFailed)
  }

  catch<Failed = never>(
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Reply<Known['answer']> | Failed> {
    return this.then(undefined, onFailed)
  }

  finally(onEnd?: (() => void) | null): Promise<Reply<Known['answer']>> {
    return this.then(reply => reply).finally(onEnd)
  }

  /** Reads the events alone: nobody is shown the deltas. */
  async #wait(): Promise<Reply<Known['answer']>> {
    const { from: first, calls, text, message } = await this.#started
    const from = message ? await this.#findDelivery(first, message.id) : first
    if (from === undefined) return withdrawn
    const reader = new TurnReader(calls, text)
    for await (const batch of this.#follow(from, 'none'))
      for (const item of batch) {
        if (item.type === 'lost') throw new TurnwireError(item.error.code, item.error.message)
        if (item.type === 'event') reader.note(item.event)
      }
    return this.#makeReply(reader)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnItem<Known>> {
    const { from: first, calls, text, message } = await this.#started
    const from = message ? await this.#findDelivery(first, message.id) : first
    if (from === undefined) {
      yield { type: 'end', reply: withdrawn }
      return
    }
    const reader = new TurnReader(calls, text)
    for await (const batch of this.#follow(from, 'append'))
      for (const item of batch) {
        if (item.type === 'lost') throw new TurnwireError(item.error.code, item.error.message)
        // The configuration, whose type `Known` is, has these tools: the gate has checked their results.
        for (const shown of turnItems(item, reader)) yield shown as TurnItem<Known>
      }
    yield { type: 'end', reply: await this.#makeReply(reader) }
  }

  #follow(from: number, deltas: FollowOptions['deltas']): AsyncIterable<readonly FollowItem[]> {
    return this.#host.engine.follow(this.#ref, { from, until: 'stop', deltas })
  }

  /** The number of the event that delivers the message. Undefined: it was withdrawn. */
  async #findDelivery(after: number, id: string): Promise<number | undefined> {
    const shown = new ShownFold()
    const options = { from: after, until: 'never', deltas: 'none' } as const
    for await (const batch of this.#host.engine.follow(this.#ref, options))
      for (const item of batch) {
        if (item.type === 'lost') throw new TurnwireError(item.error.code, item.error.message)
        const message = item.type === 'event' ? shown.take(item.event) : undefined
        if (item.type !== 'event' || message?.type !== 'message' || message.message !== id) continue
        if (message.state === 'withdrawn') return undefined
        if (message.state === 'delivered') return item.seq
      }
    throw new TurnwireError('internal', 'The session ended before the message was delivered.')
  }

  /** A promise only if there is something to look up. */
  #makeReply({ text, ended }: TurnReader): Reply<Known['answer']> | Promise<Reply<Known['answer']>> {
    if (!ended) return this.#replyNow(text)
    const done = this.#makeDone(text, ended)
    return this.#hasShapes ? this.#withObject(done) : done
  }

  /** As the session stands: its turn has not ended. */
  async #replyNow(text: string): Promise<Reply<Known['answer']>> {
    const { turn, calls, lastStop } = await this.#host.engine.summary(this.#ref)
    if (turn) return { status: 'waiting', text, pending: pendingCalls(calls) }
    return this.#withObject(this.#makeDone(text, lastStop ?? { stop: 'end' }))
  }

  /** Whether an agent gives answers of a shape. */
  get #hasShapes(): boolean {
    for (const { answer } of this.#host.config.agents) if (answer !== undefined) return true
    return false
  }

  /** The text of an answer with a shape, as data. */
  async #withObject(reply: Done): Promise<Reply<Known['answer']>> {
    if (reply.stop !== 'end') return reply
    const { agent } = await this.#host.engine.summary(this.#ref)
    const shape = this.#host.config.agents.find(each => each.name === agent)?.answer
    const data = shape === undefined ? undefined : parseBounded(reply.text)
    if (data === undefined) return reply
    const checked = await refineBySchema(shape, data)
    // The schema whose type `Known` names has given the value.
    return 'issues' in checked ? reply : { ...reply, object: checked.value as Known['answer'] }
  }

  #makeDone(text: string, { stop, limit, error }: Pick<ShownEnd, 'stop' | 'limit' | 'error'>): Done {
    const { failures } = this.#host
    const cause = error && (failures.take(this.#ref.session) ?? error)
    return {
      status: 'done',
      text,
      stop,
      ...(limit !== undefined && { limit }),
      ...(cause && { error: { ...cause } }),
    }
  }
}

function turnItems(item: FollowItem, reader: TurnReader): TurnItem[] {
  if (item.type === 'event') return reader.take(item.event)
  if (item.type !== 'delta') return []
  const { delta } = item
  switch (delta.type) {
    case 'text':
    case 'thinking':
      return [structuredClone(delta)]
    case 'progress':
    case 'output':
    case 'report':
      return [{ ...structuredClone(delta), tool: reader.toolName(delta.callId) }]
    default:
      return []
  }
}
