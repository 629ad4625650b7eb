// A tool's report of its work, beside its result: the files it works on, the changes in them, the terminals it runs,
// and its findings as a table. People see it; no model reads it. Relative paths are resolved where they are shown.

export type Location = {
  path: string
  /** From 1. */
  line?: number
}

/** One file before and after. `oldText` null: it is new. `newText` null: it is deleted. */
export type FileDiff = { path: string; oldText: string | null; newText: string | null }

export type TerminalReport = {
  /** Unique within its call. */
  id: string
  command?: string
  cwd?: string
  /** All that it has shown, or the end of that. While it runs, output comes as deltas. */
  output?: string
  /** Set when it has ended: the exit code, or the signal that ended it. */
  exit?: { code: number } | { signal: string }
}

/** A table. A row has one cell for each column, in their order; cells are plain text. */
export type Rows = { columns: string[]; rows: string[][] }

/** Each member that is given replaces what was reported before. */
export type Report = {
  locations?: Location[]
  diffs?: FileDiff[]
  terminals?: TerminalReport[]
  rows?: Rows
  /** How many of the above were left out, because there was too much. */
  leftOut?: number
}
