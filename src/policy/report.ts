// Prepares what a tool reports (locations, diffs, terminals, rows) for the log and for people: only known members, well-formed,
// redacted like output, and bounded. A diff that is too large becomes a location.
import type { FileDiff, Location, Report, Rows, TerminalReport } from '../language/report.ts'
import type { Redactor } from './redact.ts'

/** Of one report. `characters` counts the texts of diffs, terminals and cells. */
const most = {
  locations: 200,
  diffs: 100,
  terminals: 20,
  columns: 30,
  rows: 500,
  cell: 1000,
  path: 4096,
  characters: 256 * 1024,
}

export function finishReport(report: Report, redactor: Redactor | null): Report {
  const clean = (text: string): string => {
    const sound = text.toWellFormed()
    return redactor === null ? sound : redactor(sound, { count: 0 })
  }
  const room = { characters: most.characters, leftOut: 0 }
  const finished: Report = {}
  const { locations, diffs, terminals, rows } = report
  if (diffs) finished.diffs = keep(diffs, most.diffs, room, each => finishDiff(each, room, clean))
  if (terminals)
    finished.terminals = keep(terminals, most.terminals, room, each => finishTerminal(each, room, clean))
  if (locations || room.leftOut > 0) {
    const all = [...(locations ?? []), ...(room.leftOut > 0 ? (diffs ?? []) : [])]
    finished.locations = keep(all, most.locations, room, each => finishLocation(each, clean))
  }
  const table = rows && finishRows(rows, room, clean)
  if (table) finished.rows = table
  if (room.leftOut > 0) finished.leftOut = room.leftOut
  return finished
}

type Room = { characters: number; leftOut: number }

function keep<Item>(
  items: readonly Item[],
  count: number,
  room: Room,
  finish: (item: Item) => Item | undefined,
): Item[] {
  const kept = items.slice(0, count).flatMap(item => {
    const finished = finish(item)
    return finished === undefined ? [] : [finished]
  })
  room.leftOut += items.length - kept.length
  return kept
}

function finishLocation({ path, line }: Location, clean: (text: string) => string): Location | undefined {
  if (!isPath(path)) return undefined
  const isLine = Number.isSafeInteger(line) && (line ?? 0) >= 1
  return { path: clean(path), ...(isLine && line !== undefined && { line }) }
}

function finishDiff(diff: FileDiff, room: Room, clean: (text: string) => string): FileDiff | undefined {
  const { path, oldText, newText } = diff
  const size = (oldText?.length ?? 0) + (newText?.length ?? 0)
  if (!isPath(path) || size > room.characters) return undefined
  room.characters -= size
  return {
    path: clean(path),
    oldText: typeof oldText === 'string' ? clean(oldText) : null,
    newText: typeof newText === 'string' ? clean(newText) : null,
  }
}

/** Of a long output the end is kept. */
function finishTerminal(
  { id, command, cwd, output, exit }: TerminalReport,
  room: Room,
  clean: (text: string) => string,
): TerminalReport | undefined {
  if (typeof id !== 'string' || id === '' || id.length > 200) return undefined
  const finished: TerminalReport = { id: id.toWellFormed() }
  if (typeof command === 'string') finished.command = clean(command.slice(0, most.path))
  if (typeof cwd === 'string' && isPath(cwd)) finished.cwd = clean(cwd)
  if (typeof output === 'string') {
    const kept = room.characters === 0 ? '' : output.slice(-room.characters)
    room.characters -= kept.length
    finished.output = clean(kept)
  }
  if (exit) finished.exit = 'code' in exit ? { code: exit.code } : { signal: exit.signal }
  return finished
}

/** Undefined: it has no columns. Rows that do not fit are counted, and missing cells are empty. */
function finishRows(given: Rows, room: Room, clean: (text: string) => string): Rows | undefined {
  if (!Array.isArray(given.columns) || !Array.isArray(given.rows)) return undefined
  const finishCell = (cell: unknown): string => {
    const isPlain = typeof cell === 'number' || typeof cell === 'boolean'
    const text = typeof cell === 'string' ? cell : isPlain ? String(cell) : ''
    return clean(text.length > most.cell ? `${text.slice(0, most.cell - 1)}…` : text)
  }
  const columns = given.columns.slice(0, most.columns).map(finishCell)
  if (columns.length === 0) return undefined
  const rows = keep(given.rows, most.rows, room, row => {
    if (!Array.isArray(row)) return undefined
    const cells = columns.map((_, at) => finishCell(row[at]))
    const size = cells.reduce((sum, cell) => sum + cell.length, 0)
    if (size > room.characters) return undefined
    room.characters -= size
    return cells
  })
  return { columns, rows }
}

function isPath(path: unknown): path is string {
  return typeof path === 'string' && path !== '' && path.length <= most.path && !path.includes('\0')
}
