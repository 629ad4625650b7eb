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
  const streams = new Map<number, Serving>()
  const send = (reply: LinkReply): void => channel.send(reply)

  const answer = async (id: number, name: string, args: unknown[]): Promise<void> => {
    try {
      const value = Object.hasOwn(extra, name) ? await extra[name]?.() : await call(engine, name, args)
      send({ type: 'result', id, value })
    } catch (error) {
      send({ type: 'error', id, error: plainError(error) })
    }
  }

  const pump = async (id: number, serving: Serving): Promise<void> => {
    if (serving.busy) return
    serving.busy = true
    try {
      while (serving.pulls > 0) {
        const { value, done } = await serving.items.next()
        if (done) {
          end(id, { type: 'end', id })
          return
        }
        serving.pulls -= 1
        send({ type: 'batch', id, items: value })
      }
      serving.busy = false
    } catch (error) {
      end(id, { type: 'error', id, error: plainError(error) })
    }
  }

  const end = (id: number, reply: LinkReply): void => {
    if (streams.delete(id)) send(reply)
  }

  const open = (id: number, name: string, args: unknown[]): void => {
    const stop = new AbortController()
    try {
      const items = stream(engine, name, args, stop.signal)[Symbol.asyncIterator]()
      const serving = { items, stop, busy: false, pulls: 1 }
      streams.set(id, serving)
      void pump(id, serving)
    } catch (error) {
      send({ type: 'error', id, error: plainError(error) })
    }
  }

  channel.onMessage(message => {
    const request = message as LinkRequest // The peer runs the same version: it said so first.
    const serving = streams.get(request.id)
    if (request.type === 'call') void answer(request.id, request.name, request.args)
    else if (request.type === 'open') open(request.id, request.name, request.args)
    else if (request.type === 'pull' && serving) {
      serving.pulls += 1
      void pump(request.id, serving)
    } else if (request.type === 'cancel' && serving) {
      streams.delete(request.id)
      leave(serving)
    }
  })
  void channel.closed.then(() => {
    for (const serving of streams.values()) leave(serving)
    streams.clear()
  })
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
