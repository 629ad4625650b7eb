// Cache marks: where the vendor is to keep what it has read so far, so that the next request that begins the same costs a
// tenth. A caller's own marks go back as they came. Where there are none, two are set: after the tools and instructions,
// and at the end. A mark costs a quarter more for what it writes, so a single question gets none.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { Native, Origin } from '../../../language/content.ts'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { nativeFor } from '../../common/history.ts'
import { type OfferRequest, wireJson } from '../../common/prepare.ts'
import type { ModelTarget } from '../../protocol.ts'

/** The quirk of a gateway that refuses cache marks. */
const noCacheMarks = 'no-cache-marks'

const MARK: JsonObject = { type: 'ephemeral' }
const MARK_TEXT = wireJson(MARK)

/** The mark that the caller put on this block. */
export function cacheMark(part: { native?: Native }, origin: Origin): Json | undefined {
  const data = nativeFor(part, origin)
  return isJsonObject(data) ? data['cache_control'] : undefined
}

/** `block` is the JSON text of an object. */
export function withMark(block: string, mark?: Json): string {
  return `${block.slice(0, -1)},"cache_control":${mark === undefined ? MARK_TEXT : wireJson(mark)}}`
}

export function isMarked(entry: Entry, origin: Origin): boolean {
  const places = entry.role === 'system' ? [entry] : entry.role === 'tool' ? entry.results : entry.parts
  for (const place of places) if (place.native && cacheMark(place, origin) !== undefined) return true
  return false
}

/** Marks of ours are set: neither the deployment nor a tool has marks of its own. */
export function mayMark({ tools }: OfferRequest, target: ModelTarget): boolean {
  const isCallers = (fields: JsonObject | undefined): boolean => fields?.['cache_control'] !== undefined
  if (target.quirks.has(noCacheMarks) || isCallers(target.body) || target.hosted.some(isCallers)) return false
  return !tools.some(tool => isCallers(tool.fields?.['anthropic']))
}

/** Where `mayMark`: the caller has set no marks, and what is marked will be read again. */
export function setsMarks(
  request: ModelRequest,
  system: readonly SystemText[],
  { marked }: { marked: boolean },
  origin: Origin,
): boolean {
  if (marked || request.purpose === 'summary') return false
  for (const part of system) if (part.native && cacheMark(part, origin) !== undefined) return false
  // A session goes on, and so does a conversation that has gone on before.
  return request.memory !== undefined || request.history.some(entry => entry.role === 'assistant')
}

type SystemText = { text: string; native?: Native }

/** `system`: a text, or blocks where one of them has a mark. */
export function systemField(texts: readonly SystemText[], origin: Origin, sets: boolean): JsonObject {
  const marks = texts.map(each => cacheMark(each, origin))
  if (sets) marks[marks.length - 1] ??= MARK
  if (marks.every(mark => mark === undefined)) return { system: texts.map(({ text }) => text).join('\n\n') }
  const system = texts.map(({ text }, at) => ({
    type: 'text',
    text,
    ...(marks[at] !== undefined && { cache_control: marks[at] }),
  }))
  return { system }
}

/** Where no instructions follow the tools, the last tool that is loaded has the mark. */
export function markedTools({
  tools,
  markAt,
}: {
  tools: string | undefined
  markAt: number
}): string | undefined {
  return tools && withMark(tools.slice(0, markAt + 1)) + tools.slice(markAt + 1)
}
