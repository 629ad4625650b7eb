// Cache marks: where the vendor is to keep what it has read so far, so that the next request that begins the same costs a
// tenth. A caller's own marks go back as they came. Where there are none, two are set: after the tools and instructions,
// and at the end. A mark costs a quarter more for what it writes, so a single question gets none.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { Native, Origin } from '../../../language/content.ts'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { nativeFor, wireJson } from '../../common/artifacts.ts'
import type { ModelTarget } from '../../protocol.ts'

/** The quirk of a gateway that refuses cache marks. */
const noCacheMarks = 'no-cache-marks'

const MARK: JsonObject = { type: 'ephemeral' }

/** The mark that the caller put on this block. */
export function markOf(part: { native?: Native }, origin: Origin): Json | undefined {
  const data = nativeFor(part, origin)
  return isJsonObject(data) ? data['cache_control'] : undefined
}

/** `block` is the JSON text of an object. */
export function withMark(block: string, mark: Json | undefined = MARK): string {
  return `${block.slice(0, -1)},"cache_control":${wireJson(mark)}}`
}

export function isMarked(entry: Entry, origin: Origin): boolean {
  const places = entry.role === 'system' ? [entry] : entry.role === 'tool' ? entry.results : entry.parts
  return places.some(place => markOf(place, origin) !== undefined)
}

/** `marked`: the history has marks of the caller's own. */
export function setsMarks(request: ModelRequest, target: ModelTarget, marked: boolean): boolean {
  if (marked || target.quirks.has(noCacheMarks) || request.purpose === 'summary') return false
  const isCallers = (fields: JsonObject | undefined): boolean => fields?.['cache_control'] !== undefined
  if (isCallers(target.body) || target.hosted.some(isCallers)) return false
  if (request.tools.some(tool => isCallers(tool.fields?.['anthropic']))) return false
  // A session goes on, and so does a conversation that has gone on before.
  return request.memory !== undefined || request.history.some(entry => entry.role === 'assistant')
}

type SystemText = { text: string; native?: Native }

/** `system`: a text, or blocks where one of them has a mark. */
export function systemField(texts: readonly SystemText[], origin: Origin, sets: boolean): JsonObject {
  if (texts.length === 0) return {}
  const marks = texts.map(each => markOf(each, origin))
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
export function markedTools(fields: JsonObject): JsonObject {
  const { tools } = fields
  if (!Array.isArray(tools)) return fields
  const last = tools.findLastIndex(tool => isJsonObject(tool) && tool['defer_loading'] !== true)
  return {
    ...fields,
    tools: tools.map((tool, at) =>
      at === last && isJsonObject(tool) ? { ...tool, cache_control: MARK } : tool,
    ),
  }
}
