// Streamed words as paragraphs: indented, broken between words before the edge of the terminal. Spaces stay as they were
// written, so that code and tables keep their shape. It is handed text that is already printable.
import type { Style } from '../style.ts'

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const pieces = new RegExp(`\\n|[^\\S\\n]+|(?:${wide.source})|(?:(?!${wide.source})\\S)+`, 'gu')

export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += wide.test(char) ? 2 : /\p{M}/u.test(char) ? 0 : 1
  return width
}

const tab = '    '

export class Flow {
  readonly #write: (text: string) => void
  readonly #indent: string
  /** Infinity: lines are left as they are. */
  readonly #width: () => number
  #column = 0
  /** Whoever writes began this line: the spaces in front are theirs. */
  #ownLine = false
  #spaces = ''
  #word = ''
  #style: Style = text => text

  constructor(write: (text: string) => void, options: { indent: string; width: () => number }) {
    this.#write = write
    this.#indent = options.indent
    this.#width = options.width
  }

  /** A word is written once it is known to be whole. */
  add(text: string, style: Style): void {
    if (style !== this.#style) this.#flushWord()
    this.#style = style
    for (const [piece] of text.matchAll(pieces)) {
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

  /** What comes next goes on in a line that has something in it already. */
  beginAt(column: number): void {
    this.#column = column
  }

  /** Ends the paragraph; what comes next starts on a line of its own. */
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
    const width = widthOf(word)
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
