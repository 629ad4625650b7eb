// Facts that the encoding of an entry takes from the entries around it: server tools whose result never came, calls and
// results without their counterpart, thinking that nothing follows. They are known before anything is encoded, and
// `variant` names them, so that a cached encoding is used only where it still holds.

import type { Origin } from '../../../language/content.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { nativeFor, sameOrigin, unpairedIds } from '../../common/history.ts'
import type { SessionCache } from '../../common/session-cache.ts'
import type { ModelTarget } from '../../protocol.ts'
import { isMarked } from './cache.ts'

export type Surroundings = {
  /** The block with this id, or the call with this caller, would be refused: its counterpart is missing. */
  isDropped(id: Json | undefined): boolean
  /** None of the entry's own blocks is dropped. */
  keepsAllBlocks(index: number): boolean
  /** Call and result stand side by side. `index` is that of either. */
  isPaired(index: number, callId: string): boolean
  mayEndWithThinking(index: number): boolean
  variant: (index: number) => string
  /** The history ends with an answer that the vendor paused. It goes back as it is. */
  endsPaused: boolean
}

/** `container`: where the vendor's code waits for results, if it is still there. */
type Deployment = { origin: Origin; hosted: readonly JsonObject[]; container: string | undefined }

export function surroundingsIn(
  spoken: readonly Entry[],
  facts: HistoryFacts,
  deployment: Deployment,
): Surroundings {
  const { origin } = deployment
  const lastIndex = spoken.length - 1
  const dropped = facts.open.size === 0 ? facts.dropped : droppedIds(spoken, facts, deployment)
  const lastUnpaired = new Set(unpairedIds(spoken, lastIndex))
  const unpairedAt = (index: number): ReadonlySet<string> | undefined =>
    index === lastIndex ? lastUnpaired : facts.unpaired.get(index)
  const endsPaused = spoken[lastIndex]?.role === 'assistant' && endsWithOpenUse(spoken, origin, dropped)
  const droppedIn = (index: number): string[] =>
    dropped.size === 0 ? [] : blockIds(spoken[index], origin).filter(id => dropped.has(id))
  const mayEndWithThinking = (index: number): boolean => {
    const entry = spoken[index]
    if (entry?.role !== 'assistant' || hasCalls(entry)) return true
    const next = spoken[index + 1]
    return next === undefined ? endsPaused : next.role === 'assistant'
  }
  const isPlain = dropped.size === 0 && facts.unpaired.size === 0 && lastUnpaired.size === 0
  return {
    endsPaused,
    isDropped: id => typeof id === 'string' && dropped.has(id),
    keepsAllBlocks: index => droppedIn(index).length === 0,
    isPaired: (index, callId) => unpairedAt(index)?.has(callId) !== true,
    mayEndWithThinking,
    variant: index => {
      const end = spoken[index]?.role !== 'assistant' || mayEndWithThinking(index) ? '' : 'end'
      if (isPlain) return end
      return [...droppedIn(index), ...(unpairedAt(index) ?? []), end].filter(Boolean).join(' ')
    },
  }
}

// ---- facts about the whole history -----------------------------------------------------------------------

export type HistoryFacts = {
  /** By index, except for the last entry: ids of calls without a result and of results without a call. */
  unpaired: Map<number, ReadonlySet<string>>
  /** Uses of server tools that still wait for their results, by id. */
  open: Map<string, JsonObject>
  /** Ids of server-tool blocks that lost their counterpart. */
  dropped: Set<string>
  /** Wire names that the vendor's tool search found. Each must still be declared. */
  found: Set<string>
  /** Our names of the tools that results of our search refer to. */
  loads: Set<string>
  /** The history has blocks of the vendor's MCP connector. */
  usesMcp: boolean
  /** The caller has set cache marks in it. */
  marked: boolean
  /** The latest container. Calls that code made can be answered only there. */
  container: Container | undefined
}

/** `expiresAt`: in milliseconds since 1970. Undefined: not known. */
type Container = { id: string; expiresAt: number | undefined }

/** The container's id, unless the vendor has deleted it by now. */
export function livingContainer(
  { id, expiresAt }: Container,
  { forgotten }: ModelTarget,
  now: number | undefined,
): string | undefined {
  if (forgotten) return undefined
  return now !== undefined && expiresAt !== undefined && expiresAt <= now ? undefined : id
}

export function noFacts(): HistoryFacts {
  return {
    unpaired: new Map(),
    open: new Map(),
    dropped: new Set(),
    found: new Set(),
    loads: new Set(),
    usesMcp: false,
    marked: false,
    container: undefined,
  }
}

export function historyFacts(cache: SessionCache, spoken: readonly Entry[], origin: Origin): HistoryFacts {
  return cache.fold<HistoryFacts>(spoken, {
    key: `facts ${origin.protocol} ${origin.family}`,
    start: noFacts,
    add(facts, entries, index) {
      const entry = entries[index]!
      facts.marked ||= isMarked(entry, origin)
      // Whether an answer's calls have results is known once the next entry is there.
      if (entries[index - 1]?.role === 'assistant') noteUnpaired(facts, entries, index - 1)
      if (entry.role === 'tool') {
        noteUnpaired(facts, entries, index)
        for (const { outcome } of entry.results) for (const name of outcome.loads ?? []) facts.loads.add(name)
      }
      if (entry.role === 'assistant') noteAnswer(facts, entry, origin)
      else if (entry.role !== 'tool' || facts.unpaired.has(index)) {
        // Only results of our calls may stand between a server tool's use and its result.
        for (const id of facts.open.keys()) facts.dropped.add(id)
        facts.open.clear()
      }
    },
  })
}

function noteUnpaired({ unpaired }: HistoryFacts, spoken: readonly Entry[], index: number): void {
  const ids = unpairedIds(spoken, index)
  if (ids.length > 0) unpaired.set(index, new Set(ids))
}

function noteAnswer(facts: HistoryFacts, entry: AssistantEntry, origin: Origin): void {
  for (const part of entry.parts) {
    if (part.native === undefined || (part.type !== 'hosted' && part.type !== 'call')) continue
    const data = nativeFor(part, origin)
    if (!isJsonObject(data)) continue
    followServerTools(facts, data, part.type === 'call')
    if (data['type'] === 'mcp_tool_use') facts.usesMcp = true
    const found = isJsonObject(data['content']) ? data['content']['tool_references'] : undefined
    for (const item of Array.isArray(found) ? found : [])
      if (isJsonObject(item) && typeof item['tool_name'] === 'string') facts.found.add(item['tool_name'])
  }
  if (!entry.continuity || !sameOrigin(entry.continuity.origin, origin)) return
  const { data } = entry.continuity
  const container = isJsonObject(data) ? data['container'] : undefined
  if (isJsonObject(container)) noteContainer(facts, container)
  // The vendor had no such container any more when this answer was asked for.
  if (container === null) facts.container = undefined
}

function followServerTools({ open, dropped }: HistoryFacts, data: JsonObject, isCall: boolean): void {
  const { id, tool_use_id, caller } = data
  const calledBy = isJsonObject(caller) ? caller['tool_id'] : undefined
  // Code that has ended, or never began, makes no calls.
  if (typeof calledBy === 'string' && !open.has(calledBy)) dropped.add(calledBy)
  if (isCall) return
  if (isServerUse(data) && typeof id === 'string') open.set(id, data)
  else if (typeof tool_use_id === 'string' && !open.delete(tool_use_id)) dropped.add(tool_use_id)
}

function noteContainer(facts: HistoryFacts, { id, expires_at: expires }: JsonObject): void {
  if (typeof id !== 'string') return
  const expiresAt = typeof expires === 'string' ? Date.parse(expires) : Number.NaN
  facts.container = { id, expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt }
}

// ---- server tools ----------------------------------------------------------------------------------------

export function isServerUse(block: { type?: unknown }): boolean {
  return block.type === 'server_tool_use' || block.type === 'mcp_tool_use'
}

/** A request may end while a server tool works, if the tool is still declared. Any other open use is dropped. */
function droppedIds(
  spoken: readonly Entry[],
  { open, dropped: lost }: HistoryFacts,
  { origin, hosted, container }: Deployment,
): ReadonlySet<string> {
  const dropped = new Set(lost)
  const calling = callersIn(spoken, origin)
  const lostContainer = (id: string): boolean => calling.has(id) && container === undefined
  for (const [id, use] of open) if (!isDeclared(use, hosted) || lostContainer(id)) dropped.add(id)
  const endsWithAnswer = spoken.at(-1)?.role === 'assistant'
  // An answer that the vendor does not continue is followed by a user's message, after which no result may come.
  if (endsWithAnswer && !endsWithOpenUse(spoken, origin, dropped))
    for (const id of open.keys()) dropped.add(id)
  return dropped
}

/** Ids of the server tools that made the latest answer's calls. */
export function callersIn(spoken: readonly Entry[], origin: Origin): Set<string> {
  const answer = spoken.findLast(entry => entry.role === 'assistant')
  const ids = new Set<string>()
  for (const { caller } of nativeBlocks(answer, origin))
    if (isJsonObject(caller) && typeof caller['tool_id'] === 'string') ids.add(caller['tool_id'])
  return ids
}

function isDeclared(use: JsonObject, hosted: readonly JsonObject[]): boolean {
  if (use['type'] === 'mcp_tool_use')
    return hosted.some(tool => tool['mcp_server_name'] === use['server_name'])
  const name = typeof use['name'] === 'string' ? use['name'] : ''
  const declared = name.endsWith('code_execution') ? 'code_execution' : name
  return hosted.some(tool => tool['name'] === declared)
}

function endsWithOpenUse(spoken: readonly Entry[], origin: Origin, dropped: ReadonlySet<string>): boolean {
  for (let index = spoken.length - 1; spoken[index]?.role === 'assistant'; index--) {
    const uses = nativeBlocks(spoken[index], origin).filter(isServerUse)
    if (uses.some(use => typeof use['id'] === 'string' && !dropped.has(use['id']))) return true
  }
  return false
}

function blockIds(entry: Entry | undefined, origin: Origin): string[] {
  return nativeBlocks(entry, origin).flatMap(block => {
    const caller = block['caller']
    const ids = [block['id'], block['tool_use_id'], isJsonObject(caller) ? caller['tool_id'] : undefined]
    return ids.filter(id => typeof id === 'string')
  })
}

/** The vendor's own data of an answer's server tools and calls. */
function nativeBlocks(entry: Entry | undefined, origin: Origin): JsonObject[] {
  if (entry?.role !== 'assistant') return []
  const blocks: JsonObject[] = []
  for (const part of entry.parts) {
    if (part.type !== 'hosted' && part.type !== 'call') continue
    const data = nativeFor(part, origin)
    if (isJsonObject(data)) blocks.push(data)
  }
  return blocks
}

function hasCalls({ parts }: AssistantEntry): boolean {
  // Calls mostly stand at the end.
  for (let at = parts.length - 1; at >= 0; at--) if (parts[at]!.type === 'call') return true
  return false
}
