// Reads the lines that a person types, and Ctrl-C while something runs. On a terminal each question gets its own line editor,
// and keys that are typed between questions are dropped, so that none of them answers a later question. From a pipe, lines
// are taken in order.
import { createInterface, type Interface } from 'node:readline'
import type { ReadStream } from 'node:tty'
import { printable } from '../../lib/text/index.ts'
import { Spinner } from './spinner.ts'

export type AskOptions = {
  /** The initial content of the line. On a terminal only. */
  filled?: string
  /** Kept for the arrow keys. */
  remember?: boolean
  /** Takes the question back: the answer is then undefined, and no line was read. */
  signal?: AbortSignal
}

export class Terminal {
  readonly #input: ReadStream
  readonly #output: NodeJS.WriteStream
  readonly interactive: boolean
  /** The input has ended. */
  ended = false
  #history: string[] = []
  readonly #piped: PipedLines | undefined
  readonly #spinner: Spinner

  constructor(input: ReadStream = process.stdin, output: NodeJS.WriteStream = process.stdout) {
    this.#input = input
    this.#output = output
    this.interactive = input.isTTY === true && output.isTTY === true
    this.#spinner = new Spinner(
      text => void output.write(text),
      () => this.width,
    )
    this.#piped = this.interactive ? undefined : new PipedLines(input)
  }

  /** Infinity if the output is no terminal. */
  get width(): number {
    return this.#output.isTTY ? Math.min(this.#output.columns || 80, 100) : Number.POSITIVE_INFINITY
  }

  write(text: string): void {
    if (text === '') return
    this.#output.write(this.#spinner.erased() + text)
    this.#spinner.isAtLineStart = text.endsWith('\n')
  }

  /** While `work` runs and nothing is written, a line says what it is about. On a terminal only. */
  async spin<Result>(
    label: () => string,
    detail: () => string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!this.interactive) return work()
    const stop = this.#spinner.start(label, detail)
    try {
      return await work()
    } finally {
      stop()
    }
  }

  /** The next line, or undefined when there is none: the end of the input, Ctrl-C, or the signal. */
  async ask(prompt: string, options: AskOptions = {}): Promise<string | undefined> {
    if (this.#piped) {
      this.write(prompt)
      const line = await this.#piped.next(options.signal)
      this.ended = line === undefined && options.signal?.aborted !== true
      this.write(line === undefined ? '\n' : `${printable(line)}\n`)
      return line
    }
    return this.#edit(prompt, options)
  }

  #edit(prompt: string, { filled = '', remember = false, signal }: AskOptions): Promise<string | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined)
    return new Promise(resolve => {
      const editor = createInterface({
        input: this.#input,
        output: this.#output,
        prompt,
        historySize: remember ? 200 : 0,
        history: remember ? this.#history : [],
        removeHistoryDuplicates: true,
      })
      let answer: string | undefined
      let interrupted = false
      editor.on('history', (history: string[]) => {
        if (remember) this.#history = [...history]
      })
      editor.on('line', line => {
        answer = line
        editor.close()
      })
      editor.on('SIGINT', () => {
        // The first Ctrl-C clears the line, as in a shell.
        if (remember && editor.line !== '') {
          editor.write(null, { ctrl: true, name: 'e' })
          editor.write(null, { ctrl: true, name: 'u' })
          return
        }
        this.write('^C')
        interrupted = true
        editor.close()
      })
      const withdraw = (): void => {
        interrupted = true
        editor.close()
      }
      signal?.addEventListener('abort', withdraw, { once: true })
      editor.on('close', () => {
        signal?.removeEventListener('abort', withdraw)
        if (answer === undefined) this.write('\n')
        this.ended = answer === undefined && !interrupted
        resolve(answer)
      })
      editor.prompt()
      if (filled !== '') editor.write(filled)
    })
  }

  /** While `work` runs, Ctrl-C calls `interrupt`, Enter alone calls `enter`, and every other key is dropped. */
  async busy<Result>(
    interrupt: () => void,
    work: () => Promise<Result>,
    enter: () => void = () => {},
  ): Promise<Result> {
    process.on('SIGINT', interrupt)
    this.#enter = enter
    this.#hush(interrupt)
    try {
      return await work()
    } finally {
      this.#release()
      this.#enter = () => {}
      process.off('SIGINT', interrupt)
    }
  }

  /** Inside `busy`: gives the keyboard back for a question. */
  async pause<Result>(interrupt: () => void, question: () => Promise<Result>): Promise<Result> {
    this.#release()
    this.#spinner.isPaused = true
    this.#output.write(this.#spinner.erased())
    try {
      return await question()
    } finally {
      this.#spinner.isPaused = false
      this.#hush(interrupt)
    }
  }

  #enter: () => void = () => {}
  #release: () => void = () => {}

  #hush(interrupt: () => void): void {
    if (!this.interactive) return
    const input = this.#input
    const take = (data: Buffer | string): void => {
      if (data.includes('\u0003')) interrupt()
      else if (String(data) === '\r') this.#enter()
    }
    input.setRawMode(true)
    input.on('data', take)
    input.resume()
    this.#release = () => {
      input.off('data', take)
      input.pause()
      input.setRawMode(false)
      this.#release = () => {}
    }
  }

  close(): void {
    this.#release()
    this.#piped?.close()
  }
}

class PipedLines {
  readonly #lines: string[] = []
  readonly #reader: Interface
  #ended = false
  #wake: () => void = () => {}

  constructor(input: NodeJS.ReadableStream) {
    this.#reader = createInterface({ input, terminal: false })
    this.#reader.on('line', line => {
      this.#lines.push(line)
      this.#wake()
    })
    this.#reader.on('close', () => {
      this.#ended = true
      this.#wake()
    })
  }

  async next(signal?: AbortSignal): Promise<string | undefined> {
    const wake = (): void => this.#wake()
    signal?.addEventListener('abort', wake)
    while (this.#lines.length === 0 && !this.#ended && !signal?.aborted)
      await new Promise<void>(resolve => (this.#wake = resolve))
    signal?.removeEventListener('abort', wake)
    return signal?.aborted ? undefined : this.#lines.shift()
  }

  close(): void {
    this.#reader.close()
  }
}
