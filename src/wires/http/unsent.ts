// What clients have asked for and not read yet, by owner. An owner whose unread bytes grow past the limit loses the
// connections that have stood still for the longest; another owner's connections are not touched.
import { TurnwireError } from '../../language/errors.ts'
import type { SseWriter } from '../../lib/sse.ts'

type Reader = { owner: string; writer: Pick<SseWriter, 'unsent' | 'blockedMs' | 'drop'> }

const mostUnsent = 64 * 1024 * 1024
/** A client that reads is never blocked for this long. */
const standsStillMs = 1_000
const sweepMs = 1_000

export class UnsentBytes {
  readonly #readers = new Set<Reader>()
  #sweeping: NodeJS.Timeout | undefined

  /** Call the result when the connection is over. */
  watch(owner: string, writer: Reader['writer']): () => void {
    const reader = { owner, writer }
    this.#readers.add(reader)
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref()
    return () => {
      this.#readers.delete(reader)
      if (this.#readers.size > 0) return
      clearInterval(this.#sweeping)
      this.#sweeping = undefined
    }
  }

  /** Refuses a further answer to an owner that does not read those it has. One answer may have any size. */
  refuseIfFull(owner: string, bytes: number): void {
    let unsent = 0
    for (const reader of this.#readers) if (reader.owner === owner) unsent += reader.writer.unsent
    if (unsent === 0 || unsent + bytes <= mostUnsent) return
    throw new TurnwireError(
      'rate_limited',
      'Answers to you that nobody reads take too much memory. Read them to their end, then ask again.',
    )
  }

  #sweep(): void {
    const byOwner = new Map<string, { unsent: number; readers: Reader[] }>()
    for (const reader of this.#readers) {
      const { unsent } = reader.writer
      if (unsent === 0) continue
      const sum = byOwner.get(reader.owner) ?? { unsent: 0, readers: [] }
      byOwner.set(reader.owner, sum)
      sum.unsent += unsent
      sum.readers.push(reader)
    }
    for (const { unsent, readers } of byOwner.values()) if (unsent > mostUnsent) dropSlowest(readers, unsent)
  }
}

function dropSlowest(readers: readonly Reader[], unsent: number): void {
  const still = readers.filter(({ writer }) => writer.blockedMs >= standsStillMs)
  let left = unsent
  for (const { writer } of still.sort((a, b) => b.writer.blockedMs - a.writer.blockedMs)) {
    if (left <= mostUnsent) return
    left -= writer.unsent
    writer.drop()
  }
}

/** Memory is the process's, so there is one account for all servers in it. */
export const unsentBytes = new UnsentBytes()
