// The engine of sessions that move from one process to another. A call or a stream goes to the engine that has its session;
// when that engine stops, is lost or gave the session up, it looks again and goes on there, so that a user notices a pause and
// nothing else. Subclasses say where to look: the process that has a data folder, or the node that has a session.
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
import { type CallName, callByName, ForwardingEngine, readNames } from '../../engine/ports/forward.ts'
import { hasCode, TurnwireError } from '../../language/errors.ts'
import { stoppable } from '../../lib/async/stoppable.ts'
import { isStopping } from '../socket/index.ts'
import { Attachments } from './attachments.ts'
import { lostItem, MovingReader } from './moving-reader.ts'
import type { Place, Search } from './place.ts'

export abstract class MovingEngine extends ForwardingEngine {
  readonly attachments = new Attachments()
  /** An engine that stays until the process ends: nothing is looked for. */
  protected fixed: Engine | undefined

  /** `about`: the first argument of the call or stream. */
  protected abstract locate(name: keyof Engine, about?: unknown): Search

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    const answer = this.fixed ? callByName(this.fixed, name, args) : this.#forward(name, args)
    return answer as ReturnType<Engine[Name]> // Each call gives a promise of its own type.
  }

  async #forward(name: CallName, args: unknown[]): Promise<unknown> {
    const search = this.locate(name, args[0])
    for (;;) {
      const place = await search.find()
      try {
        return await callByName(place.engine, name, args)
      } catch (error) {
        if (!mayRepeat(place, error, name, args)) throw error
        await search.again(error)
      }
    }
  }

  // ---- streams ---------------------------------------------------------------------------------------------

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
  ): AsyncIterable<readonly FollowItem[]> {
    if (this.fixed) return this.fixed.follow(ref, options, signal)
    return stoppable(stop => this.#follow(ref, options, stop), signal)
  }

  async *#follow(
    ref: SessionRef,
    options: FollowOptions,
    stop: AbortSignal,
  ): AsyncGenerator<readonly FollowItem[]> {
    const reader = new MovingReader(options)
    const search = this.locate('follow', ref)
    while (!stop.aborted) {
      let place: Place | undefined
      try {
        place = await search.find()
        // A reader that is moved must know where it was, also before the first event.
        reader.from ??= (await place.engine.summary(ref)).seq + 1
        for await (const batch of place.engine.follow(ref, reader.begin(), stop)) {
          const items = reader.take(batch, place)
          if (items.length > 0) {
            yield items
            search.renew()
          }
          if (reader.isOver) return
          if (reader.moved) break
        }
      } catch (error) {
        if (place ? !place.hasMoved(error) : !isElsewhere(error)) throw error
        reader.moved = error
      }
      if (!reader.moved || stop.aborted) return
      try {
        await search.again(reader.moved)
        const items = reader.goOn()
        if (items.length > 0) yield items
      } catch (error) {
        yield [lostItem(error)]
        return
      }
    }
  }

  attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
  ): AsyncIterable<readonly AttachedItem[]> {
    if (this.fixed) return this.fixed.attach(ref, tools, signal)
    return stoppable(stop => this.#attach(ref, tools, stop), signal)
  }

  async *#attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    stop: AbortSignal,
  ): AsyncGenerator<readonly AttachedItem[]> {
    this.attachments.add(ref.session)
    try {
      const search = this.locate('attach', ref)
      for (let isKnown = false; !stop.aborted; ) {
        let place: Place | undefined
        let moved: unknown = new TurnwireError('moved', 'The session is elsewhere now.')
        try {
          place = await search.find()
          for await (const batch of place.engine.attach(ref, tools, stop)) {
            search.renew()
            const isAttached = batch[0]?.type === 'attached'
            if (isAttached) this.attachments.attached()
            const items = isAttached && isKnown ? batch.slice(1) : batch
            isKnown ||= isAttached
            if (items.length > 0) yield items
          }
          // In an engine that goes on, the session was deleted, or the reader left.
          if (stop.aborted || !(await place.hasMovedQuietly())) return
        } catch (error) {
          if (!place?.hasMoved(error)) {
            if (isKnown && isStopping(error)) return
            throw error
          }
          moved = error
        }
        await search.again(moved)
      }
    } finally {
      this.attachments.remove(ref.session)
    }
  }

  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]> {
    if (this.fixed) return this.fixed.answerOnce(request, signal)
    return stoppable(stop => this.#answerOnce(request, stop), signal)
  }

  async *#answerOnce(request: OnceRequest, stop: AbortSignal): AsyncGenerator<readonly OnceItem[]> {
    const search = this.locate('answerOnce', request)
    for (;;) {
      const place = await search.find()
      let isBegun = false
      try {
        for await (const batch of place.engine.answerOnce(request, stop)) {
          isBegun = true
          yield batch
        }
        return
      } catch (error) {
        if (isBegun || !place.hasMoved(error)) throw error
        await search.again(error)
      }
    }
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    if (this.fixed) return this.fixed.changes(signal)
    return stoppable(stop => this.#changes(stop), signal)
  }

  async *#changes(stop: AbortSignal): AsyncGenerator<readonly SessionChange[]> {
    const search = this.locate('changes')
    while (!stop.aborted) {
      const place = await search.find()
      yield* place.engine.changes(stop)
      if (!(await place.hasMovedQuietly())) return
      await search.again(undefined)
    }
  }
}

/** Nobody has the session now, or nobody who can be reached. */
function isElsewhere(error: unknown): boolean {
  return hasCode(error, 'moved', 'stopping')
}

/** After `moved` and `stopping` nothing was recorded. After a lost lease or process that is not known. */
function mayRepeat(place: Place, error: unknown, name: CallName, args: readonly unknown[]): boolean {
  if (!place.hasMoved(error)) return false
  if (isElsewhere(error) || readNames.some(read => read === name)) return true
  return hasCode(error, 'lease_lost') && hasKey(name, args)
}

/** A request with a key is recorded once, however often it is made. */
function hasKey(name: CallName, args: readonly unknown[]): boolean {
  if (name !== 'command') return false
  const command = args[1] as Command // The second argument of `command`.
  return 'request' in command && command.request !== undefined
}
