// From what a function returned to a tool's output. People return what is at hand: text, data, parts, nothing.
// Data is given twice, as text that a model reads and as a value that programs read.

import type { ToolOutput } from '../engine/ports.ts'
import type { ResultPart } from '../language/content.ts'
import { isJsonObject, type Json } from '../lib/json.ts'

/** With a declared output schema every returned value is data, except an explicit `{ parts }`. */
export function toOutput(value: unknown, name: string, hasOutput: boolean): ToolOutput {
  if (value === undefined) return { parts: [] }
  if (value instanceof Error) throw value
  if (isOutput(value)) return explicitOutput(value, name)
  if (!hasOutput) {
    if (typeof value === 'string') return { parts: [{ type: 'text', text: value }] }
    if (isPart(value)) return { parts: [value] }
    if (Array.isArray(value) && value.length > 0 && value.every(isPart)) return { parts: value }
  }
  const text = jsonText(value, name)
  const shown = typeof value === 'string' ? value : text
  const keeps = hasOutput || (typeof value === 'object' && value !== null)
  // Through text: what remains is plain JSON, whatever classes the value was made of.
  const structured = keeps ? { structured: JSON.parse(text) as Json } : {}
  return { parts: [{ type: 'text', text: shown }], ...structured }
}

type Explicit = { parts: unknown[]; structured?: unknown; failed?: unknown }

const outputKeys = new Set(['parts', 'structured', 'failed'])

function isOutput(value: unknown): value is Explicit {
  return (
    isJsonObject(value) &&
    Array.isArray(value['parts']) &&
    Object.keys(value).every(key => outputKeys.has(key))
  )
}

function explicitOutput({ parts, structured, failed }: Explicit, name: string): ToolOutput {
  for (const [index, part] of parts.entries())
    if (!isPart(part))
      throw new TypeError(
        `The tool "${name}" returned parts[${index}], which is not a part: { type: "text", text }, ` +
          '{ type: "image", url } or { type: "file", url, mediaType }.',
      )
  return {
    parts: parts.filter(isPart),
    ...(structured !== undefined && { structured: JSON.parse(jsonText(structured, name)) as Json }),
    ...(failed === true && { failed }),
  }
}

function isPart(value: unknown): value is ResultPart {
  if (!isJsonObject(value)) return false
  const { type, text, url, mediaType, name } = value
  if (type === 'text') return typeof text === 'string'
  if (type === 'image') return typeof url === 'string'
  return (
    type === 'file' &&
    typeof url === 'string' &&
    typeof mediaType === 'string' &&
    (name === undefined || typeof name === 'string')
  )
}

function jsonText(value: unknown, name: string): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new TypeError(`The tool "${name}" returned a value that is not JSON: ${cause}`, { cause: error })
  }
  if (text === undefined)
    throw new TypeError(`The tool "${name}" returned a ${typeof value}. Return text, JSON, parts or nothing.`)
  return text
}
