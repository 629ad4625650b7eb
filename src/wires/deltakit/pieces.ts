// Cuts text into the pieces that clients are sent. Where it cuts depends on the text alone, never on how it arrived: so
// the same answer has the same pieces, with the same numbers, whether it is shown live or read back from the log.
import type { AnswerPart } from '../../language/history.ts'
import type { Reasoning, TextDelta } from './schema.ts'

export type Piece = TextDelta | Reasoning
type Kind = 'text' | 'thinking'

/** A piece is a word and the space after it; a word may not be longer than this. */
const longest = 24

export class Pieces {
  #kind: Kind = 'text'
  #text = ''

  /** The pieces that are whole now. The last one is held back until it is known where it ends. */
  add(kind: Kind, text: string): Piece[] {
    const pieces = kind === this.#kind ? [] : this.flush()
    this.#kind = kind
    this.#text += text
    let from = 0
    for (let at = 1; at < this.#text.length; at += 1) {
      if (!this.#cutsAt(from, at)) continue
      pieces.push(pieceOf(kind, this.#text.slice(from, at)))
      from = at
    }
    this.#text = this.#text.slice(from)
    return pieces
  }

  flush(): Piece[] {
    const text = this.#text
    this.#text = ''
    return text === '' ? [] : [pieceOf(this.#kind, text)]
  }

  #cutsAt(from: number, at: number): boolean {
    const before = this.#text.charCodeAt(at - 1)
    const here = this.#text.charCodeAt(at)
    if (isSpace(before) && !isSpace(here)) return true
    const tearsPair = (before & 0xfc00) === 0xd800 && (here & 0xfc00) === 0xdc00
    return at - from >= longest && !tearsPair
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d
}

function pieceOf(kind: Kind, text: string): Piece {
  return kind === 'text' ? { type: 'text_delta', delta: text } : { type: 'reasoning', text }
}

/** All that an answer says, less its calls. What a vendor ran on its own side is told as reasoning, last. */
export function piecesOf(parts: readonly AnswerPart[]): Piece[] {
  const cutter = new Pieces()
  const pieces: Piece[] = []
  for (const part of parts)
    if (part.type === 'text' || part.type === 'thinking') pieces.push(...cutter.add(part.type, part.text))
  for (const part of parts)
    if (part.type === 'hosted') pieces.push(...cutter.add('thinking', `[${part.tool}] ${part.summary}\n`))
  return [...pieces, ...cutter.flush()]
}

export function textOfPiece(piece: Piece): string {
  return piece.type === 'text_delta' ? piece.delta : piece.text
}

export function samePiece(one: Piece | undefined, other: Piece): boolean {
  return one?.type === other.type && textOfPiece(one) === textOfPiece(other)
}
