// A table that a tool reports, as aligned columns for a terminal. Pure. Cells are escaped, so that none can pose as
// something else on the screen.
import type { Rows } from '../../language/report.ts'
import { printable } from '../../lib/text/index.ts'
import type { Styles } from '../style.ts'
import { columnWidth, cutToWidth } from './flow.ts'

const widestCell = 60
const indent = '    '

/** `most`: the rows that are shown; the rest is counted. */
export function tableLines({ columns, rows }: Rows, styles: Styles, width: number, most: number): string[] {
  const cells = [columns, ...rows.slice(0, most)].map(row => row.map(cell => printable(cell, widestCell)))
  const widths = columns.map((_, at) => Math.max(...cells.map(row => columnWidth(row[at] ?? ''))))
  const lines = cells.map(row => {
    const padded = row.map(
      (cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] ?? 0) - columnWidth(cell))),
    )
    return cutToWidth(padded.join('  ').trimEnd(), width - indent.length)
  })
  const more = rows.length - most
  return [
    ...lines.map((line, at) => `${indent}${at === 0 ? styles.bold(line) : line}\n`),
    ...(more > 0 ? [styles.dim(`${indent}… ${more} more ${more === 1 ? 'row' : 'rows'}\n`)] : []),
  ]
}
