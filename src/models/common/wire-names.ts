// Tool names as a vendor allows them, and back. A name that the vendor takes is sent as it is; any other is
// cleaned and marked with a hash of the whole name, so that `a.b` never becomes somebody else's `a_b` and the
// same name is spelled alike whatever stands beside it. Not for call ids, which are in wire-ids.ts.

import type { ToolDeclaration } from '../../language/tools.ts'
import { sha256 } from '../../lib/hash.ts'

export type NameRule = {
  /** Matches a whole allowed name; each allowed character must match it alone too. No `g` flag. */
  pattern: RegExp
  maxLength: number
  /** The first character must be a letter or an underscore. */
  firstLetter?: boolean
}

export type WireNames = {
  /** Works for any name, also of tools that are no longer offered. */
  toWire: (name: string) => string
  /** Offered tools only: wire name → our name. */
  fromWire: ReadonlyMap<string, string>
}

const HASH_LENGTH = 8

export function wireNames(names: readonly string[], rule: NameRule): WireNames {
  const owners = new Map<string, string>()
  const wires = new Map<string, string>()
  const give = (name: string): string => {
    const known = wires.get(name)
    if (known !== undefined) return known
    const wire = freeSpelling(name, rule, owners)
    owners.set(wire, name)
    wires.set(name, wire)
    return wire
  }
  // Names that need no change have the first right to their own spelling.
  for (const name of names) if (isAllowed(name, rule)) give(name)
  for (const name of names) give(name)
  const fromWire = new Map(owners)
  return { toWire: give, fromWire }
}

const remembered = new WeakMap<readonly ToolDeclaration[], Map<NameRule, WireNames>>()

/** The names of a request's tools; made once per array of tools and rule object. */
export function toolNames(tools: readonly ToolDeclaration[], rule: NameRule): WireNames {
  const byRule = remembered.get(tools) ?? new Map<NameRule, WireNames>()
  remembered.set(tools, byRule)
  let names = byRule.get(rule)
  if (names === undefined) {
    names = wireNames(
      tools.map(tool => tool.name),
      rule,
    )
    byRule.set(rule, names)
  }
  return names
}

function freeSpelling(name: string, rule: NameRule, owners: ReadonlyMap<string, string>): string {
  if (isAllowed(name, rule) && !owners.has(name)) return name
  const digest = sha256(name).replace(/[^a-zA-Z0-9]/g, '')
  for (let length = HASH_LENGTH; ; length += HASH_LENGTH) {
    const mark = digest.slice(0, length).padEnd(length, '0')
    const wire = `${cleaned(name, rule).slice(0, rule.maxLength - mark.length - 1)}_${mark}`
    if (!owners.has(wire)) return wire
  }
}

function isAllowed(name: string, rule: NameRule): boolean {
  if (name.length === 0 || name.length > rule.maxLength || !rule.pattern.test(name)) return false
  return rule.firstLetter !== true || /^[a-zA-Z_]/.test(name)
}

function cleaned(name: string, rule: NameRule): string {
  let text = ''
  for (const char of name) {
    text += char.length === 1 && rule.pattern.test(char) ? char : '_'
    if (text.length >= rule.maxLength) break
  }
  return rule.firstLetter === true && !/^[a-zA-Z_]/.test(text) ? `_${text}` : text
}
