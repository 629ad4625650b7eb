// The engine of another process, reached over a channel. When the channel is lost, calls reject and readers are told.
import type {
  AttachedItem,
  AttachedTool,
  Engine,
  FollowItem,
  FollowOptions,
  OnceItem,
  OnceRequest,
  SessionChange,
  SessionRef,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Channel } from './channel.ts'
import { ForwardingEngine } from './forwarding-engine.ts'
import { refuseUnlessData } from './only-data.ts'
import { type CallName, type LinkReply, type LinkRequest, plainError, remadeError } from './protocol.ts'
import { StreamReader } from './stream-reader.ts'

/** What waits for replies under one id: a call, or the reader of a stream. */
type AwaitedReply = { take(reply: LinkReply): void; lose(error: TurnwireError): void }

export type ConnectOptions = {
  onNote?: (note: unknown) => void
  /** Who is at the other end, in the words of the error after the channel was lost. */
  peer?: string
}

export function connectEngine(channel: Channel, options: ConnectOptions = {}): RemoteEngine {
  return new RemoteEngine(channel, options)
}

export class RemoteEngine extends ForwardingEngine {
  readonly #channel: Channel
  readonly #waiting = new Map<number, AwaitedReply>()
  #lastId = 0
  #lost: TurnwireError | undefined
  readonly #peer: string

  constructor(
    channel: Channel,
    { onNote = () => {}, peer = 'process that has the data folder' }: ConnectOptions,
  ) {
    super()
    this.#peer = peer
    this.#channel = channel
    channel.keepAlive(false)
    channel.onMessage(message => {
      const reply = message as LinkReply // The peer runs the same version: it said so first.
      if (reply.type === 'note') onNote(reply.note)
      else this.#waiting.get(reply.id)?.take(reply)
    })
    void channel.closed.then(() => this.#lose())
  }

  /** The channel is gone. */
  get lost(): boolean {
    return this.#lost !== undefined
  }

  /** The same engine, for calls and streams about a session that is expected to have this epoch. */
  at(epoch: number): Engine {
    return new EngineAtEpoch(this, epoch)
  }

  /** A call beside those of the engine. */
  ask(name: string, ...args: unknown[]): Promise<unknown> {
    return this.call(name, args)
  }

  /** `epoch`: that the session is expected to have. */
  async call(name: string, args: unknown[], epoch?: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#lost) throw this.#lost
    const [, command] = name === 'command' ? (args as Parameters<Engine['command']>) : []
    if (command?.do === 'say') refuseUnlessData(command.app, this.#peer)
    const id = this.#wait({
      take: reply => {
        this.#forget(id)
        if (reply.type === 'result') resolve(reply.value)
        else if (reply.type === 'error') reject(remadeError(reply.error))
      },
      lose: reject,
    })
    this.#send({ type: 'call', id, name, args, ...(epoch !== undefined && { epoch }) })
    return promise
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // The peer called the function of this name, and the channel passes clones.
    return this.ask(name, ...args) as ReturnType<Engine[Name]>
  }

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
    epoch?: number,
  ): AsyncIterable<readonly FollowItem[]> {
    const lost = (error: TurnwireError): FollowItem[] => [{ type: 'lost', error: plainError(error) }]
    return this.#stream<FollowItem>('follow', [ref, options], signal, lost, epoch)
  }

  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]> {
    return this.#stream<OnceItem>('answerOnce', [request], signal)
  }

  attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
    epoch?: number,
  ): AsyncIterable<readonly AttachedItem[]> {
    return this.#stream<AttachedItem>('attach', [ref, tools], signal, () => [], epoch)
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    return this.#stream<SessionChange>('changes', [], signal, () => [])
  }

  /** A stream beside those of the engine. */
  open<Item>(name: string, args: unknown[], signal?: AbortSignal): AsyncIterable<readonly Item[]> {
    return this.#stream<Item>(name, args, signal)
  }

  #stream<Item>(
    name: string,
    args: unknown[],
    signal: AbortSignal | undefined,
    lastBatch: (error: TurnwireError) => readonly Item[] | undefined = () => undefined,
    epoch?: number,
  ): AsyncIterable<readonly Item[]> {
    return {
      [Symbol.asyncIterator]: () => {
        const reader = new StreamReader<Item>(lastBatch)
        if (this.#lost) reader.lose(this.#lost)
        else {
          const id = this.#wait(reader)
          const link = {
            id,
            send: (request: LinkRequest) => this.#send(request),
            forget: () => this.#forget(id),
          }
          const request = { name, args, ...(epoch !== undefined && { epoch }) }
          reader.begin(link, request, signal)
        }
        return reader
      },
    }
  }

  #send(request: LinkRequest): void {
    this.#channel.send(request)
  }

  #wait(waiting: AwaitedReply): number {
    this.#lastId += 1
    this.#waiting.set(this.#lastId, waiting)
    // A program that waits for an answer must not end before it has come.
    if (this.#waiting.size === 1) this.#channel.keepAlive(true)
    return this.#lastId
  }

  #forget(id: number): void {
    if (this.#waiting.delete(id) && this.#waiting.size === 0) this.#channel.keepAlive(false)
  }

  #lose(): void {
    this.#lost = new TurnwireError(
      'lease_lost',
      `The ${this.#peer} went away. Whether this was recorded is not known: look before you repeat it.`,
    )
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const each of waiting) each.lose(this.#lost)
  }
}

class EngineAtEpoch extends ForwardingEngine {
  readonly #engine: RemoteEngine
  readonly #epoch: number

  constructor(engine: RemoteEngine, epoch: number) {
    super()
    this.#engine = engine
    this.#epoch = epoch
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // As in RemoteEngine.
    return this.#engine.call(name, args, this.#epoch) as ReturnType<Engine[Name]>
  }

  follow(...[ref, options, signal]: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    return this.#engine.follow(ref, options, signal, this.#epoch)
  }

  attach(...[ref, tools, signal]: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    return this.#engine.attach(ref, tools, signal, this.#epoch)
  }

  answerOnce(...args: Parameters<Engine['answerOnce']>): ReturnType<Engine['answerOnce']> {
    return this.#engine.answerOnce(...args)
  }

  changes(signal?: AbortSignal): ReturnType<Engine['changes']> {
    return this.#engine.changes(signal)
  }
}
