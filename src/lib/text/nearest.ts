// Finds the known word that is nearest to a mistyped one.

/** `most`: how many letters may differ. */
export function nearest(
  word: string,
  known: readonly string[],
  most = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let best: string | undefined
  let least = most + 1
  for (const each of known) {
    const steps = each.startsWith(word) && word.length >= 2 ? 1 : distance(word, each)
    if (steps < least) {
      best = each
      least = steps
    }
  }
  return best
}

/** The number of letters to add, drop, change, or swap with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const last = row
    row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let steps = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps = Math.min(steps, before[j - 2]! + 1)
      row.push(steps)
    }
    before = last
  }
  return row[b.length]!
}
