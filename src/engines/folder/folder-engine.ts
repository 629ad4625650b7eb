// The engine of a data folder, wherever it runs. When the folder changes hands, calls wait until the new owner answers, and
// readers go on in its engine, so that a user notices a pause and nothing else.
import { setTimeout as pause } from 'node:timers/promises'
import type {
  AttachedItem,
  AttachedTool,
  Engine,
  FollowItem,
  FollowOptions,
  LocalEngine,
  OnceItem,
  OnceRequest,
  SessionChange,
  SessionRef,
} from '../../engine/index.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import { stoppable } from '../../lib/async/stoppable.ts'
import { Reattachments } from '../moving/reattach.ts'
import { ResumedDeltas } from '../moving/resumed-deltas.ts'
import { type CallName, callByName, ForwardingEngine, isStopping, readNames } from '../socket/index.ts'
import { type FoundEngine, findEngine } from './find-engine.ts'
import type { FolderSetup, HandedOver } from './folder-owner.ts'
import { paymentCall, paymentsBy } from './folder-payments.ts'

/** How long a server waits for the tools of the process that had the folder before. */
const reattachMs = 2000

export class FolderEngine extends ForwardingEngine {
  readonly #setup: FolderSetup
  #found: Promise<FoundEngine> | undefined
  /** The engine of a server. It stays until the process ends, so calls need not look for it. */
  #fixed: LocalEngine | undefined
  readonly #attachments = new Reattachments()
  #serverComes = false
  #closed = false

  constructor(setup: FolderSetup) {
    super()
    this.#setup = setup
  }

  /** Payments of the folder, wherever its engine runs. A change that was made and not answered is refused the next time. */
  readonly payments = paymentsBy(async (name, args) => {
    for (;;) {
      const found = await this.#find()
      try {
        return await paymentCall(found.payments, name, args)
      } catch (error) {
        if (this.#closed || !(isStopping(error) || found.over)) throw error
      }
      await found.untilGone()
    }
  })

  /** The engine of this process, if it has the folder. */
  async local(): Promise<LocalEngine | undefined> {
    return (await this.#find()).owner?.engine
  }

  /**
   * Takes the folder from a process that is no server, and keeps it. Rejects with `config_invalid` if a server has it.
   */
  async becomeServer(): Promise<void> {
    let before: HandedOver = { attachments: false }
    for (;;) {
      const found = await this.#find()
      const { owner, remote } = found
      if (owner && !owner.leaving) {
        owner.isServer = true
        this.#fixed = owner.engine
        // Sessions go on with the tools that they had.
        if (before.attachments) await Promise.race([owner.reattached, pause(reattachMs)])
        return
      }
      try {
        if (remote) before = (await remote.ask('handOver')) as HandedOver // An owner answers with this.
      } catch (error) {
        if (!found.over) throw error
      }
      await found.untilGone()
      // The server that the folder is given up for is this one.
      this.#serverComes = false
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const found = await this.#found?.catch(() => undefined)
    await found?.close()
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    // Each call gives a promise of its own type; which one is lost on the way through a variable name.
    if (this.#fixed) return callByName(this.#fixed, name, args) as ReturnType<Engine[Name]>
    return this.#forward(name, args) as ReturnType<Engine[Name]>
  }

  async #forward(name: CallName, args: unknown[]): Promise<unknown> {
    for (;;) {
      const found = await this.#findAttached(name)
      try {
        // A tool that the owner waits for while it stops may still report.
        if (!found.owner?.leaving || name === 'report') return await callByName(found.engine, name, args)
      } catch (error) {
        const mayRepeat = isStopping(error) || (found.over && readNames.some(read => read === name))
        if (this.#closed || !mayRepeat) throw error
      }
      await found.untilGone()
    }
  }

  #find(): Promise<FoundEngine> {
    if (this.#closed)
      return Promise.reject(new TurnwireError('stopping', 'Turnwire was closed. Open it again first.'))
    this.#found ??= this.#look()
    return this.#found
  }

  /** The same, once the tools of this process are attached to it. A report needs no such wait. */
  async #findAttached(name?: CallName): Promise<FoundEngine> {
    const found = await this.#find()
    if (name !== 'report') await this.#attachments.done
    return found
  }

  async #look(): Promise<FoundEngine> {
    try {
      const options = { server: this.#serverComes, hasAttachments: () => this.#attachments.any }
      const found = await findEngine(this.#setup, options)
      this.#serverComes = false
      void found.ended.then(({ server }) => {
        this.#serverComes = server
        this.#found = undefined
        this.#attachments.begin(() => void this.#tellReattached())
      })
      return found
    } catch (error) {
      this.#found = undefined
      throw error
    }
  }

  async #tellReattached(): Promise<void> {
    try {
      await (await this.#find()).remote?.ask('reattached')
    } catch {
      // The new owner does not wait for long.
    }
  }

  // ---- streams ---------------------------------------------------------------------------------------------

  follow(
    ref: SessionRef,
    options: FollowOptions,
    signal?: AbortSignal,
  ): AsyncIterable<readonly FollowItem[]> {
    if (this.#fixed) return this.#fixed.follow(ref, options, signal)
    return stoppable(stop => this.#follow(ref, options, stop), signal)
  }

  async *#follow(
    ref: SessionRef,
    options: FollowOptions,
    stop: AbortSignal,
  ): AsyncGenerator<readonly FollowItem[]> {
    const deltas = new ResumedDeltas(options.deltas)
    // A reader that is moved must know where it was, also before the first event.
    let from = options.from ?? (await this.summary(ref)).seq + 1
    for (;;) {
      const found = await this.#findAttached()
      let moved = false
      for await (const batch of found.engine.follow(ref, { ...options, from, deltas: deltas.mode }, stop)) {
        const items: FollowItem[] = []
        for (const item of batch) {
          if (item.type === 'lost') moved = this.#hasMoved(item, found) && !options.replay
          if (moved) break
          if (item.type === 'event') from = item.seq + 1
          if (!takeItem(deltas, item, items)) {
            yield items
            return
          }
        }
        if (items.length > 0) yield items
      }
      if (!moved || stop.aborted) return
      await found.untilGone()
      const items: FollowItem[] = []
      deltas.moved(item => items.push(item))
      if (items.length > 0) yield items
    }
  }

  #hasMoved({ error }: Extract<FollowItem, { type: 'lost' }>, found: FoundEngine): boolean {
    return !this.#closed && (error.code === 'stopping' || found.over)
  }

  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]> {
    if (this.#fixed) return this.#fixed.answerOnce(request, signal)
    return stoppable(stop => this.#answerOnce(request, stop), signal)
  }

  async *#answerOnce(request: OnceRequest, stop: AbortSignal): AsyncGenerator<readonly OnceItem[]> {
    for (;;) {
      const found = await this.#findAttached()
      let begun = false
      try {
        for await (const batch of found.engine.answerOnce(request, stop)) {
          begun = true
          yield batch
        }
        return
      } catch (error) {
        if (begun || this.#closed || !(isStopping(error) || found.over)) throw error
      }
      await found.untilGone()
    }
  }

  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]> {
    if (this.#fixed) return this.#fixed.changes(signal)
    return stoppable(stop => this.#changes(stop), signal)
  }

  async *#changes(stop: AbortSignal): AsyncGenerator<readonly SessionChange[]> {
    while (!stop.aborted) {
      const found = await this.#find()
      yield* found.engine.changes(stop)
      if (this.#closed || !found.over) return
      await found.untilGone()
    }
  }

  attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
  ): AsyncIterable<readonly AttachedItem[]> {
    if (this.#fixed) return this.#fixed.attach(ref, tools, signal)
    return stoppable(stop => this.#attach(ref, tools, stop), signal)
  }

  async *#attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    stop: AbortSignal,
  ): AsyncGenerator<readonly AttachedItem[]> {
    this.#attachments.add()
    try {
      for (let isKnown = false; !stop.aborted; ) {
        const found = await this.#find()
        try {
          for await (const batch of found.engine.attach(ref, tools, stop)) {
            const isAttached = batch[0]?.type === 'attached'
            if (isAttached) this.#attachments.attached()
            const items = isAttached && isKnown ? batch.slice(1) : batch
            isKnown ||= isAttached
            if (items.length > 0) yield items
          }
        } catch (error) {
          if (!isStopping(error)) throw error
        }
        // In an engine that goes on, the session was lost, or the reader left.
        if (this.#closed || !found.over) return
        await found.untilGone()
      }
    } finally {
      this.#attachments.remove()
    }
  }
}

/** False: the mode cannot show what the model did, and the stream ends. */
function takeItem(deltas: ResumedDeltas, item: FollowItem, items: FollowItem[]): boolean {
  try {
    deltas.take(item, given => items.push(given))
    return true
  } catch (error) {
    const { code, message } = publicError(error)
    items.push({ type: 'lost', error: { code, message } })
    return false
  }
}
