// Texts with stars, as patterns of a grant have them: `*` for one word, `**` for any text, a backslash for the character
// after it. Which text they are compared with is up to the caller.

export type PatternPiece = { exact: string } | { star: RegExp | undefined }

export const anything = '**'
const ofStar = /[\p{L}\p{M}\p{N}._+~=%#!-]/u

export function splitPattern(pattern: string): PatternPiece[] {
  const found = pattern.match(/\\.|\*\*|\*|./gsu) ?? []
  return found.map(piece => {
    if (piece === anything) return { star: undefined }
    if (piece === '*') return { star: ofStar }
    return { exact: piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece }
  })
}

export const isExactly = (piece: PatternPiece | undefined, text: string): boolean =>
  piece !== undefined && 'exact' in piece && piece.exact === text

export const isAnything = (piece: PatternPiece | undefined): boolean =>
  piece !== undefined && 'star' in piece && piece.star === undefined

/** Each place of the text that the pieces so far can end at. Its cost is the product of both lengths. */
export function matchesPieces(pieces: readonly PatternPiece[], text: string): boolean {
  const chars = Array.from(text)
  let ends = new Uint8Array(chars.length + 1)
  ends[0] = 1
  for (const piece of pieces) {
    const next = new Uint8Array(chars.length + 1)
    for (const [at, char] of chars.entries()) {
      if ('exact' in piece) next[at + 1] = ends[at]! & Number(piece.exact === char)
      else if (piece.star === undefined || piece.star.test(char)) next[at + 1] = ends[at]! | next[at]!
    }
    ends = next
  }
  return ends[chars.length] === 1
}
