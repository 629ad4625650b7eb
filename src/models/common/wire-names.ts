// Tool names and call ids as a vendor allows them, and names back. A name that the vendor takes is sent as it is. Any other is
// cleaned and marked with a hash of the whole name, so that `a.b` never becomes another tool's `a_b`, and one name has the
// same spelling whatever tools stand beside it. Of a call's ids the one that the same protocol gave is preferred, then ours,
// then a hash of ours; no two calls of one request share one. Nothing is stored: ids follow from the history alone.

import type { CallPart } from '../../language/calls.ts'
import type { Origin } from '../../language/content.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { sha256 } from '../../lib/json/hash.ts'
import type { SessionCache } from './session-cache.ts'

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
  tools: readonly Pick<ToolDeclaration, 'name'>[],
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
  for (const { name } of tools) if (isAllowedName(name, rule)) toWire(name)
  for (const { name } of tools) toWire(name)
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

// ---- call ids -------------------------------------------------------------------------------------------

/** `pattern` matches a whole allowed id. No `g` flag. */
export type IdRule = { pattern: RegExp; maxLength: number }

export type WireIds = {
  /** `index`: of the assistant entry that made the call, or of the tool entry that answers it. */
  of: (index: number, callId: string) => string
  /** False: all variants are empty. */
  varies: boolean
  /** Not empty where the ids of this entry depend on other entries: part of the key of its cached encoding. */
  variant: (index: number) => string
}

/** The id of one call, before it is compared with the other ids of the request. */
export function wireId(
  call: CallPart,
  maker: Origin | undefined,
  target: Pick<Origin, 'protocol'>,
  rule: IdRule,
): string {
  const { nativeId } = call
  const protocol = call.native?.origin.protocol ?? maker?.protocol
  if (nativeId !== undefined && protocol === target.protocol && isAllowedId(nativeId, rule)) return nativeId
  return ownId(call.id, rule)
}

/** The ids of all calls of a request: unique, and the same for a call and its result. */
export function wireIds(
  cache: SessionCache,
  history: readonly Entry[],
  target: Pick<Origin, 'protocol'>,
  rule: IdRule,
): WireIds {
  const { answers, varies } = cache.fold<UsedIds>(history, {
    key: `ids ${target.protocol} ${rule.maxLength} ${rule.pattern.source}`,
    start: () => ({ used: new Set(), answers: [], varies: false }),
    add(known, entries, index) {
      const entry = entries[index]!
      const answer =
        entry.role === 'assistant' ? idsOfAnswer(entry, known.used, target, rule) : known.answers.at(-1)
      known.answers.push(answer)
      known.varies ||= answer !== undefined && answer.variant !== ''
    },
  })
  return {
    varies,
    of: (index, callId) => answers[index]?.ids.get(callId) ?? ownId(callId, rule),
    variant: index => (history[index]?.role === 'user' ? '' : (answers[index]?.variant ?? '')),
  }
}

/** The ids of one assistant entry's calls. The entries after it share them, up to the next assistant entry. */
type AnswerIds = { ids: ReadonlyMap<string, string>; variant: string }
type UsedIds = { used: Set<string>; answers: (AnswerIds | undefined)[]; varies: boolean }

function idsOfAnswer(
  entry: AssistantEntry,
  used: Set<string>,
  target: Pick<Origin, 'protocol'>,
  rule: IdRule,
): AnswerIds {
  const natural = new Map<string, string>()
  const own = new Set<string>()
  let clashes = false
  for (const part of entry.parts) {
    if (part.type !== 'call') continue
    const id = wireId(part, entry.origin, target, rule)
    clashes ||= used.has(id) || own.has(id)
    own.add(id)
    natural.set(part.id, id)
  }
  if (!clashes) {
    for (const id of natural.values()) used.add(id)
    return { ids: natural, variant: '' }
  }
  const ids = freeIds(entry, natural, used, rule)
  return { ids, variant: [...ids.values()].join(' ') }
}

function freeIds(
  entry: AssistantEntry,
  natural: ReadonlyMap<string, string>,
  used: Set<string>,
  rule: IdRule,
): Map<string, string> {
  const free = new Map<string, string>()
  for (const part of entry.parts) {
    if (part.type !== 'call') continue
    let id = natural.get(part.id) ?? ownId(part.id, rule)
    if (used.has(id)) id = ownId(part.id, rule)
    for (let attempt = 1; used.has(id); attempt++) id = hashId(`${part.id} ${attempt}`, rule)
    used.add(id)
    free.set(part.id, id)
  }
  return free
}

function ownId(id: string, rule: IdRule): string {
  return isAllowedId(id, rule) ? id : hashId(id, rule)
}

function hashId(text: string, rule: IdRule): string {
  const digest = sha256(text).replace(/[^a-zA-Z0-9]/g, '')
  const marked = `call_${digest.slice(0, 24)}`
  return isAllowedId(marked, rule) ? marked : digest.slice(0, Math.min(24, rule.maxLength))
}

function isAllowedId(id: string, rule: IdRule): boolean {
  return id.length > 0 && id.length <= rule.maxLength && rule.pattern.test(id)
}
