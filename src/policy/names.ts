// Names with stars, as rules and settings write them: `*` stands for any run of characters.
import { invalidPolicy } from './invalid-policy.ts'

/** Whether a name is one of these; `*` stands for any run of characters. */
export function matchesName(names: readonly string[]): (name: string) => boolean {
  return namesMatcher(names, 'The list of names')
}

/** `where`: the setting, for messages. */
export function namesMatcher(names: string | readonly string[], where: string): (name: string) => boolean {
  const list = [names].flat()
  if (list.length === 0) invalidPolicy(where, 'must hold at least one name; leave it out to match all')
  const exact = new Set<string>()
  const globs: string[][] = []
  for (const name of list) {
    if (typeof name !== 'string' || name === '') invalidPolicy(where, 'must hold names that are not empty')
    if (name.includes('*')) globs.push(name.split('*'))
    else exact.add(name)
  }
  return name => exact.has(name) || globs.some(pieces => matchesGlob(pieces, name))
}

/** `pieces` are the texts between the stars. They must occur in order, the first at the start and the last at the end. */
function matchesGlob(pieces: readonly string[], name: string): boolean {
  const first = pieces[0]!
  const last = pieces.at(-1)!
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= name.length - last.length
}
