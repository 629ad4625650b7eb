// Patterns of a grant: which arguments it covers, one pattern for each. An argument without a pattern is not covered, so a
// grant for `to` says nothing of a `bcc`. A star stops at separators: `*@example.org` does not match two addresses.
import { isJsonObject, type Json } from '../lib/json.ts'
import { TurnwireError } from './errors.ts'

/**
 * By the name of the argument. `*` stands for one or more letters, digits and `._+~=%#!-`; `**` for any visible text. A
 * backslash takes the next character as it is. The pattern `**` alone also covers any other value, and an absent argument.
 */
export type ArgumentPatterns = Readonly<Record<string, string>>

const most = { patterns: 50, pattern: 500, text: 4000 }
const anything = '**'

/** Refuses what cannot be meant. */
export function checkPatterns(patterns: ArgumentPatterns): void {
  const names = Object.keys(patterns)
  const bad = (words: string): TurnwireError => new TurnwireError('bad_request', words)
  if (names.length === 0) throw bad('"where" must name at least one argument; leave it out to cover all.')
  if (names.length > most.patterns) throw bad(`"where" must name at most ${most.patterns} arguments.`)
  for (const name of names) {
    const pattern: unknown = patterns[name]
    if (typeof pattern !== 'string' || pattern === '' || pattern.length > most.pattern)
      throw bad(`"where.${name}" must be a text of 1 to ${most.pattern} characters.`)
  }
}

/** Whether every argument has a pattern and matches it. Free text is the argument `input`. */
export function coversArguments(patterns: ArgumentPatterns, input: Json): boolean {
  const given = isJsonObject(input) ? input : { input }
  const isNamed = (name: string): boolean => Object.hasOwn(patterns, name)
  return (
    Object.keys(given).every(isNamed) &&
    Object.entries(patterns).every(
      ([name, pattern]) =>
        pattern === anything || (Object.hasOwn(given, name) && matches(pattern, given[name])),
    )
  )
}

/** The pattern that covers exactly this value, or undefined for a list or an object. */
export function exactPattern(value: Json): string | undefined {
  const text = scalarText(value)
  if (text === undefined || text === '' || text.length > most.pattern / 2) return undefined
  return text.replace(/[*\\]/g, '\\$&')
}

function matches(pattern: string, value: Json | undefined): boolean {
  const text = scalarText(value)
  if (text === undefined) return false
  const pieces = piecesOf(pattern)
  if (pieces.every(piece => 'exact' in piece)) return text === pieces.map(piece => piece.exact).join('')
  if (text.length > most.text || isHidden.test(text) || climbs.test(text)) return false
  return matchesPieces(pieces, text)
}

function scalarText(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const isHidden = /\p{C}/u
/** A part `..` of a path leads out of the folder that the pattern names. */
const climbs = /(?:^|[/\\])\.\.(?:[/\\]|$)/
const ofStar = /[\p{L}\p{M}\p{N}._+~=%#!-]/u

type Piece = { exact: string } | { star: RegExp | undefined }

function piecesOf(pattern: string): Piece[] {
  const found = pattern.match(/\\.|\*\*|\*|./gsu) ?? []
  return found.map(piece => {
    if (piece === anything) return { star: undefined }
    if (piece === '*') return { star: ofStar }
    return { exact: piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece }
  })
}

/** Each place of the text that the pieces so far can end at. Its cost is the product of both lengths. */
function matchesPieces(pieces: readonly Piece[], text: string): boolean {
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
