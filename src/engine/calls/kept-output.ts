// An output that is too large for the model and for memory: taken from a tool piece by piece, redacted and written to
// the store as it comes, with a bounded preview and a digest. The output becomes visible only once it is whole.
import { createHash } from 'node:crypto'
import { type KeptOutput, keptName, readOutputName } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isSnapshotName } from '../log/snapshots.ts'
import type { SessionRef } from '../ports/boundary.ts'
import type { BlobRange, Live, Store, ToolOutput } from '../ports/index.ts'
import { refuseIfFull } from '../rules/limits.ts'
import type { CallSession } from './call-session.ts'

/** The most bytes that one read gives. */
const mostRange = 1024 * 1024

/** Bytes of a kept output, for its owner. */
export async function readRange(
  store: Store,
  { owner, session }: SessionRef,
  name: string,
  from: number,
  length: number,
): Promise<BlobRange> {
  if (![from, length].every(value => Number.isSafeInteger(value) && value >= 0))
    throw new TurnwireError('bad_request', 'A range of bytes is given by two whole numbers from 0 up.')
  const row = await store.row(session)
  const found =
    row?.owner === owner && !isSnapshotName(name)
      ? await store.blobRange(session, name, from, Math.min(length, mostRange))
      : undefined
  if (!found) throw new TurnwireError('not_found', 'There is nothing kept under this name.')
  return found
}

// ---- taking ------------------------------------------------------------------------------------------------------

/** How much is written at once. It is also about what an output takes in memory, beside its preview. */
const pieceBytes = 512 * 1024
const smallText = 16 * 1024
/** Whether an output is text is seen from its beginning. */
const sniffed = 64 * 1024

export type Taken = { output: ToolOutput; kept?: KeptOutput }

/**
 * Reads the stream of an output to its end. A short one becomes the output's text. Of a longer one that text is a preview
 * of `limit` bytes, and the whole is kept. Rejects if the tool fails, if `signal` aborts, or if the session has no room;
 * then nothing is kept.
 */
export async function takeStream(
  session: CallSession,
  callId: string,
  { stream, ...output }: ToolOutput,
  limit: number,
  signal: AbortSignal,
): Promise<Taken> {
  const keeper = new OutputKeeper(session, callId, limit)
  const source = stream![Symbol.asyncIterator]()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    // One race for all of it: each race would leave something behind until the signal aborts.
    const { text, kept } = await Promise.race([pump(source, keeper), aborted.promise])
    return { output: { ...output, parts: [...output.parts, { type: 'text', text }] }, ...(kept && { kept }) }
  } catch (error) {
    // A stream that does not heed its end must not hold the call.
    void Promise.resolve(source.return?.()).catch(() => {})
    await keeper.drop()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function pump(
  source: AsyncIterator<string | Uint8Array>,
  keeper: OutputKeeper,
): Promise<{ text: string; kept?: KeptOutput }> {
  for (;;) {
    const next = await source.next()
    if (next.done === true) return keeper.end()
    const writing = keeper.take(next.value)
    if (writing) await writing
  }
}

class OutputKeeper {
  readonly #session: CallSession
  readonly #callId: string
  readonly #limit: number
  readonly #hash = createHash('sha256')
  /** Set once it is known whether the output is text. */
  #kind: 'text' | 'binary' | undefined
  readonly #decoder = new TextDecoder()
  #live: Live | undefined
  /** Not yet looked at, while the kind is unknown; then not yet written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #written = 0
  #dropped = false
  #half = ''
  /** Short pieces of text, until there are enough of them to be worth the work. */
  #small = ''
  #size = 0
  readonly #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0

  constructor(session: CallSession, callId: string, limit: number) {
    this.#session = session
    this.#callId = callId
    this.#limit = limit
  }

  /** Gives a promise when the tool should wait for the store. */
  take(piece: string | Uint8Array): Promise<void> | undefined {
    if (this.#dropped) throw new Error('The output is no longer wanted.')
    if (typeof piece === 'string') {
      this.#small += piece
      if (this.#small.length < smallText) return undefined
      this.#process(this.#takeSmall())
    } else if (piece instanceof Uint8Array) {
      if (this.#small !== '') this.#process(this.#takeSmall())
      this.#process(piece)
    } else throw new TypeError('A tool streamed something that is neither text nor bytes.')
    const isDue = this.#kind !== undefined && this.#size > this.#limit && this.#waitingBytes >= pieceBytes
    return isDue ? this.#writeDue() : undefined
  }

  #takeSmall(): string {
    const text = this.#small
    this.#small = ''
    return text
  }

  #process(piece: string | Uint8Array): void {
    if (this.#kind !== undefined) {
      this.#add(this.#clean(piece))
      return
    }
    const bytes = typeof piece === 'string' ? Buffer.from(this.#joined(piece)) : Buffer.from(piece)
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= sniffed) this.#look()
  }

  async #writeDue(): Promise<void> {
    while (this.#waitingBytes >= pieceBytes) await this.#write(false)
  }

  async end(): Promise<{ text: string; kept?: KeptOutput }> {
    if (this.#small !== '') this.#process(this.#takeSmall())
    if (this.#kind === undefined) this.#look()
    if (this.#live || this.#kind === 'text') this.#add(this.#rest())
    if (this.#size <= this.#limit && this.#kind === 'text')
      return { text: Buffer.concat(this.#waiting).toString() }
    await this.#write(true)
    const kept: KeptOutput = {
      blob: keptName(this.#callId),
      bytes: this.#size,
      sha256: this.#hash.digest('hex'),
      ...(this.#kind === 'binary' && { binary: true }),
    }
    return { text: this.#preview(), kept }
  }

  /** Removes what was written. Nobody has seen it. */
  async drop(): Promise<void> {
    this.#dropped = true
    if (this.#written === 0) return
    await dropKept(this.#session, this.#callId, this.#written).catch(() => {})
  }

  /** Decides what it is by its beginning, and goes on with that. */
  #look(): void {
    const begun = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    this.#kind = isTextPart(begun) ? 'text' : 'binary'
    if (this.#kind === 'text') this.#live = this.#session.agent.gate.live()
    this.#add(this.#clean(begun))
  }

  /** Text is made well-formed and redacted before any of it is written. */
  #clean(piece: string | Uint8Array): Buffer {
    if (this.#kind === 'binary') return Buffer.from(piece as string) // Either of its types will do.
    const text =
      typeof piece === 'string' ? this.#joined(piece) : this.#decoder.decode(piece, { stream: true })
    return Buffer.from(this.#live ? this.#live.take(text) : text)
  }

  /** Holds back the first half of a pair: its other half is the next piece's. */
  #joined(piece: string): string {
    const text = this.#half + piece
    this.#half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : ''
    return this.#half === '' ? text : text.slice(0, -1)
  }

  #rest(): Buffer {
    const text = this.#decoder.decode() + this.#half
    return Buffer.from(this.#live ? this.#live.take(text) + this.#live.rest() : text)
  }

  #add(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#hash.update(bytes)
    this.#size += bytes.length
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#headBytes < this.#limit) {
      const head = Buffer.from(bytes.subarray(0, this.#limit - this.#headBytes))
      this.#head.push(head)
      this.#headBytes += head.length
    }
    // A copy: a part of a large piece would keep all of it in memory.
    const tail = bytes.length > this.#limit ? Buffer.from(bytes.subarray(-this.#limit)) : bytes
    this.#tail.push(tail)
    this.#tailBytes += tail.length
    // Not after each piece: pieces may be tiny.
    if (this.#tailBytes > 4 * this.#limit + pieceBytes) this.#tail = [this.#lastBytes()]
  }

  #lastBytes(): Buffer {
    const last = Buffer.from(Buffer.concat(this.#tail).subarray(-this.#limit))
    this.#tailBytes = last.length
    return last
  }

  async #write(isLast: boolean): Promise<void> {
    if (this.#dropped) throw new Error('The output is no longer wanted.')
    const piece = this.#gathered(isLast ? this.#waitingBytes : pieceBytes)
    const at = this.#written
    this.#written += piece.length
    await keepPiece(this.#session, this.#callId, at, piece, isLast)
  }

  /** Takes the first bytes off what waits, in memory of its own: a view of more would be copied whole to another thread. */
  #gathered(length: number): Buffer {
    const piece = Buffer.allocUnsafeSlow(length)
    let filled = 0
    let used = 0
    for (const bytes of this.#waiting) {
      if (filled === length) break
      const taken = bytes.copy(piece, filled)
      filled += taken
      if (taken < bytes.length) this.#waiting[used] = bytes.subarray(taken)
      else used += 1
    }
    this.#waiting.splice(0, used)
    this.#waitingBytes -= length
    return piece
  }

  #preview(): string {
    if (this.#kind === 'binary') return binaryNotice(this.#size, this.#callId)
    const notice = textNotice(this.#size, this.#size, this.#callId)
    const room = Math.max(this.#limit - Buffer.byteLength(notice), 64)
    const head = wholeStart(Buffer.concat(this.#head).subarray(0, Math.ceil(room / 2)))
    const tail = wholeEnd(this.#lastBytes().subarray(-Math.floor(room / 2)))
    const left = this.#size - Buffer.byteLength(head) - Buffer.byteLength(tail)
    return head + textNotice(left, this.#size, this.#callId) + tail
  }
}

async function keepPiece(
  session: CallSession,
  callId: string,
  at: number,
  bytes: Buffer,
  isLast: boolean,
): Promise<void> {
  refuseIfFull(session, bytes.length)
  session.blobBytes += bytes.length
  await session.ports.store.addPiece(session.id, keptName(callId), {
    epoch: session.epoch,
    at,
    bytes,
    ...(isLast && { last: true }),
  })
}

/** Removes what is kept of a call's output, whole or half. `counted`: how much of it the session has counted. */
export async function dropKept(session: CallSession, callId: string, counted = 0): Promise<void> {
  session.blobBytes -= counted
  const { id, epoch } = session
  await session.ports.store.addPiece(id, keptName(callId), { epoch, at: 0, bytes: new Uint8Array() })
}

function isTextPart(begun: Buffer): boolean {
  if (begun.includes(0)) return false
  try {
    // The last character may be cut.
    new TextDecoder('utf-8', { fatal: true }).decode(begun, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Without the character that is cut at the end. */
function wholeStart(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true })
}

/** Without the character that is cut at the beginning. */
function wholeEnd(bytes: Buffer): string {
  let start = 0
  while (start < Math.min(3, bytes.length) && (bytes[start]! & 0xc0) === 0x80) start += 1
  return bytes.subarray(start).toString()
}

function textNotice(left: number, size: number, callId: string): string {
  return `\n[… ${left} of ${size} bytes left out here. The whole output is kept. Read more of it, or search it, with the tool ${readOutputName} and the id ${callId}. …]\n`
}

function binaryNotice(size: number, callId: string): string {
  return `[${size} bytes that are not text. They are kept for the application under the call id ${callId}; they cannot be read here.]`
}
