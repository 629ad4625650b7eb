// Gives an engine to the process at the other end of a channel. Streams are read at that reader's pace, and end with the
// channel.
import type { Engine } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Channel } from './channel.ts'
import {
  type CallName,
  callNames,
  type LinkReply,
  type LinkRequest,
  plainError,
  type StreamName,
  streamNames,
} from './protocol.ts'

type Serving = {
  items: AsyncIterator<readonly unknown[]>
  stop: AbortController
  busy: boolean
  pulls: number
}

/** `extra`: calls beside those of the engine, by name. */
export function serveEngine(
  channel: Channel,
  engine: Engine,
  extra: Readonly<Record<string, () => unknown>> = {},
): void {
  const peer = new ServedPeer(channel, engine, extra)
  // The peer runs the same version: it said so first.
  channel.onMessage(message => peer.take(message as LinkRequest))
  void channel.closed.then(() => peer.leaveAll())
}

class ServedPeer {
  readonly #channel: Channel
  readonly #engine: Engine
  readonly #extra: Readonly<Record<string, () => unknown>>
  readonly #streams = new Map<number, Serving>()

  constructor(channel: Channel, engine: Engine, extra: Readonly<Record<string, () => unknown>>) {
    this.#channel = channel
    this.#engine = engine
    this.#extra = extra
  }

  take(request: LinkRequest): void {
    const serving = this.#streams.get(request.id)
    if (request.type === 'call') void this.#answer(request.id, request.name, request.args)
    else if (request.type === 'open') this.#open(request.id, request.name, request.args)
    else if (request.type === 'pull' && serving) {
      serving.pulls += 1
      void this.#pump(request.id, serving)
    } else if (request.type === 'cancel' && serving) {
      this.#streams.delete(request.id)
      leave(serving)
    }
  }

  leaveAll(): void {
    for (const serving of this.#streams.values()) leave(serving)
    this.#streams.clear()
  }

  #send(reply: LinkReply): void {
    this.#channel.send(reply)
  }

  async #answer(id: number, name: string, args: unknown[]): Promise<void> {
    try {
      const extra = Object.hasOwn(this.#extra, name) ? this.#extra[name] : undefined
      const value = extra ? await extra() : await call(this.#engine, name, args)
      this.#send({ type: 'result', id, value })
    } catch (error) {
      this.#send({ type: 'error', id, error: plainError(error) })
    }
  }

  #open(id: number, name: string, args: unknown[]): void {
    const stop = new AbortController()
    try {
      const items = stream(this.#engine, name, args, stop.signal)[Symbol.asyncIterator]()
      const serving = { items, stop, busy: false, pulls: 1 }
      this.#streams.set(id, serving)
      void this.#pump(id, serving)
    } catch (error) {
      this.#send({ type: 'error', id, error: plainError(error) })
    }
  }

  async #pump(id: number, serving: Serving): Promise<void> {
    if (serving.busy) return
    serving.busy = true
    try {
      while (serving.pulls > 0) {
        const { value, done } = await serving.items.next()
        if (done) {
          this.#end(id, { type: 'end', id })
          return
        }
        serving.pulls -= 1
        this.#send({ type: 'batch', id, items: value })
      }
      serving.busy = false
    } catch (error) {
      this.#end(id, { type: 'error', id, error: plainError(error) })
    }
  }

  #end(id: number, reply: LinkReply): void {
    if (this.#streams.delete(id)) this.#send(reply)
  }
}

function leave({ items, stop }: Serving): void {
  stop.abort()
  // Its failure has no reader any more.
  void items.return?.().catch(() => {})
}

function call(engine: Engine, name: string, args: unknown[]): Promise<unknown> {
  const known = callNames.find(each => each === name)
  if (!known) throw unknownName(name)
  // The arguments are those that the same function of the peer was called with.
  return (engine[known] as (...given: unknown[]) => ReturnType<Engine[CallName]>).call(engine, ...args)
}

function stream(
  engine: Engine,
  name: string,
  args: unknown[],
  signal: AbortSignal,
): AsyncIterable<readonly unknown[]> {
  const known = streamNames.find(each => each === name)
  if (!known) throw unknownName(name)
  // As above.
  return (engine[known] as (...given: unknown[]) => ReturnType<Engine[StreamName]>).call(
    engine,
    ...args,
    signal,
  )
}

function unknownName(name: string): TurnwireError {
  return new TurnwireError('internal', `The engine has no call named "${name}".`)
}
