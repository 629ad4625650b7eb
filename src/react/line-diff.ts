// A diff of lines with their numbers: of two texts, or read from a unified patch that a tool printed.
import { alignLines, type DiffBlock, foldFar } from '../lib/text/line-diff.ts'

export type DiffLine = {
  kind: 'same' | 'added' | 'removed' | 'head'
  text: string
  before?: number
  after?: number
}

export function diffLines(before: string, after: string): DiffLine[] {
  let [old, fresh] = [0, 0]
  // A line end that both texts end with begins no further line.
  const cut = before.endsWith('\n') && after.endsWith('\n') ? -1 : undefined
  return alignLines(splitLines(before.slice(0, cut)), splitLines(after.slice(0, cut))).map(
    ({ mark, text }): DiffLine => {
      if (mark === '-') return { kind: 'removed', text, before: ++old }
      if (mark === '+') return { kind: 'added', text, after: ++fresh }
      return { kind: 'same', text, before: ++old, after: ++fresh }
    },
  )
}

const splitLines = (text: string): string[] => (text === '' ? [] : text.split('\n'))

export function readUnifiedDiff(patch: string): DiffLine[] {
  let before = 0
  let after = 0
  return patch.split('\n').map((line): DiffLine => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line)
    if (hunk) {
      before = Number(hunk[1]) - 1
      after = Number(hunk[2]) - 1
      return { kind: 'head', text: line }
    }
    if (/^(?:diff |index |--- |\+\+\+ |\\ )/.test(line)) return { kind: 'head', text: line }
    if (line.startsWith('+')) return { kind: 'added', text: line.slice(1), after: ++after }
    if (line.startsWith('-')) return { kind: 'removed', text: line.slice(1), before: ++before }
    return { kind: 'same', text: line.replace(/^ /, ''), before: ++before, after: ++after }
  })
}

/** Leaves `context` lines around what changed and folds the rest. */
export function foldSame(lines: readonly DiffLine[], context = 3): DiffBlock<DiffLine>[] {
  return foldFar(lines, ({ kind }) => kind === 'same', context)
}
