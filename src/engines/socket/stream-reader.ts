// The reader's end of one stream over a channel. A few batches are asked for ahead, so that a fast reader does not wait for a
// round trip each time, and a slow one has no more than these in memory.
import type { TurnwireError } from '../../language/errors.ts'
import { batchesAhead, type LinkReply, type LinkRequest, remadeError } from './protocol.ts'

type StreamResult<Item> = IteratorResult<readonly Item[]>
type Link = {
  id: number
  send(request: LinkRequest): void
  /** No reply to this id is expected any more. */
  forget(): void
}

export class StreamReader<Item> implements AsyncIterator<readonly Item[]> {
  /** A last batch for a reader whose channel is lost; undefined: the reader gets the error. */
  readonly #lastBatch: (error: TurnwireError) => readonly Item[] | undefined
  #link: Link | undefined
  #batches: (readonly Item[])[] = []
  /** Batches that were read since the last `pull`. */
  #taken = 0
  #ended = false
  #failure: TurnwireError | undefined
  #wake: (() => void) | undefined
  #unlisten: (() => void) | undefined

  constructor(lastBatch: (error: TurnwireError) => readonly Item[] | undefined) {
    this.#lastBatch = lastBatch
  }

  begin(
    link: Link,
    request: { name: string; args: unknown[]; epoch?: number },
    signal: AbortSignal | undefined,
  ): void {
    this.#link = link
    if (signal?.aborted) {
      this.#end()
      return
    }
    const cancel = (): void => void this.return()
    signal?.addEventListener('abort', cancel, { once: true })
    this.#unlisten = () => signal?.removeEventListener('abort', cancel)
    link.send({ type: 'open', id: link.id, ...request })
  }

  take(reply: LinkReply): void {
    if (reply.type === 'batch') {
      this.#batches.push(reply.items as readonly Item[]) // The stream of this name gives such items.
      this.#wakeReader()
      return
    }
    if (reply.type === 'error') this.#failure = remadeError(reply.error)
    this.#end()
  }

  lose(error: TurnwireError): void {
    const last = this.#lastBatch(error)
    if (!last) this.#failure = error
    else if (last.length > 0) this.#batches.push(last)
    this.#end()
  }

  async next(): Promise<StreamResult<Item>> {
    while (this.#batches.length === 0 && !this.#ended)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    const value = this.#batches.shift()
    if (value) {
      this.#taken += 1
      if (this.#taken === batchesAhead / 2) this.#pull()
      return { value, done: false }
    }
    const failure = this.#failure
    this.#failure = undefined
    if (failure) throw failure
    return { value: undefined, done: true }
  }

  async return(): Promise<StreamResult<Item>> {
    if (!this.#ended && this.#link) this.#link.send({ type: 'cancel', id: this.#link.id })
    this.#batches = []
    this.#failure = undefined
    this.#end()
    return { value: undefined, done: true }
  }

  /** Half of what may be ahead, so that the stream does not stop meanwhile. */
  #pull(): void {
    if (!this.#ended && this.#link) this.#link.send({ type: 'pull', id: this.#link.id, batches: this.#taken })
    this.#taken = 0
  }

  #end(): void {
    this.#ended = true
    this.#unlisten?.()
    this.#unlisten = undefined
    this.#link?.forget()
    this.#wakeReader()
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
