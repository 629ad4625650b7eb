// The engine of another process, reached over a channel. When the channel is lost, calls reject and readers are told.
import type {
  AttachedItem,
  AttachedTool,
  Command,
  Engine,
  FollowItem,
  FollowOptions,
  OnceItem,
  OnceRequest,
  SessionChange,
  SessionRef,
} from '../../engine/ports/boundary.ts'
import { type CallName, ForwardingEngine } from '../../engine/ports/forward.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Channel } from './channel.ts'
import { refuseUnlessData } from './only-data.ts'
import { type LinkReply, type LinkRequest, plainError, remadeError } from './protocol.ts'
import { StreamReader } from './stream-reader.ts'

/** A call or the reader of a stream that waits for replies under one id. */
type AwaitedReply = { take(reply: LinkReply): void; lose(error: TurnwireError): void }

/** A call or a stream. `epoch`: the epoch that its session is expected to have. */
type Request = { name: string; args: unknown[]; epoch?: number }

export type ConnectOptions = {
  onNote?: (note: unknown) => void
  /** The name of the other end, for the error after the channel was lost. */
  peer?: string
}

export function connectEngine(channel: Channel, options: ConnectOptions = {}): RemoteEngine {
  return new RemoteEngine(new EngineLink(channel, options))
}

export class RemoteEngine extends ForwardingEngine {
  readonly #link: EngineLink
  readonly #epoch: number | undefined

  constructor(link: EngineLink, epoch?: number) {
    super()
    this.#link = link
    this.#epoch = epoch
  }

  /** The same engine, for calls and streams about a session that is expected to have this epoch. */
  at(epoch: number): Engine {
    return new RemoteEngine(this.#link, epoch)
  }

  /** A call beside those of the engine. */
  ask(name: string, ...args: unknown[]): Promise<unknown> {
    return this.#link.call({ name, args })
  }

  /** A stream beside those of the engine. */
  open<Item>(name: string, args: unknown[], signal?: AbortSignal): AsyncIterable<readonly Item[]> {
    return this.#link.stream<Item>({ name, args }, signal)
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // The peer calls the function of this name, and the channel passes clones.
    return this.#link.call(this.#request(name, args)) as ReturnType<Engine[Name]>
  }

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
  ): AsyncIterable<readonly FollowItem[]> {
    const lost = (error: TurnwireError): FollowItem[] => [{ type: 'lost', error: plainError(error) }]
    return this.#link.stream<FollowItem>(this.#request('follow', [ref, options]), signal, lost)
  }

  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]> {
    return this.open<OnceItem>('answerOnce', [request], signal)
  }

  attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
  ): AsyncIterable<readonly AttachedItem[]> {
    return this.#link.stream<AttachedItem>(this.#request('attach', [ref, tools]), signal, () => [])
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    return this.#link.stream<SessionChange>({ name: 'changes', args: [] }, signal, () => [])
  }

  #request(name: string, args: unknown[]): Request {
    return { name, args, ...(this.#epoch !== undefined && { epoch: this.#epoch }) }
  }
}

/** This end of the channel: the calls and readers that wait for replies, and their error when the channel is lost. */
class EngineLink {
  readonly #channel: Channel
  readonly #waiting = new Map<number, AwaitedReply>()
  #lastId = 0
  #lost: TurnwireError | undefined
  readonly #peer: string

  constructor(
    channel: Channel,
    { onNote = () => {}, peer = 'process that has the data folder' }: ConnectOptions,
  ) {
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

  async call(request: Request): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#lost) throw this.#lost
    const command = commandIn(request)
    if (command?.do === 'say') refuseUnlessData(command.app, this.#peer)
    const id = this.#wait({
      take: reply => {
        this.#forget(id)
        if (reply.type === 'result') resolve(reply.value)
        else if (reply.type === 'error') reject(remadeError(reply.error))
      },
      lose: reject,
    })
    this.#send({ type: 'call', id, ...request })
    return promise
  }

  /** `lastBatch`: of a reader whose channel is lost. Undefined: the reader gets the error. */
  stream<Item>(
    request: Request,
    signal: AbortSignal | undefined,
    lastBatch: (error: TurnwireError) => readonly Item[] | undefined = () => undefined,
  ): AsyncIterable<readonly Item[]> {
    return {
      [Symbol.asyncIterator]: () => {
        const reader = new StreamReader<Item>(lastBatch)
        if (this.#lost) reader.lose(this.#lost)
        else {
          const id = this.#wait(reader)
          const link = {
            id,
            send: (message: LinkRequest) => this.#send(message),
            forget: () => this.#forget(id),
          }
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

/** What a request has a session do. */
function commandIn({ name, args }: Request): Command | undefined {
  if (name === 'command') return (args as Parameters<Engine['command']>)[1]
  return name === 'create' ? (args as Parameters<Engine['create']>)[0].say : undefined
}
