// Gives an engine to the process at the other end of a channel. Streams are read at that reader's pace, and end with the
// channel.
import type { Engine } from '../../engine/ports/boundary.ts'
import { type CallName, callNames, type StreamName, streamNames } from '../../engine/ports/forward.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Channel } from './channel.ts'
import { batchesAhead, type LinkReply, type LinkRequest, plainError } from './protocol.ts'

type Serving = {
  items: AsyncIterator<readonly unknown[]>
  stop: AbortController
  busy: boolean
  pulls: number
}

/** Calls beside those of the engine, by name. They check their arguments themselves. */
export type ExtraCalls = Readonly<Record<string, (...args: unknown[]) => unknown>>

/** Streams beside those of the engine, by name. They check their arguments themselves. */
export type ExtraStreams = Readonly<
  Record<string, (args: readonly unknown[], signal: AbortSignal) => AsyncIterable<readonly unknown[]>>
>

/** Throws or rejects if the call or stream of this name is not to be served. */
export type Admit = (
  name: string,
  args: readonly unknown[],
  epoch: number | undefined,
) => void | Promise<void>

export function serveEngine(
  channel: Channel,
  engine: Engine,
  extra: ExtraCalls = {},
  admit: Admit = () => {},
  streams: ExtraStreams = {},
): void {
  const peer = new ServedPeer(channel, engine, { calls: extra, streams }, admit)
  // The peer runs the same version: it said so first.
  channel.onMessage(message => peer.take(message as LinkRequest))
  void channel.closed.then(() => peer.leaveAll())
}

class ServedPeer {
  readonly #channel: Channel
  readonly #engine: Engine
  readonly #extra: { calls: ExtraCalls; streams: ExtraStreams }
  readonly #admit: Admit
  readonly #streams = new Map<number, Serving>()

  constructor(
    channel: Channel,
    engine: Engine,
    extra: { calls: ExtraCalls; streams: ExtraStreams },
    admit: Admit,
  ) {
    this.#admit = admit
    this.#channel = channel
    this.#engine = engine
    this.#extra = extra
  }

  take(request: LinkRequest): void {
    const serving = this.#streams.get(request.id)
    if (request.type === 'call') void this.#answer(request)
    else if (request.type === 'open') this.#open(request)
    else if (request.type === 'pull' && serving) {
      serving.pulls += request.batches
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

  async #answer({ id, name, args, epoch }: Extract<LinkRequest, { type: 'call' }>): Promise<void> {
    try {
      const { calls } = this.#extra
      const extra = Object.hasOwn(calls, name) ? calls[name] : undefined
      if (!extra) await this.#admit(name, args, epoch)
      const value = await (extra ? extra(...args) : call(this.#engine, name, args))
      this.#send({ type: 'result', id, value })
    } catch (error) {
      this.#send({ type: 'error', id, error: plainError(error) })
    }
  }

  #open({ id, name, args, epoch }: Extract<LinkRequest, { type: 'open' }>): void {
    const stop = new AbortController()
    const { streams } = this.#extra
    const extra = Object.hasOwn(streams, name) ? streams[name] : undefined
    const begin = (): AsyncIterator<readonly unknown[]> =>
      (extra ? extra(args, stop.signal) : stream(this.#engine, name, args, stop.signal))[
        Symbol.asyncIterator
      ]()
    try {
      const admitting = extra ? undefined : this.#admit(name, args, epoch)
      const items = admitting ? begunAfter(admitting, begin) : begin()
      const serving = { items, stop, busy: false, pulls: batchesAhead }
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

async function* begunAfter(
  admitting: Promise<void>,
  begin: () => AsyncIterator<readonly unknown[]>,
): AsyncGenerator<readonly unknown[]> {
  await admitting
  yield* { [Symbol.asyncIterator]: begin }
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
