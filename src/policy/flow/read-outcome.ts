// What the index reads of one call and its result.
import type { CallPart, Outcome } from '../../language/calls.ts'
import { isJsonObject, type Json, parseBounded } from '../../lib/json/index.ts'
import type { Labels } from './labels.ts'

const longestText = 256 * 1024
const longestJson = 1024 * 1024

export function resultText({ parts }: Outcome): string {
  const [only] = parts
  if (parts.length === 1 && only?.type === 'text' && only.text.length <= longestText) return only.text
  let text = ''
  for (const part of parts) {
    if (part.type === 'text') text += text === '' ? part.text : `\n${part.text}`
    if (text.length > longestText) return text.slice(0, longestText)
  }
  return text
}

/** The result as data, if it is some. */
export function resultData({ structured, parts }: Outcome): Json | undefined {
  if (structured !== undefined) return structured
  const [only] = parts
  if (parts.length !== 1 || only?.type !== 'text' || only.text.length > longestJson) return undefined
  return /^\s*[[{]/.test(only.text) ? parseBounded(only.text) : undefined
}

export function callArguments({ form, text }: CallPart): Json | undefined {
  return form === 'text' ? text : parseBounded(text)
}

/** A person decided about this very call, and changed nothing of it. */
export function isApproved({ provenance, parts }: Outcome): boolean {
  const { by, grantId } = provenance?.allowed ?? {}
  const [first] = parts
  // What a person made of the arguments is not in the call. A result that only looks so loses a warrant, and gains none.
  const isEdited = first?.type === 'text' && first.text.startsWith(editedNote)
  return by !== undefined && grantId === undefined && !isEdited
}

const editedNote = 'The arguments were changed before the call was approved.'

/** The tool ran, or refused in its own words, so that what stands there may come from anywhere. */
export function hasRun({ from, kind, thrown }: Outcome): boolean {
  if (thrown !== undefined) return true
  return (from.source === 'tool' || from.source === 'client') && kind !== 'invalid' && kind !== 'denied'
}

/** What an MCP server says of one result: `_meta.ifc.integrity`, kept with its details. */
export function statedIntegrity({ details }: Outcome): 'trusted' | 'untrusted' | undefined {
  const meta = isJsonObject(details) ? details['_meta'] : undefined
  const ifc = isJsonObject(meta) ? meta['ifc'] : undefined
  const integrity = isJsonObject(ifc) ? ifc['integrity'] : undefined
  return integrity === 'trusted' || integrity === 'untrusted' ? integrity : undefined
}

export function isTrustedResult(labels: Labels | undefined, outcome: Outcome): boolean {
  // The client's word on a result, also under the name of a tool that runs here.
  if (!labels || outcome.from.source === 'client') return false
  const stated = statedIntegrity(outcome)
  if (stated === 'untrusted') return false
  return labels.trusted || (labels.stated && stated === 'trusted')
}
