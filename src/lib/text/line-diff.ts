// The lines that differ between two texts, for people: removed, added, and a few lines around them. Exact for texts that
// differ in few lines; the differing middle of others is shown as removed and added whole.

export type MarkedLine = { mark: ' ' | '-' | '+'; text: string }
export type DiffLine = MarkedLine | { mark: '…' }

/** Texts that differ in more lines than this are not aligned: time and memory grow with the square of it. */
const mostEdits = 2000
const around = 2

/** Lines that are far from every difference are folded into one mark. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const lines = alignLines(splitLines(before), splitLines(after))
  return foldFar(lines, ({ mark }) => mark === ' ', around).flatMap((block): DiffLine[] =>
    'folded' in block ? [{ mark: '…' }] : block.lines,
  )
}

/** A line end at the very end begins no further line. */
export function splitLines(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

export type DiffBlock<Line> = { lines: Line[] } | { folded: Line[] }

/** Leaves `context` lines around each difference and folds the rest. */
export function foldFar<Line>(
  lines: readonly Line[],
  isSame: (line: Line) => boolean,
  context: number,
): DiffBlock<Line>[] {
  const near = new Uint8Array(lines.length)
  for (const [at, line] of lines.entries())
    if (!isSame(line)) near.fill(1, Math.max(0, at - context), at + context + 1)
  const blocks: DiffBlock<Line>[] = []
  for (const [at, line] of lines.entries()) {
    const last = blocks.at(-1)
    if (near[at]) {
      if (last && 'lines' in last) last.lines.push(line)
      else blocks.push({ lines: [line] })
    } else if (last && 'folded' in last) last.folded.push(line)
    else blocks.push({ folded: [line] })
  }
  return blocks
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

/** Myers' algorithm, read back from its end. */
function middle(old: readonly string[], fresh: readonly string[]): MarkedLine[] {
  const rounds = furthestPoints(old, fresh)
  if (!rounds) return [...old.map(removed), ...fresh.map(added)]
  const lines: MarkedLine[] = []
  let [x, y] = [old.length, fresh.length]
  for (let edits = rounds.length - 1; edits >= 0; edits--) {
    const from = previousPoint(rounds[edits]!, x - y, edits)
    for (; x > from.x && y > from.y; y--) lines.push(kept(old[--x]!))
    if (x > from.x) lines.push(removed(old[--x]!))
    else if (y > from.y) lines.push(added(fresh[--y]!))
  }
  return lines.reverse()
}

/**
 * By diagonal (lines of the old text less lines of the new one): how many lines of the old text are behind. Diagonal 0 of
 * the round with `edits` edits is at `edits + 1`.
 */
type Round = Int32Array

/** Undefined: too many edits are needed. */
function furthestPoints(old: readonly string[], fresh: readonly string[]): Round[] | undefined {
  const rounds: Round[] = []
  let round: Round = new Int32Array(3)
  for (let edits = 0; edits <= mostEdits; edits++) {
    rounds.push(round)
    const next = new Int32Array(2 * edits + 5)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const from = previousPoint(round, diagonal, edits)
      let x = from.x + (from.isAdded ? 0 : 1)
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x++
      next[diagonal + edits + 2] = x
      if (x >= old.length && x - diagonal >= fresh.length) return rounds
    }
    round = next
  }
  return undefined
}

/** The furthest point one edit before a diagonal. It comes to the diagonal by an added line, or by a removed one. */
function previousPoint(
  round: Round,
  diagonal: number,
  edits: number,
): { x: number; y: number; isAdded: boolean } {
  if (edits === 0) return { x: 0, y: 0, isAdded: true }
  const at = diagonal + edits + 1
  const isAdded = diagonal === -edits || (diagonal !== edits && round[at - 1]! < round[at + 1]!)
  const x = round[isAdded ? at + 1 : at - 1]!
  return { x, y: x - diagonal + (isAdded ? -1 : 1), isAdded }
}
