// A folder as lines that a model reads.
import type { Root } from './root.ts'
import { walkFolder } from './walk-folder.ts'

export const mostListed = 1000

const marks = { folder: '/', link: '@', file: '', other: ' (not a regular file)' } as const

/** At most one more than are shown. */
export function listLines(root: Root, path: string, depth: number, ignored: ReadonlySet<string>): string[] {
  const lines: string[] = []
  for (const entry of walkFolder(root, path, { ignored, depth })) {
    if (lines.length > mostListed) break
    if (entry !== 'deeper') lines.push(`${entry.place.path}${marks[entry.kind]}`)
  }
  return lines
}
