// The preview of a call, as lines for a terminal: changes in files, and a table. Pure. Everything is escaped, so that a
// file cannot pose as something else on the screen.
import type { FileDiff, Report } from '../../language/report.ts'
import { printableEnds } from '../../lib/text/index.ts'
import { type DiffLine, lineDiff } from '../../lib/text/line-diff.ts'
import type { Styles } from '../style.ts'
import { tableLines } from './table.ts'

/** `most`: the lines of differences, and the rows, that are shown; the rest is counted. */
export function previewLines(
  { diffs = [], rows, leftOut = 0 }: Report,
  styles: Styles,
  most: number,
  width: number,
): string[] {
  const lines: string[] = []
  let left = most
  for (const diff of diffs) {
    lines.push(`    ${styles.bold(heading(diff))}\n`)
    const changed = lineDiff(diff.oldText ?? '', diff.newText ?? '')
    lines.push(...changed.slice(0, left).map(line => `      ${shown(line, styles)}\n`))
    if (changed.length > left) lines.push(`      ${styles.dim(`… ${changed.length - left} more lines`)}\n`)
    left = Math.max(0, left - changed.length)
  }
  if (rows) lines.push(...tableLines(rows, styles, width, most))
  if (leftOut > 0) lines.push(`    ${styles.dim(`${leftOut} more changes are too large to show`)}\n`)
  return lines
}

function heading({ path, oldText, newText }: FileDiff): string {
  const name = printableEnds(path, { maxChars: 200 })
  if (oldText === null) return `${name} (new)`
  return newText === null ? `${name} (deleted)` : name
}

function shown(line: DiffLine, { dim, red, green }: Styles): string {
  if (line.mark === '…') return dim('…')
  const text = `${line.mark} ${printableEnds(line.text, { maxChars: 300 })}`
  return line.mark === '-' ? red(text) : line.mark === '+' ? green(text) : dim(text)
}
