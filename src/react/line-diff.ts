// A diff of lines: of two texts (Myers, bounded), or read from a unified patch that a tool printed.

export type DiffLine = {
  kind: 'same' | 'added' | 'removed' | 'head'
  text: string
  before?: number
  after?: number
}

/** Above this distance the texts are shown as one removed and one added block. */
const furthest = 2000

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === '' ? [] : before.split('\n')
  const b = after === '' ? [] : after.split('\n')
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end += 1
  const lines: DiffLine[] = []
  let x = 0
  let y = 0
  const same = (count: number): void => {
    for (let i = 0; i < count; i += 1) lines.push({ kind: 'same', text: a[x] ?? '', before: ++x, after: ++y })
  }
  same(start)
  for (const step of editsOf(a.slice(start, a.length - end), b.slice(start, b.length - end))) {
    if (step === 'same') same(1)
    else if (step === 'removed') lines.push({ kind: step, text: a[x] ?? '', before: ++x })
    else lines.push({ kind: step, text: b[y] ?? '', after: ++y })
  }
  same(end)
  return lines
}

type Edit = 'same' | 'added' | 'removed'

function editsOf(a: readonly string[], b: readonly string[]): Edit[] {
  const trace = traceOf(a, b)
  if (trace === undefined) return [...a.map((): Edit => 'removed'), ...b.map((): Edit => 'added')]
  const edits: Edit[] = []
  let x = a.length
  let y = b.length
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const far = trace[d]!
    const k = x - y
    const isDown = k === -d || (k !== d && (far.get(k - 1) ?? -1) < (far.get(k + 1) ?? -1))
    const from = isDown ? k + 1 : k - 1
    const fromX = d === 0 ? 0 : (far.get(from) ?? 0)
    const fromY = fromX - from
    while (
      x > (d === 0 ? 0 : Math.max(fromX, 0)) &&
      y > (d === 0 ? 0 : Math.max(fromY, 0)) &&
      a[x - 1] === b[y - 1]
    ) {
      edits.push('same')
      x -= 1
      y -= 1
    }
    if (d === 0) break
    edits.push(isDown ? 'added' : 'removed')
    x = fromX
    y = fromY
  }
  return edits.reverse()
}

/** Myers' furthest points before each round. Undefined: the texts differ too much. */
function traceOf(a: readonly string[], b: readonly string[]): Map<number, number>[] | undefined {
  const far = new Map<number, number>([[1, 0]])
  const trace: Map<number, number>[] = []
  for (let d = 0; d <= Math.min(a.length + b.length, furthest); d += 1) {
    trace.push(new Map(far))
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && (far.get(k - 1) ?? -1) < (far.get(k + 1) ?? -1))
      let x = isDown ? (far.get(k + 1) ?? 0) : (far.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      far.set(k, x)
      if (x >= a.length && x - k >= b.length) return trace
    }
    // Each round keeps a copy, so the memory grows with its square.
    if (d > 400 && a.length + b.length > 20_000) return undefined
  }
  return undefined
}

export function isUnifiedDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)/m.test(text.slice(0, 20_000))
}

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

export type DiffBlock = { lines: DiffLine[] } | { folded: DiffLine[] }

/** Leaves `context` lines around what changed and folds the rest. */
export function foldSame(lines: readonly DiffLine[], context = 3): DiffBlock[] {
  const near = new Uint8Array(lines.length)
  for (const [index, line] of lines.entries()) {
    if (line.kind === 'same') continue
    for (let at = Math.max(0, index - context); at <= Math.min(lines.length - 1, index + context); at += 1)
      near[at] = 1
  }
  const blocks: DiffBlock[] = []
  for (const [index, line] of lines.entries()) {
    const last = blocks.at(-1)
    if (near[index]) {
      if (last && 'lines' in last) last.lines.push(line)
      else blocks.push({ lines: [line] })
    } else if (last && 'folded' in last) last.folded.push(line)
    else blocks.push({ folded: [line] })
  }
  return blocks
}
