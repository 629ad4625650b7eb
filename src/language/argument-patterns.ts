// Patterns of a grant: which arguments it covers, one pattern for each. An argument without a pattern is not covered, so a
// grant for `to` says nothing of a `bcc`. A star stops at separators: `*@example.org` does not match two addresses.
import { isJsonObject, type Json } from '../lib/json/index.ts'
import { coversAddress, coversText, isAddress, isAddressPattern } from './address-patterns.ts'
import { TurnwireError } from './errors.ts'
import { anything, type PatternPiece, splitPattern } from './star-patterns.ts'

/**
 * By the name of the argument. `*` stands for one or more letters, digits and `._+~=%#!-`; `**` for any visible text. A
 * backslash takes the next character as it is. The pattern `**` alone also covers any other value, and an absent argument.
 * Addresses and paths are compared as address-patterns.ts says.
 */
export type ArgumentPatterns = Readonly<Record<string, string>>

const most = { patterns: 50, pattern: 500, text: 4000 }

/** Refuses an empty list, too many patterns, and patterns that are no text or too long. */
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
  const pieces = splitPattern(pattern)
  if (pieces.every(piece => 'exact' in piece)) return text === pieces.map(piece => piece.exact).join('')
  if (text.length > most.text) return false
  // An address is covered by patterns of addresses alone: any other would have to guess where its host ends.
  if (isAddress(text) || isAddressPattern(pieces)) return coversAddress(pieces, text)
  return !namesHost(pieces, text) && coversText(pieces, text)
}

/** `//host/path` is an address of another host, though it begins as a path does. */
function namesHost(pieces: readonly PatternPiece[], text: string): boolean {
  const isMeant = pieces.slice(0, 2).every(piece => 'exact' in piece && /[/\\]/.test(piece.exact))
  return /^[/\\]{2}/.test(text) && !isMeant
}

function scalarText(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
