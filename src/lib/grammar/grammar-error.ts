// The error for a bad grammar, and positions in it. A text that does not match is not an error but a Mismatch
// (mismatch.ts).

/** One-based; columns count UTF-16 units of the grammar's line. */
export type Position = { readonly line: number; readonly column: number }

export class GrammarError extends Error {
  override readonly name = 'GrammarError'
  readonly line?: number
  readonly column?: number

  constructor(message: string, at?: Position) {
    super(at ? `grammar line ${at.line}, column ${at.column}: ${message}` : `grammar: ${message}`)
    if (at) {
      this.line = at.line
      this.column = at.column
    }
  }
}

/** Compiling it costs more than was allowed. */
export class GrammarTooHeavy extends GrammarError {}

/** The position after `text`, if it begins at `from`. */
export function advance(from: Position, text: string): Position {
  const lines = text.split('\n')
  const last = lines.at(-1) ?? ''
  if (lines.length === 1) return { line: from.line, column: from.column + last.length }
  return { line: from.line + lines.length - 1, column: last.length + 1 }
}
