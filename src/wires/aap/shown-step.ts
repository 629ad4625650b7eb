// What a client has been shown of the answer that a model is giving. A model step may start over, and the protocol has
// no word for taking text back: so what the new attempt repeats is not shown twice, and where it parts from what was
// shown, it is shown whole, after an empty line. What stands last is then always the answer itself.

type Kind = 'text' | 'thinking'
/** `at`: how much of what was shown the present attempt has said again. */
type Run = { shown: string; at: number }

const parting = '\n\n'

export class ShownStep {
  #runs: Record<Kind, Run> = { text: { shown: '', at: 0 }, thinking: { shown: '', at: 0 } }

  /** A new answer begins. */
  start(): void {
    this.#runs = { text: { shown: '', at: 0 }, thinking: { shown: '', at: 0 } }
  }

  /** The same answer begins again. */
  restart(): void {
    this.#runs.text.at = 0
    this.#runs.thinking.at = 0
  }

  get nothing(): boolean {
    return this.#runs.text.shown === '' && this.#runs.thinking.shown === ''
  }

  /** What is to be sent for a delta. */
  take(kind: Kind, text: string): string {
    const run = this.#runs[kind]
    const repeated = Math.min(text.length, run.shown.length - run.at)
    if (repeated === 0 || run.shown.startsWith(text.slice(0, repeated), run.at)) {
      const fresh = repeated === 0 ? text : text.slice(repeated)
      run.shown += fresh
      run.at += text.length
      return fresh
    }
    run.shown = run.shown.slice(0, run.at) + text
    run.at = run.shown.length
    return parting + run.shown
  }

  /** What is still to be sent once the whole is known. */
  rest(kind: Kind, whole: string): string {
    const { shown } = this.#runs[kind]
    if (whole.startsWith(shown)) return whole.slice(shown.length)
    return whole === '' ? '' : parting + whole
  }
}
