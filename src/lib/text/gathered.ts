/**
 * A text that comes in very many pieces. A string to which each piece is added keeps every piece alive until it is read, and the
 * collector of garbage has to move them all; so pieces are joined block by block.
 */
export class GatheredText {
  #text: string
  #pieces: string[] = []

  constructor(text = '') {
    this.#text = text
  }

  add(piece: string): void {
    if (this.#pieces.push(piece) === piecesAtOnce) this.#join()
  }

  /** All pieces so far. */
  get whole(): string {
    if (this.#pieces.length > 0) this.#join()
    return this.#text
  }

  #join(): void {
    this.#text += this.#pieces.join('')
    this.#pieces = []
  }
}

const piecesAtOnce = 500
