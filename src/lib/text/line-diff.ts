// The lines that differ between two texts, for people: removed, added, and a few lines around them. Exact for texts whose
// differing middle is small; a large one is shown as removed and added whole.

export type MarkedLine = { mark: ' ' | '-' | '+'; text: string }
export type DiffLine = MarkedLine | { mark: '…' }

/** More cells than this in the table of common lines take too long. */
const mostCells = 250_000
const around = 2

export function lineDiff(before: string, after: string): DiffLine[] {
  return withoutFar(alignLines(linesOf(before), linesOf(after)))
}

/** Every line of both, in order. */
export function alignLines(old: readonly string[], fresh: readonly string[]): MarkedLine[] {
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let end = 0
  while (
    end < old.length - start &&
    end < fresh.length - start &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  )
    end++
  return [
    ...old.slice(0, start).map(kept),
    ...middle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)),
    ...old.slice(old.length - end).map(kept),
  ]
}

const kept = (text: string): MarkedLine => ({ mark: ' ', text })
const removed = (text: string): MarkedLine => ({ mark: '-', text })
const added = (text: string): MarkedLine => ({ mark: '+', text })

function linesOf(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

function middle(old: readonly string[], fresh: readonly string[]): MarkedLine[] {
  if (old.length * fresh.length > mostCells) return [...old.map(removed), ...fresh.map(added)]
  const common = commonLengths(old, fresh)
  const lines: MarkedLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push(kept(old[i]!))
      i++
      j++
    } else if (common[i + 1]![j]! >= common[i]![j + 1]!) lines.push(removed(old[i++]!))
    else lines.push(added(fresh[j++]!))
  }
  return [...lines, ...old.slice(i).map(removed), ...fresh.slice(j).map(added)]
}

/** By both places: how many lines the rests have in common, in order. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      table[i]![j] =
        old[i] === fresh[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!)
  return table
}

/** Lines that are far from every difference become one mark. */
function withoutFar(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>()
  for (const [at, { mark }] of lines.entries())
    if (mark !== ' ') for (let step = -around; step <= around; step++) near.add(at + step)
  return lines.flatMap((line, at) => {
    if (near.has(at)) return [line]
    return at === 0 || near.has(at - 1) ? [{ mark: '…' as const }] : []
  })
}
