// Names with stars, as settings and rules write them: `*` stands for any run of characters, also none.

/** Pieces are looked for from left to right, the last one at the end, so that the time grows with the length only. */
export function fitsStars(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at + last.length <= name.length
}
