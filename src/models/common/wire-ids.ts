// Call ids as a vendor allows them. The id that the same protocol gave is preferred, then ours, then a hash of
// ours; and no two calls of one request share an id, whatever a vendor once handed out (some repeat or blank
// theirs). Nothing is stored: the choice follows from the history alone.

import type { CallPart } from '../../language/calls.ts'
import type { Origin } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import { sha256 } from '../../lib/hash.ts'
import { grown } from './grown.ts'

/** `pattern` matches a whole allowed id. No `g` flag. */
export type IdRule = { pattern: RegExp; maxLength: number }

export type WireIds = {
  /** `index`: the place in the history of the assistant entry that made the call, or of the tool entry that answers it. */
  of: (index: number, callId: string) => string
  /**
   * Not empty where this entry's ids depend on other entries: to be a part of the key under which its encoding is
   * remembered.
   */
  variant: (index: number) => string
}

/** The id of one call, as far as it can be said without looking at the rest of the request. */
export function wireId(
  call: CallPart,
  maker: Origin | undefined,
  target: Pick<Origin, 'protocol'>,
  rule: IdRule,
): string {
  const { nativeId } = call
  const protocol = call.native?.origin.protocol ?? maker?.protocol
  if (nativeId !== undefined && protocol === target.protocol && isAllowed(nativeId, rule)) return nativeId
  return ownId(call.id, rule)
}

/** The ids of all calls of a request: unique, and the same for a call and its result. */
export function wireIds(history: readonly Entry[], target: Pick<Origin, 'protocol'>, rule: IdRule): WireIds {
  const { asked } = walk(history, { target, rule })
  return {
    of: (index, callId) => asked[index]?.ids.get(callId) ?? ownId(callId, rule),
    variant: index => (history[index]?.role === 'user' ? '' : (asked[index]?.variant ?? '')),
  }
}

/** The calls of one assistant entry; shared by the entries after it, up to the next. */
type Asked = { ids: ReadonlyMap<string, string>; variant: string }
type Walked = { used: Set<string>; asked: (Asked | undefined)[] }

const walk = grown<Walked, { target: Pick<Origin, 'protocol'>; rule: IdRule }>({
  key: ({ target, rule }) => `${target.protocol} ${rule.maxLength} ${rule.pattern.source}`,
  begin: () => ({ used: new Set(), asked: [] }),
  add({ used, asked }, history, index, { target, rule }) {
    const entry = history[index]!
    asked.push(entry.role === 'assistant' ? askedIn(entry, used, target, rule) : asked.at(-1))
  },
})

type AssistantLike = Extract<Entry, { role: 'assistant' }>

function askedIn(
  entry: AssistantLike,
  used: Set<string>,
  target: Pick<Origin, 'protocol'>,
  rule: IdRule,
): Asked {
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
  entry: AssistantLike,
  natural: ReadonlyMap<string, string>,
  used: Set<string>,
  rule: IdRule,
): Map<string, string> {
  const free = new Map<string, string>()
  for (const part of entry.parts) {
    if (part.type !== 'call') continue
    let id = natural.get(part.id) ?? ownId(part.id, rule)
    if (used.has(id)) id = ownId(part.id, rule)
    for (let turn = 1; used.has(id); turn++) id = hashId(`${part.id} ${turn}`, rule)
    used.add(id)
    free.set(part.id, id)
  }
  return free
}

function ownId(id: string, rule: IdRule): string {
  return isAllowed(id, rule) ? id : hashId(id, rule)
}

function hashId(text: string, rule: IdRule): string {
  const digest = sha256(text).replace(/[^a-zA-Z0-9]/g, '')
  const marked = `call_${digest.slice(0, 24)}`
  return isAllowed(marked, rule) ? marked : digest.slice(0, Math.min(24, rule.maxLength))
}

function isAllowed(id: string, rule: IdRule): boolean {
  return id.length > 0 && id.length <= rule.maxLength && rule.pattern.test(id)
}
