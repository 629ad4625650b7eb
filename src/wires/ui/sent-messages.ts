// How far messages were sent over sockets, so that a client whose socket was lost can go on after the last chunk that it has. The
// same message is not cut into the same chunks each time, so a place in it is counted in characters of text, and one for any other
// chunk. A hash of all that is before a place shows whether a message that is made again from the log is the same up to there.
// This process alone knows it: on other nodes and after a restart a message is resumed from its start.
import type { OpenMessage } from './chats.ts'
import type { Chunk } from './schema.ts'

export type Place = { units: number; hash: number }

const start: Place = { units: 0, hash: 0 }
/** Of one chat: streams that may be resumed. A chat has one for each page that shows it. */
const mostStreams = 8
/** Of one message. A longer one is resumed from its start. */
const mostChunks = 50_000
/** Of all messages. The chats that were shown first make room. */
const mostPlaces = 300_000
const mostChats = 1_000

function textIn(chunk: Chunk): string | undefined {
  if ('delta' in chunk) return chunk.delta
  return 'inputTextDelta' in chunk ? chunk.inputTextDelta : undefined
}

function withText(chunk: Chunk, text: string): Chunk {
  if ('delta' in chunk) return { ...chunk, delta: text }
  return 'inputTextDelta' in chunk ? { ...chunk, inputTextDelta: text } : chunk
}

/** The place after this chunk. The same text gives the same place, however it is cut. */
function placeAfter({ units, hash }: Place, chunk: Chunk): Place {
  const text = textIn(chunk)
  const counted = text ?? JSON.stringify(chunk)
  let next = hash
  for (let at = 0; at < counted.length; at += 1) next = (Math.imul(next, 31) + counted.charCodeAt(at)) | 0
  return { units: units + (text?.length ?? 1), hash: next }
}

/** How many places are kept, of all messages. */
type Count = { places: number }
/** What is needed to show it again. */
type Opened = Omit<OpenMessage, 'items'>

/** The chunks that one request was sent of a message. */
export class SentMessage {
  readonly opened: Opened
  readonly #count: Count
  /** By the chunk's number: the place after it. Undefined: they are kept no longer. */
  #places: Place[] | undefined
  /** The client was told that the message is over. */
  isOver = false

  constructor(opened: Opened, count: Count, places: Place[] = []) {
    this.opened = opened
    this.#count = count
    this.#places = places
    count.places += places.length
  }

  get isKept(): boolean {
    return this.#places !== undefined
  }

  get size(): number {
    return this.#places?.length ?? 0
  }

  add(chunk: Chunk): void {
    if (!this.#places) return
    this.#places.push(placeAfter(this.#places.at(-1) ?? start, chunk))
    this.#count.places += 1
    if (this.size > mostChunks) this.forget()
  }

  placeOf(sequence: number): Place | undefined {
    return this.#places?.[sequence]
  }

  /** In its place, for a client that has the chunks up to this one and none after it. */
  cutAfter(sequence: number): SentMessage {
    const places = this.#places?.slice(0, sequence + 1)
    this.forget()
    return new SentMessage(this.opened, this.#count, places)
  }

  forget(): void {
    this.#count.places -= this.size
    this.#places = undefined
  }
}

export class SentMessages {
  /** By session, the last shown last. */
  readonly #chats = new Map<string, SentMessage[]>()
  readonly #count: Count = { places: 0 }

  /** A message that a request has begun. */
  begin({ ref, message, begun }: OpenMessage): SentMessage {
    const { before } = message
    // Not the whole summary of the session, which may be large.
    const known = before && { before: { calls: before.calls, ...(before.turn && { turn: before.turn }) } }
    return this.#add(new SentMessage({ ref, begun, message: { ...message, ...known } }, this.#count))
  }

  /**
   * A message that is shown from its start to a client that may have had a part of it. Undefined: its first stream is not known
   * here, whose chunks had other numbers, so neither can be resumed by a number.
   */
  beginAgain(opened: OpenMessage): SentMessage | undefined {
    const { ref, begun } = opened
    const known = this.#chats.get(ref.session)?.some(each => each.opened.begun.first === begun.first)
    return known ? this.begin(opened) : undefined
  }

  /** The message whose chunk of this number a client has. Undefined: it is not known, or it could be one of several. */
  resume(session: string, sequence: number): { sent: SentMessage; after: Place } | undefined {
    const [found, ...others] = (this.#chats.get(session) ?? []).filter(({ size }) => size > sequence)
    const after = found?.placeOf(sequence)
    if (!found || !after || others.some(other => !isSame(other, found, sequence))) return undefined
    return { sent: this.#add(found.cutAfter(sequence)), after }
  }

  #add(message: SentMessage): SentMessage {
    const { session } = message.opened.ref
    const sent = [...(this.#chats.get(session) ?? []), message]
    const kept = sent.filter(each => each === message || (!each.isOver && each.isKept)).slice(-mostStreams)
    for (const each of sent) if (!kept.includes(each)) each.forget()
    // The last shown last.
    this.#chats.delete(session)
    this.#chats.set(session, kept)
    for (const [oldest, given] of this.#chats) {
      const isFull = this.#count.places > mostPlaces || this.#chats.size > mostChats
      if (!isFull || oldest === session) break
      for (const each of given) each.forget()
      this.#chats.delete(oldest)
    }
    return message
  }
}

function isSame(one: SentMessage, other: SentMessage, sequence: number): boolean {
  const [a, b] = [one.placeOf(sequence), other.placeOf(sequence)]
  const { first } = one.opened.begun
  return first === other.opened.begun.first && a?.units === b?.units && a?.hash === b?.hash
}

/** Of a message from its start: what comes after a place. */
export class AfterPlace {
  readonly #after: Place
  #at = start

  constructor(after: Place) {
    this.#after = after
  }

  /** False: the message was not the same up to the place, or has not come to it. */
  get isReached(): boolean {
    return this.#at.units === this.#after.units && this.#at.hash === this.#after.hash
  }

  /** Undefined: the message is not the one that was begun. */
  take(chunks: readonly Chunk[]): readonly Chunk[] | undefined {
    const rest: Chunk[] = []
    for (const chunk of chunks) {
      const left = this.#after.units - this.#at.units
      if (left === 0) {
        rest.push(chunk)
        continue
      }
      const text = textIn(chunk) ?? ''
      this.#at = placeAfter(this.#at, text.length > left ? withText(chunk, text.slice(0, left)) : chunk)
      if (this.#at.units === this.#after.units && !this.isReached) return undefined
      if (text.length > left) rest.push(withText(chunk, text.slice(left)))
    }
    return rest
  }
}
