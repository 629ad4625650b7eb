// Shows a turn on the screen: thinking dimmed, words as they come, calls and their results. All of it was written by models,
// tools and servers, so everything goes through `printable`.
import { stripVTControlCharacters } from 'node:util'
import { type Content, type ToolCall, type TurnEvent, textOfContent } from '../../client/index.ts'
import type { Delta } from '../../language/events.ts'
import type { Rows } from '../../language/report.ts'
import { printable } from '../../lib/text/index.ts'
import type { Style, Styles } from '../style.ts'
import { columnWidth, Flow } from './flow.ts'
import { tableLines } from './table.ts'

const longestArguments = 240
const longestResult = 600
const mostLines = 8
const mostRows = 20
const longestDetail = 200
/** How much live output of a call is kept to find its last line. */
const keptOutput = 2000

/** The live progress and output of a running call. */
type Report = { progress: string; output: string }

export class TurnView {
  readonly #write: (text: string) => void
  readonly #styles: Styles
  readonly #width: () => number
  readonly #flow: Flow
  readonly #names = new Map<string, string>()
  readonly #running = new Set<string>()
  /** By call. The latest report is the last. */
  readonly #reports = new Map<string, Report>()
  #at: 'start' | 'text' | 'thinking' | 'tools' = 'start'
  /** Half of a character that the next delta completes. */
  #half = ''

  constructor(write: (text: string) => void, width: () => number, styles: Styles) {
    this.#write = write
    this.#width = width
    this.#styles = styles
    this.#flow = new Flow(write, { indent: '  ', width })
  }

  take(event: TurnEvent): void {
    switch (event.event) {
      case 'text_delta':
        this.#words('text', event.delta)
        break
      case 'thinking_delta':
        this.#words('thinking', event.delta)
        break
      case 'text':
        this.#words('text', event.text)
        this.#flow.end()
        break
      case 'thinking':
        this.#words('thinking', event.thinking)
        this.#flow.end()
        break
      case 'tool_call':
        this.#call(event)
        break
      case 'tool_result':
        this.result(event.toolCallId, event.content)
        if (event.report?.rows) this.#table(event.report.rows)
        break
      case 'turn_start':
      case 'turn_stop':
        this.#flow.end()
        break
    }
  }

  /** `where`: who ran it, when it was not the server. */
  result(toolCallId: string, content: Content, where = ''): void {
    const { green, red, dim } = this.#styles
    this.#running.delete(toolCallId)
    this.#reports.delete(toolCallId)
    this.#enter('tools')
    const text = textOfContent(content)
    const name = printable(this.#names.get(toolCallId) ?? toolCallId, 128)
    const mark = wentWrong(text) ? red('✗') : green('✓')
    const shown = printable(text || picture(content), { multiline: true, maxChars: longestResult })
    const lines = shown.trimEnd().split('\n').slice(0, mostLines)
    this.#entry(mark, name, dim, where === '' ? '' : ` (${where})`, lines.join('\n'))
    const more = text.trimEnd().split('\n').length - lines.length
    if (more > 0) this.#write(dim(`    … ${more} more ${more === 1 ? 'line' : 'lines'}\n`))
  }

  #table(rows: Rows): void {
    for (const line of tableLines(rows, this.#styles, this.#width(), mostRows)) this.#write(line)
  }

  /** Names of calls that this view has not shown. */
  know(calls: readonly ToolCall[]): void {
    for (const { toolCallId, name } of calls) this.#names.set(toolCallId, name)
  }

  /** A line of the chat itself. */
  say(line: string): void {
    this.#pause()
    this.#write(`${line}\n`)
  }

  /** Text of the chat itself, broken into lines. */
  tell(words: string, style: Style): void {
    if (words === '') return
    this.#pause()
    this.#flow.add(printable(words, { multiline: true, maxChars: 2000 }), style)
    this.#flow.end()
  }

  /** The name of what the chat waits for: the model, or the running tools. */
  get awaited(): string {
    const names = [...this.#running].map(id => printable(this.#names.get(id) ?? id, 40))
    return names.length === 0 ? 'thinking' : names.join(', ')
  }

  /** Takes the progress or output of a running tool. It writes nothing: `progress` is shown beside the spinner. */
  report(delta: Delta): void {
    if (delta.type !== 'progress' && delta.type !== 'output') return
    const { progress, output } = this.#reports.get(delta.callId) ?? { progress: '', output: '' }
    this.#reports.delete(delta.callId)
    this.#reports.set(
      delta.callId,
      delta.type === 'progress'
        ? { progress: describeProgress(delta), output }
        : { progress, output: (output + delta.text).slice(-keptOutput) },
    )
  }

  /** The latest report of a running call, on one line. */
  get progress(): string {
    const latest = [...this.#reports].findLast(([id]) => this.#running.has(id))
    if (latest === undefined) return ''
    const [id, { progress, output }] = latest
    const name = this.#running.size > 1 ? `${printable(this.#names.get(id) ?? id, 40)}:` : ''
    const words = [progress, lastLine(output)].filter(text => text !== '').join(' · ')
    return name === '' ? words : `${name} ${words}`
  }

  end(): void {
    this.#running.clear()
    this.#reports.clear()
    this.rest()
  }

  /** Ends the paragraph, while calls go on. */
  rest(): void {
    this.#flow.end()
    this.#half = ''
    this.#at = 'start'
  }

  #pause(): void {
    this.#flow.end()
    if (this.#at !== 'start') this.#write('\n')
    this.#at = 'start'
  }

  /** A line with a mark and a name. Text beyond the width continues below, indented. */
  #entry(mark: string, name: string, style: Style, after: string, text: string): void {
    this.#write(`  ${mark} ${style(name)}${this.#styles.dim(after)}  `)
    const flow = new Flow(this.#write, { indent: '    ', width: this.#width })
    flow.beginAt(6 + columnWidth(name) + after.length)
    flow.add(text, unstyled)
    flow.end()
  }

  #call({ toolCallId, name, input }: ToolCall): void {
    const { yellow, bold } = this.#styles
    this.#enter('tools')
    this.#names.set(toolCallId, name)
    this.#running.add(toolCallId)
    this.#entry(
      yellow('→'),
      printable(name, 128),
      bold,
      '',
      printable(JSON.stringify(input), longestArguments),
    )
  }

  #words(kind: 'text' | 'thinking', delta: string): void {
    this.#enter(kind)
    let text = this.#half + delta
    this.#half = ''
    if (/[\ud800-\udbff]$/.test(text)) {
      this.#half = text.slice(-1)
      text = text.slice(0, -1)
    }
    this.#flow.add(printable(text, { multiline: true }), kind === 'text' ? unstyled : this.#styles.dim)
  }

  #enter(at: 'text' | 'thinking' | 'tools'): void {
    if (this.#at === at) return
    this.#flow.end()
    this.#half = ''
    if (this.#at !== 'start') this.#write('\n')
    this.#at = at
  }
}

function unstyled(text: string): string {
  return text
}

function describeProgress({ message, done, total }: Extract<Delta, { type: 'progress' }>): string {
  const count = done === undefined ? '' : total === undefined ? `${done}` : `${done}/${total}`
  const words = message === undefined ? '' : printable(message, longestDetail)
  return [count, words].filter(text => text !== '').join(' ')
}

/** Colours are left out, and everything else that is no text is escaped. */
function lastLine(output: string): string {
  const lines = stripVTControlCharacters(output).split(/[\r\n]+/)
  return printable(lines.findLast(line => line.trim() !== '')?.trim() ?? '', longestDetail)
}

function picture(content: Content): string {
  return typeof content === 'string' || content.length === 0
    ? '(nothing)'
    : `(${content.map(block => block.type).join(', ')})`
}

/** The protocol has no flag for a failed call, so it is recognised by the texts that Turnwire writes. */
function wentWrong(text: string): boolean {
  return /^(?:Tool call denied|Not run:|The tool (?:failed:|was not run:|did not finish)|Cancelled (?:while|before)|This call was cancelled|Stopped while it was running|It was checked: this call did not|The server stopped while|The tool began, but|The turn ran out of time|There is no tool named)/.test(
    text,
  )
}
