// Counts, by owner, the bytes that clients have not read yet and the memory for making the rest. An owner whose bytes
// grow past the limit, or whose further answers wait for room, loses the connections that have stood still for the
// longest; another owner's connections are not touched.
import { TurnwireError } from '../../language/errors.ts'
import type { SseWriter } from '../../lib/net/sse.ts'

/** Memory that an answer needs beside its unsent bytes, while it is made. */
export type Held = { bytes: number }

type UnsentWriter = Pick<SseWriter, 'unsent' | 'blockedMs' | 'drop'>
/** It has a writer once its first piece is made. */
export type Reader = { owner: string; held: Held; writer?: UnsentWriter }
type Account = { readers: Set<Reader>; waiting: { reader: Reader; admit: (reader: Reader) => void }[] }

const mostUnsent = 64 * 1024 * 1024
/** A client that reads is never blocked for this long. */
const standsStillMs = 1_000
const sweepMs = 250

export class UnsentBytes {
  readonly #accounts = new Map<string, Account>()
  #sweeping: NodeJS.Timeout | undefined

  /** Call the result when the connection is over. */
  watch(owner: string, writer: UnsentWriter): () => void {
    const reader = { owner, writer, held: { bytes: 0 } }
    this.#findAccount(owner).readers.add(reader)
    return () => this.leave(reader)
  }

  /** Waits until there is room for an answer that is made piece by piece. Pass the result to `leave` when it is over. */
  admit(owner: string, held: Held): Promise<Reader> {
    const account = this.#findAccount(owner)
    const reader: Reader = { owner, held }
    return new Promise(resolve => {
      account.waiting.push({ reader, admit: resolve })
      admitNext(account)
    })
  }

  leave(reader: Reader): void {
    const account = this.#findAccount(reader.owner)
    account.readers.delete(reader)
    if (account.waiting.length > 0) admitNext(account)
    if (account.readers.size === 0) this.#accounts.delete(reader.owner)
    if (this.#accounts.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  /** Refuses a further answer to an owner that does not read those it has. One answer may have any size. */
  refuseIfFull(owner: string, bytes: number): void {
    const account = this.#accounts.get(owner)
    if (account === undefined || hasRoom(account, bytes)) return
    throw new TurnwireError(
      'rate_limited',
      'Answers to you that nobody reads take too much memory. Read them to their end, then ask again.',
    )
  }

  #findAccount(owner: string): Account {
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref()
    const account = this.#accounts.get(owner) ?? { readers: new Set(), waiting: [] }
    this.#accounts.set(owner, account)
    return account
  }

  #sweep(): void {
    for (const account of this.#accounts.values()) {
      const wanted = account.waiting.reduce(
        (sum, { reader }) => sum + readerUnsent(reader),
        accountUnsent(account),
      )
      if (wanted > mostUnsent) dropSlowest(account.readers, wanted)
      admitNext(account)
    }
  }
}

function accountUnsent({ readers }: Account): number {
  let unsent = 0
  for (const reader of readers) unsent += readerUnsent(reader)
  return unsent
}

function readerUnsent({ writer, held }: Reader): number {
  return (writer?.unsent ?? 0) + held.bytes
}

function hasRoom(account: Account, bytes: number): boolean {
  const unsent = accountUnsent(account)
  return unsent === 0 || unsent + bytes <= mostUnsent
}

/** First come, first served. */
function admitNext(account: Account): void {
  for (let next = account.waiting[0]; next !== undefined; next = account.waiting[0]) {
    if (!hasRoom(account, readerUnsent(next.reader))) return
    account.waiting.shift()
    account.readers.add(next.reader)
    next.admit(next.reader)
  }
}

function dropSlowest(readers: ReadonlySet<Reader>, wanted: number): void {
  const blockedMs = ({ writer }: Reader): number => writer?.blockedMs ?? 0
  const still = [...readers].filter(reader => blockedMs(reader) >= standsStillMs)
  let left = wanted
  for (const reader of still.sort((a, b) => blockedMs(b) - blockedMs(a))) {
    if (left <= mostUnsent) return
    left -= readerUnsent(reader)
    reader.writer?.drop()
  }
}

/** Memory is the process's, so there is one account for all servers in it. */
export const unsentBytes = new UnsentBytes()
