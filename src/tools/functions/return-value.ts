// Turns the value that a function returned (text, data, parts or nothing) into a tool's output. Data becomes both text
// for the model and a value for programs.

import type { ToolOutput } from '../../engine/ports/index.ts'
import { sourceUri } from '../../language/calls.ts'
import { isResultPart } from '../../language/content.ts'
import type { Report } from '../../language/report.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { Detailed, Later } from './later.ts'
import { jsonText } from './plain-value.ts'

/** With an output schema every returned value is data, except an explicit `{ parts }`. */
export function toOutput(value: unknown, name: string, hasOutput: boolean): ToolOutput {
  if (value === undefined) return { parts: [] }
  if (value instanceof Later) return { parts: [], later: { expiresInMs: value.expiresInMs } }
  if (value instanceof Detailed)
    return { ...toOutput(value.value, name, hasOutput), ...readDetails(value, name) }
  if (value instanceof Error) throw value
  if (isStream(value)) return { parts: [], stream: value }
  if (isOutput(value)) return explicitOutput(value, name)
  if (!hasOutput) {
    if (typeof value === 'string') return { parts: [{ type: 'text', text: value }] }
    if (isResultPart(value)) return { parts: [value] }
    if (Array.isArray(value) && value.length > 0 && value.every(isResultPart)) return { parts: value }
  }
  const text = jsonText(value, name)
  const shown = typeof value === 'string' ? value : text
  const keeps = hasOutput || (typeof value === 'object' && value !== null)
  // Parsing the text again gives plain JSON, whatever classes the value had.
  const structured = keeps ? { structured: JSON.parse(text) as Json } : {}
  return { parts: [{ type: 'text', text: shown }], ...structured }
}

/** A generator, a Node or a web stream. Each item is checked as it comes. */
function isStream(value: unknown): value is AsyncIterable<string | Uint8Array> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function readDetails({ details }: { details?: unknown }, name: string): Pick<ToolOutput, 'details'> {
  return details === undefined ? {} : { details: JSON.parse(jsonText(details, name)) as Json }
}

type UncheckedOutput = {
  parts: unknown[]
  structured?: unknown
  failed?: unknown
  stream?: unknown
  report?: unknown
  details?: unknown
  sources?: unknown
}

const outputKeys = new Set(['parts', 'structured', 'failed', 'stream', 'report', 'details', 'sources'])

function isOutput(value: unknown): value is UncheckedOutput {
  return (
    isJsonObject(value) &&
    Array.isArray(value['parts']) &&
    Object.keys(value).every(key => outputKeys.has(key))
  )
}

function explicitOutput(output: UncheckedOutput, name: string): ToolOutput {
  const { parts, structured, failed, stream, report, details } = output
  if (stream !== undefined && !isStream(stream))
    throw new TypeError(
      `The tool "${name}" returned a "stream" that cannot be read: give an async iterable of text or bytes.`,
    )
  for (const [index, part] of parts.entries())
    if (!isResultPart(part))
      throw new TypeError(
        `The tool "${name}" returned parts[${index}], which is not a part: { type: "text", text }, ` +
          '{ type: "image", url } or { type: "file", url, mediaType }.',
      )
  return {
    parts: parts.filter(isResultPart),
    ...(structured !== undefined && { structured: JSON.parse(jsonText(structured, name)) as Json }),
    ...(failed === true && { failed }),
    ...(stream !== undefined && { stream }),
    ...readDetails({ details }, name),
    ...(output.sources !== undefined && { sources: namedSources(output.sources, name) }),
    // The gate takes only the members that it knows.
    ...(isJsonObject(report) && { report: report as Report }),
  }
}

/** Without query, fragment and user. */
function namedSources(sources: unknown, name: string): { uri: string }[] {
  const list: unknown[] = Array.isArray(sources) ? sources : [sources]
  return list.map(source => {
    const given = isJsonObject(source) ? source['uri'] : undefined
    const uri = typeof given === 'string' ? sourceUri(given) : undefined
    if (uri === undefined)
      throw new TypeError(
        `The tool "${name}" returned "sources" that name no address: give a list of { uri: "https://…" }.`,
      )
    return { uri }
  })
}
