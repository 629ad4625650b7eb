// A line at the end of what was written that moves while something is awaited. It is drawn only where a line begins, and is
// erased before anything else is written.
import { cutToWidth } from './flow.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 120
/** An answer that comes at once needs no spinner. */
const patienceMs = 400
const erase = '\r\u001b[2K'

export class Spinner {
  readonly #write: (text: string) => void
  readonly #width: () => number
  #isDrawn = false
  #drawnAt = 0
  isAtLineStart = true
  isPaused = false

  constructor(write: (text: string) => void, width: () => number) {
    this.#write = write
    this.#width = width
  }

  /** The control sequence that erases it. Empty if it is not drawn. */
  erased(): string {
    this.#drawnAt = performance.now()
    if (!this.#isDrawn) return ''
    this.#isDrawn = false
    return erase
  }

  /** `detail` stands after the time, and is cut where the line ends. */
  start(label: () => string, detail: () => string = () => ''): () => void {
    const begun = performance.now()
    this.#drawnAt = begun
    let frame = 0
    const timer = setInterval(() => {
      const quietMs = performance.now() - this.#drawnAt
      if (this.isPaused || !this.isAtLineStart || (!this.#isDrawn && quietMs < patienceMs)) return
      const seconds = Math.floor((performance.now() - begun) / 1000)
      const more = detail()
      const text = `  ${frames[frame % frames.length]} ${label()} ${seconds} s${more === '' ? '' : ` · ${more}`}`
      frame += 1
      this.#isDrawn = true
      this.#write(`${erase}${cutToWidth(text, this.#width() - 1)}`)
    }, frameMs)
    return () => {
      clearInterval(timer)
      const rest = this.erased()
      if (rest !== '') this.#write(rest)
    }
  }
}
