// Writes streamed words as paragraphs: indented, and broken between words at the width of the terminal. Spaces are kept, so
// that code and tables keep their shape. The text is printable already.
import type { Style } from '../style.ts'

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const wordPieces = new RegExp(`\\n|[^\\S\\n]+|(?:${wide.source})|(?:(?!${wide.source})\\S)+`, 'gu')

export function columnWidth(text: string): number {
  let width = 0
  for (const char of text) width += wide.test(char) ? 2 : /\p{M}/u.test(char) ? 0 : 1
  return width
}

export function cutToWidth(text: string, most: number): string {
  let cut = ''
  let width = 0
  for (const char of text) {
    width += columnWidth(char)
    if (width > most) break
    cut += char
  }
  return cut
}

const tab = '    '

export class Flow {
  readonly #write: (text: string) => void
  readonly #indent: string
  /** Infinity: lines are not broken. */
  readonly #width: () => number
  #column = 0
  /** The writer began this line, so its leading spaces are kept. */
  #ownLine = false
  #spaces = ''
  #word = ''
  #style: Style = text => text

  constructor(write: (text: string) => void, options: { indent: string; width: () => number }) {
    this.#write = write
    this.#indent = options.indent
    this.#width = options.width
  }

  /** Writes whole words; the last one waits for its end. */
  add(text: string, style: Style): void {
    if (style !== this.#style) this.#flushWord()
    this.#style = style
    for (const [piece] of text.matchAll(wordPieces)) {
      if (piece === '\n') this.#newLine()
      else if (/^\s/.test(piece)) {
        this.#flushWord()
        this.#spaces += piece.replaceAll('\t', tab)
      } else if (wide.test(piece)) {
        this.#flushWord()
        this.#word = piece
        this.#flushWord()
      } else this.#word += piece
    }
  }

  /** The next words continue a line that is filled up to this column. */
  beginAt(column: number): void {
    this.#column = column
  }

  /** Ends the paragraph. The next words start on a new line. */
  end(): void {
    this.#flushWord()
    this.#spaces = ''
    this.#ownLine = false
    if (this.#column === 0) return
    this.#write('\n')
    this.#column = 0
  }

  #newLine(): void {
    this.#flushWord()
    this.#spaces = ''
    this.#ownLine = true
    this.#write('\n')
    this.#column = 0
  }

  #flushWord(): void {
    const word = this.#word
    if (word === '') return
    this.#word = ''
    const width = columnWidth(word)
    if (this.#column > 0 && this.#column + this.#spaces.length + width > this.#width()) {
      this.#write('\n')
      this.#column = 0
      this.#ownLine = false
    }
    if (this.#column === 0) {
      this.#write(this.#indent)
      this.#column = this.#indent.length
      if (!this.#ownLine) this.#spaces = ''
    }
    this.#write(this.#spaces + this.#style(word))
    this.#column += this.#spaces.length + width
    this.#spaces = ''
  }
}
