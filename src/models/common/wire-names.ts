// Tool names as a vendor allows them, and back. A name that the vendor takes is sent as it is. Any other is cleaned
// and marked with a hash of the whole name, so that `a.b` never becomes another tool's `a_b`, and one name has the
// same spelling whatever tools stand beside it. Call ids are in wire-ids.ts.

import type { ToolDeclaration } from '../../language/tools.ts'
import { sha256 } from '../../lib/json/hash.ts'

export type NameRule = {
  /** Matches a whole allowed name, and each allowed character alone. No `g` flag. */
  pattern: RegExp
  maxLength: number
  /** The first character must be a letter or an underscore. */
  firstLetter?: boolean
  /** Names that the vendor's own tools have. */
  reserved?: ReadonlySet<string>
}

export type WireNames = {
  /** Takes any name, including those of tools that are no longer offered. */
  toWire: (name: string) => string
  /** Wire name → our name, of the offered tools only. */
  fromWire: ReadonlyMap<string, string>
}

const HASH_LENGTH = 8

/** `fixed`: our name → the name that the vendor gives the tool, of the tools that the vendor defines. */
export function toolNames(
  tools: readonly ToolDeclaration[],
  rule: NameRule,
  fixed: ReadonlyMap<string, string> = new Map(),
): WireNames {
  return wireNames(
    tools.map(tool => tool.name),
    rule,
    fixed,
  )
}

export function wireNames(
  names: readonly string[],
  rule: NameRule,
  fixed: ReadonlyMap<string, string> = new Map(),
): WireNames {
  const owners = new Map([...fixed].map(([name, wire]) => [wire, name]))
  const wires = new Map(fixed)
  const toWire = (name: string): string => {
    const known = wires.get(name)
    if (known !== undefined) return known
    const wire = freeSpelling(name, rule, owners)
    owners.set(wire, name)
    wires.set(name, wire)
    return wire
  }
  // Names that need no change come first, so that none of them loses its spelling to another.
  for (const name of names) if (isAllowedName(name, rule)) toWire(name)
  for (const name of names) toWire(name)
  return { toWire, fromWire: new Map(owners) }
}

function freeSpelling(name: string, rule: NameRule, owners: ReadonlyMap<string, string>): string {
  if (isAllowedName(name, rule) && !owners.has(name)) return name
  const digest = sha256(name).replace(/[^a-zA-Z0-9]/g, '')
  for (let length = HASH_LENGTH; ; length += HASH_LENGTH) {
    const mark = digest.slice(0, length).padEnd(length, '0')
    const wire = `${cleanedName(name, rule).slice(0, rule.maxLength - mark.length - 1)}_${mark}`
    if (!owners.has(wire)) return wire
  }
}

export function isAllowedName(name: string, rule: NameRule): boolean {
  if (name.length === 0 || name.length > rule.maxLength || !rule.pattern.test(name)) return false
  return rule.reserved?.has(name) !== true && (rule.firstLetter !== true || /^[a-zA-Z_]/.test(name))
}

function cleanedName(name: string, rule: NameRule): string {
  let text = ''
  for (const char of name) {
    text += char.length === 1 && rule.pattern.test(char) ? char : '_'
    if (text.length >= rule.maxLength) break
  }
  return rule.firstLetter === true && !/^[a-zA-Z_]/.test(text) ? `_${text}` : text
}
