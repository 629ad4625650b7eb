// Cuts text into the pieces that clients are sent. The cuts depend on the text alone, not on how it arrived, so an answer has
// the same pieces with the same numbers whether it is shown live or read from the log.
import type { HostedPart } from '../../language/content.ts'
import type { Reasoning, TextDelta } from './schema.ts'

export type Piece = TextDelta | Reasoning
type PieceKind = 'text' | 'thinking'

/** A piece is a word and the space after it. Longer words are cut. */
const longestPiece = 24

export class Pieces {
  #kind: PieceKind = 'text'
  #text = ''

  /** The pieces that are complete now. The last one is held back until its end is known. */
  add(kind: PieceKind, text: string): Piece[] {
    const pieces = kind === this.#kind ? [] : this.flush()
    this.#kind = kind
    this.#text += text
    let from = 0
    for (let at = 1; at < this.#text.length; at += 1) {
      if (!this.#cutsAt(from, at)) continue
      pieces.push(makePiece(kind, this.#text.slice(from, at)))
      from = at
    }
    this.#text = this.#text.slice(from)
    return pieces
  }

  flush(): Piece[] {
    const text = this.#text
    this.#text = ''
    return text === '' ? [] : [makePiece(this.#kind, text)]
  }

  #cutsAt(from: number, at: number): boolean {
    const before = this.#text.charCodeAt(at - 1)
    const here = this.#text.charCodeAt(at)
    if (isSpace(before) && !isSpace(here)) return true
    const tearsPair = (before & 0xfc00) === 0xd800 && (here & 0xfc00) === 0xdc00
    return at - from >= longestPiece && !tearsPair
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d
}

function makePiece(kind: PieceKind, text: string): Piece {
  return kind === 'text' ? { type: 'text_delta', delta: text } : { type: 'reasoning', text }
}

/** The text for a tool that the vendor ran itself. It is shown as reasoning, after the answer. */
export function hostedText({ tool, summary }: HostedPart): string {
  return `[${tool}] ${summary}\n`
}

function textOfPiece(piece: Piece): string {
  return piece.type === 'text_delta' ? piece.delta : piece.text
}

export function samePiece(one: Piece | undefined, other: Piece): boolean {
  return one?.type === other.type && textOfPiece(one) === textOfPiece(other)
}
