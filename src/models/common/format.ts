// The form of an answer: the part that the vendor is told, and the part that the runner has to check. A vendor that has
// a way of its own is asked in that way. Where it has none, or takes only a part of the schema, the model is told in
// words and the answer is checked (run-screen.ts).

import type { ModelRequest } from '../../engine/ports/index.ts'
import type { AnswerFormat } from '../../language/format.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { type Dialect, openaiFitted, openaiLoose, openaiStrict, toDialect } from './schema-dialect.ts'

export type VendorFormat = {
  /** The vendor's own way, as its protocol writes it. */
  field: JsonObject
  /** `whole`: the vendor keeps to all of it. `part`: it may stray. `hint`: it was not even told the schema. */
  holds: 'whole' | 'part' | 'hint'
  /** The vendor refuses the form unless the request speaks of it too. */
  needsWords?: true
  /** The answer's text has to be restored (restore-values.ts). */
  restores?: true
}

export type SettledFormat = {
  /** With words about the form added to the instructions, where the vendor has to be told in words. */
  request: ModelRequest
  /** Absent: the vendor is asked for nothing. */
  field?: JsonObject
  /** The form that the answer has to be checked against. */
  unchecked?: AnswerFormat
  /** The schema by which the answer's text has to be restored. */
  restored?: JsonObject
}

/** `vendorForm` gives the vendor's own way; undefined if it has none for this form. */
export function settleFormat(
  request: ModelRequest,
  vendorForm: (format: AnswerFormat) => VendorFormat | undefined,
): SettledFormat {
  const { format } = request
  if (format === undefined) return { request }
  const own = vendorForm(format)
  const isTold = own !== undefined && own.holds !== 'hint'
  const isStrict = format.type === 'schema' && format.strict === true
  const isKept = isTold && (own.holds === 'whole' || !isStrict)
  return {
    request: isTold && !own.needsWords ? request : withWords(request, formatWords(format)),
    ...(own && { field: own.field }),
    ...(!isKept && { unchecked: format }),
    ...(own?.restores && format.type === 'schema' && { restored: format.schema }),
  }
}

export function withWords(request: ModelRequest, words: string): ModelRequest {
  return { ...request, system: request.system ? `${request.system}\n\n${words}` : words }
}

function formatWords(format: AnswerFormat): string {
  if (format.type === 'json')
    return 'Answer with one JSON object and nothing else: no other text, no code fence.'
  const about = format.description === undefined ? '' : ` It is: ${format.description}`
  return `Answer with JSON and nothing else: no other text, no code fence.${about} It has to match this JSON Schema:\n${JSON.stringify(format.schema)}`
}

// ---- schemas ---------------------------------------------------------------------------------------------

/** The schema in a vendor's dialect; undefined if the vendor cannot be given it. */
export function formatSchema(
  schema: JsonObject,
  dialect: Dialect,
): { schema: JsonObject; isWhole: boolean; restores?: true } | undefined {
  const adapted = toDialect(schema, dialect)
  if ('unusable' in adapted) return undefined
  const { lost, restores } = adapted
  return { schema: adapted.schema, isWhole: lost.length === 0, ...(restores && { restores }) }
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Name, schema and strictness as both of OpenAI's APIs have them. Strict only where the schema can honour it. */
export function openaiFormat(
  format: Extract<AnswerFormat, { type: 'schema' }>,
): (Pick<VendorFormat, 'restores'> & { fields: JsonObject; holds: 'whole' | 'part' }) | undefined {
  const { schema, name = 'answer', description, strict } = format
  const named = { name: NAME.test(name) ? name : 'answer', ...(description !== undefined && { description }) }
  const exact = strict
    ? (formatSchema(schema, openaiStrict) ?? formatSchema(schema, openaiFitted))
    : undefined
  if (exact) {
    const fields = { ...named, schema: exact.schema, strict: true }
    return { fields, holds: exact.isWhole ? 'whole' : 'part', ...(exact.restores && { restores: true }) }
  }
  const isTakenAsItIs = strict !== true || formatSchema(schema, openaiLoose) !== undefined
  return isTakenAsItIs
    ? { fields: { ...named, schema, ...(strict !== undefined && { strict: false }) }, holds: 'part' }
    : undefined
}
