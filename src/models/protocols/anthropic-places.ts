// What of an entry depends on the entries around it: server tools whose result never came, calls and results that
// have lost each other, thinking that nothing follows. Found by one pass over the history, before anything is
// encoded, and named in `variant` so that a remembered encoding is used only in the place it was made for.

import type { Origin } from '../../language/content.ts'
import { type AssistantEntry, callsOf, type Entry } from '../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { nativeFor, sameOrigin } from '../common/artifacts.ts'
import { isServerUse } from './anthropic-decode.ts'

export type Places = {
  /** Whether a block of a server tool, or a call's caller, would be refused: its other half is not there. */
  isDropped(id: Json | undefined): boolean
  /** Whether all of the entry's own blocks go back. */
  isWhole(index: number): boolean
  /** Whether call and result stand side by side. `index` is the place of either. */
  isPaired(index: number, callId: string): boolean
  /** Whether thinking may be the last that this entry says. */
  keepsTail(index: number): boolean
  variant(index: number): string
  /** The history ends with an answer that the vendor paused; it goes back as it is. */
  isPaused: boolean
}

/** `container`: where code of the vendor's waits for results, if it still does. */
type Around = { origin: Origin; hosted: readonly JsonObject[]; container: string | undefined }

export function placesOf(spoken: readonly Entry[], around: Around): Places {
  const { origin } = around
  const unpaired = unpairedCalls(spoken)
  const dropped = danglingIds(spoken, around, unpaired)
  const isPaused = endsPaused(spoken, origin, dropped)
  const lostOf = (index: number): string[] =>
    dropped.size === 0 ? [] : hostedIds(spoken[index], origin).filter(id => dropped.has(id))
  const keepsTail = (index: number): boolean => {
    const [entry, next] = [spoken[index], spoken[index + 1]]
    if (entry?.role !== 'assistant' || entry.parts.some(part => part.type === 'call')) return true
    return next === undefined ? isPaused : next.role === 'assistant'
  }
  return {
    isPaused,
    isDropped: id => typeof id === 'string' && dropped.has(id),
    isWhole: index => lostOf(index).length === 0,
    isPaired: (index, callId) => unpaired.get(index)?.has(callId) !== true,
    keepsTail,
    variant: index => {
      const end = keepsTail(index) ? '' : 'end'
      if (dropped.size === 0 && unpaired.size === 0) return end
      return [...lostOf(index), ...(unpaired.get(index) ?? []), end].filter(Boolean).join(' ')
    },
  }
}

/** Calls without their result in the next entry, results without their call in the one before. */
function unpairedCalls(spoken: readonly Entry[]): Map<number, Set<string>> {
  const unpaired = new Map<number, Set<string>>()
  for (const [index, entry] of spoken.entries()) {
    if (entry.role !== 'assistant' && entry.role !== 'tool') continue
    const [asked, answer] = entry.role === 'tool' ? [spoken[index - 1], entry] : [entry, spoken[index + 1]]
    if (isAnsweredInOrder(asked, answer)) continue
    const own = idsIn(entry)
    if (own.length === 0) continue
    const other = entry.role === 'assistant' ? spoken[index + 1] : spoken[index - 1]
    const wanted = entry.role === 'assistant' ? 'tool' : 'assistant'
    const there = new Set(other?.role === wanted ? idsIn(other) : [])
    const lost = own.filter(id => !there.has(id))
    if (lost.length > 0) unpaired.set(index, new Set(lost))
  }
  return unpaired
}

/** The usual case, told without building anything: the results of the very calls, in their order. */
function isAnsweredInOrder(asked: Entry | undefined, answer: Entry | undefined): boolean {
  if (asked?.role !== 'assistant' || answer?.role !== 'tool') return false
  let place = 0
  for (const part of asked.parts)
    if (part.type === 'call' && answer.results[place++]?.callId !== part.id) return false
  return place === answer.results.length
}

function idsIn(entry: Entry): string[] {
  if (entry.role === 'assistant') return callsOf(entry).map(call => call.id)
  return entry.role === 'tool' ? entry.results.map(result => result.callId) : []
}

/**
 * Between a server tool's call and its result may only stand results of calls of ours, and the request may end there
 * while the tool is still declared. What is left alone in any other way is dropped.
 */
function danglingIds(
  spoken: readonly Entry[],
  { origin, hosted, container }: Around,
  unpaired: ReadonlyMap<number, unknown>,
): Set<string> {
  const dropped = new Set<string>()
  const open = new Map<string, JsonObject>()
  for (const [index, entry] of spoken.entries()) {
    if (entry.role === 'assistant') {
      followHosted(entry, origin, open, dropped)
    } else if (entry.role !== 'tool' || unpaired.has(index)) {
      for (const id of open.keys()) dropped.add(id)
      open.clear()
    }
  }
  const calling = callersOf(spoken, origin)
  const isAdrift = (id: string): boolean => calling.has(id) && container === undefined
  for (const [id, use] of open) if (!isDeclared(use, hosted) || isAdrift(id)) dropped.add(id)
  const isAnswer = spoken.at(-1)?.role === 'assistant'
  // An answer that is not gone on with is followed by a word of ours, and that closes the way for all results.
  if (isAnswer && !endsPaused(spoken, origin, dropped)) for (const id of open.keys()) dropped.add(id)
  return dropped
}

function followHosted(
  entry: AssistantEntry,
  origin: Origin,
  open: Map<string, JsonObject>,
  dropped: Set<string>,
): void {
  for (const part of entry.parts) {
    if (part.type !== 'hosted' && part.type !== 'call') continue
    const data = nativeFor(part, origin)
    if (!isJsonObject(data)) continue
    const { id, tool_use_id, caller } = data
    const calledBy = isJsonObject(caller) ? caller['tool_id'] : undefined
    // Code that is over, or never began, makes no calls.
    if (typeof calledBy === 'string' && !open.has(calledBy)) dropped.add(calledBy)
    if (part.type === 'call') continue
    if (isServerUse(data) && typeof id === 'string') {
      open.set(id, data)
    } else if (typeof tool_use_id === 'string' && !open.delete(tool_use_id)) dropped.add(tool_use_id)
  }
}

/** Ids of the server tools that made the latest answer's calls. */
export function callersOf(spoken: readonly Entry[], origin: Origin): Set<string> {
  const asked = spoken.findLast(entry => entry.role === 'assistant')
  const ids = new Set<string>()
  for (const { caller } of hostedBlocks(asked, origin))
    if (isJsonObject(caller) && typeof caller['tool_id'] === 'string') ids.add(caller['tool_id'])
  return ids
}

/** Calls that code made are answered in the container it waits in, and nowhere else. */
export function latestContainer(spoken: readonly Entry[], origin: Origin): string | undefined {
  for (let index = spoken.length - 1; index >= 0; index--) {
    const entry = spoken[index]
    if (entry?.role !== 'assistant' || !sameOrigin(entry.continuity?.origin, origin)) continue
    const data = entry.continuity?.data
    const container = isJsonObject(data) ? data['container'] : undefined
    const id = isJsonObject(container) ? container['id'] : undefined
    if (typeof id === 'string') return id
  }
  return undefined
}

function isDeclared(use: JsonObject, hosted: readonly JsonObject[]): boolean {
  if (use['type'] === 'mcp_tool_use')
    return hosted.some(tool => tool['mcp_server_name'] === use['server_name'])
  const name = typeof use['name'] === 'string' ? use['name'] : ''
  const family = name.endsWith('code_execution') ? 'code_execution' : name
  return hosted.some(tool => tool['name'] === family)
}

function endsPaused(spoken: readonly Entry[], origin: Origin, dropped: ReadonlySet<string>): boolean {
  for (let index = spoken.length - 1; spoken[index]?.role === 'assistant'; index--) {
    const uses = hostedBlocks(spoken[index], origin).filter(isServerUse)
    if (uses.some(use => typeof use['id'] === 'string' && !dropped.has(use['id']))) return true
  }
  return false
}

function hostedIds(entry: Entry | undefined, origin: Origin): string[] {
  return hostedBlocks(entry, origin).flatMap(block => {
    const caller = block['caller']
    const ids = [block['id'], block['tool_use_id'], isJsonObject(caller) ? caller['tool_id'] : undefined]
    return ids.filter(id => typeof id === 'string')
  })
}

/** What the vendor itself said of the entry's server tools and of who made its calls. */
export function hostedBlocks(entry: Entry | undefined, origin: Origin): JsonObject[] {
  if (entry?.role !== 'assistant') return []
  const blocks: JsonObject[] = []
  for (const part of entry.parts) {
    if (part.type !== 'hosted' && part.type !== 'call') continue
    const data = nativeFor(part, origin)
    if (isJsonObject(data)) blocks.push(data)
  }
  return blocks
}
