// Terminal output as plain data. Colours and weights become classes; every other control sequence (cursor moves,
// titles, links, clipboard writes) is dropped whole. A carriage return overwrites its line, as in a terminal. Hidden
// characters are spelled out, so the text cannot act on a page or on a terminal that it is pasted into.
import { printable } from '../lib/text/index.ts'

export type TerminalSpan = { text: string; classes: string }

// CSI, then OSC, DCS, APC, PM and SOS up to their end, then two-byte escapes. Each also in its one-byte form.
const csi = '(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]'
const strings =
  '(?:\\u001b[\\]PX^_]|[\\u009d\\u0090\\u0098\\u009e\\u009f])[^\\u0007\\u001b\\u009c]*(?:\\u0007|\\u001b\\\\|\\u009c|$)'
const short = '\\u001b[ -/]*[0-Z\\\\^-~]?'
const sequences = new RegExp(`${csi}|${strings}|${short}`, 'g')
/** Of a sequence that sets colours: its numbers. */
const sgr = /^[^\d;:]+([\d;:]*)m$/
const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

type Pen = { fg?: string; bg?: string; bold?: true; dim?: true; italic?: true; underline?: true }

export function terminalSpans(text: string): TerminalSpan[] {
  const spans: TerminalSpan[] = []
  let pen: Pen = {}
  const add = (piece: string): void => {
    if (piece === '') return
    const shown = printable(piece, { multiline: true })
    const classes = penClasses(pen)
    const last = spans.at(-1)
    if (last?.classes === classes) last.text += shown
    else spans.push({ text: shown, classes })
  }
  let at = 0
  const whole = overwritten(text)
  for (const found of whole.matchAll(sequences)) {
    add(whole.slice(at, found.index))
    at = found.index + found[0].length
    const colour = sgr.exec(found[0])
    if (colour) pen = penAfter(pen, colour[1] ?? '')
  }
  add(whole.slice(at))
  return spans
}

/** The text of a terminal without any sequence. */
export function plainTerminal(text: string): string {
  return terminalSpans(text)
    .map(span => span.text)
    .join('')
}

/** Text after its carriage returns: only the part of a line after the last one stays. */
function overwritten(text: string): string {
  if (!text.includes('\r')) return text
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(line => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1).replace(/\r+$/, ''))
    .join('\n')
}

function penAfter(before: Pen, codes: string): Pen {
  let pen: Pen = { ...before }
  const numbers = codes.split(/[;:]/).map(Number)
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0
    if (code === 0) pen = {}
    else if (code === 1) pen.bold = true
    else if (code === 2) pen.dim = true
    else if (code === 3) pen.italic = true
    else if (code === 4) pen.underline = true
    else if (code === 22) pen = without(pen, 'bold', 'dim')
    else if (code === 23) pen = without(pen, 'italic')
    else if (code === 24) pen = without(pen, 'underline')
    else if (code === 39) pen = without(pen, 'fg')
    else if (code === 49) pen = without(pen, 'bg')
    else if (code === 38 || code === 48) at += extended(pen, code === 38 ? 'fg' : 'bg', numbers.slice(at + 1))
    else setColour(pen, code)
  }
  return pen
}

function setColour(pen: Pen, code: number): void {
  const base = code % 10
  const name = colours[base]
  if (name === undefined) return
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) pen.fg = name
  if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) pen.bg = name
}

/** Colours of 256 and of 24 bits are shown as the nearest of eight. Returns how many numbers it took. */
function extended(pen: Pen, which: 'fg' | 'bg', rest: readonly number[]): number {
  if (rest[0] === 5) {
    const name = colours[(rest[1] ?? 0) % 8]
    if ((rest[1] ?? 0) < 16 && name !== undefined) pen[which] = name
    return 2
  }
  if (rest[0] !== 2) return 0
  const [, red = 0, green = 0, blue = 0] = rest
  const name = colours[(red > 127 ? 1 : 0) + (green > 127 ? 2 : 0) + (blue > 127 ? 4 : 0)]
  if (name !== undefined) pen[which] = name
  return 4
}

function without(pen: Pen, ...names: (keyof Pen)[]): Pen {
  const left = { ...pen }
  for (const name of names) delete left[name]
  return left
}

function penClasses({ fg, bg, bold, dim, italic, underline }: Pen): string {
  return [
    fg && `tw-fg-${fg}`,
    bg && `tw-bg-${bg}`,
    bold && 'tw-bold',
    dim && 'tw-dim',
    italic && 'tw-italic',
    underline && 'tw-underline',
  ]
    .filter(Boolean)
    .join(' ')
}
