// What a caller asks of an answer's form, said to every vendor in its own words: text that must match a schema, and texts
// that end the answer. All else that a vendor alone understands goes to its own models only, as the caller wrote it:
// sampling in particular means something else, or an error, from vendor to vendor.
import type { Ask } from '../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

/** `json`: any JSON object. */
export type Format = 'json' | { schema: JsonObject; name?: string; strict?: boolean }

export type Spoken = { format?: Format; stop?: string[] }

type Vendor = 'anthropic' | 'gemini' | 'openai-chat' | 'openai-responses'

const vendors: Readonly<Record<Vendor, (spoken: Spoken) => JsonObject>> = {
  anthropic: ({ format, stop }) => ({
    ...(isSchema(format) && { output_config: { format: { type: 'json_schema', schema: format.schema } } }),
    ...(stop && { stop_sequences: stop }),
  }),
  gemini: ({ format, stop }) => {
    const generationConfig = {
      ...(format && { responseMimeType: 'application/json' }),
      ...(isSchema(format) && { responseJsonSchema: format.schema }),
      ...(stop && { stopSequences: stop }),
    }
    return Object.keys(generationConfig).length > 0 ? { generationConfig } : {}
  },
  'openai-chat': ({ format, stop }) => ({
    ...(format === 'json' && { response_format: { type: 'json_object' } }),
    ...(isSchema(format) && { response_format: { type: 'json_schema', json_schema: named(format) } }),
    ...(stop && { stop }),
  }),
  'openai-responses': ({ format }) => ({
    ...(format === 'json' && { text: { format: { type: 'json_object' } } }),
    ...(isSchema(format) && { text: { format: { type: 'json_schema', ...named(format) } } }),
  }),
}

function isSchema(format: Format | undefined): format is Exclude<Format, 'json'> {
  return typeof format === 'object'
}

function named({ schema, name = 'answer', strict }: Exclude<Format, 'json'>): JsonObject {
  return { name, schema, ...(strict !== undefined && { strict }) }
}

/** `own`: the caller's fields, by the names of the protocols that they are written for. */
export function spokenTo(spoken: Spoken, own: Record<string, JsonObject>): Pick<Ask, 'body'> {
  const body: Record<string, JsonObject> = {}
  for (const [vendor, say] of Object.entries(vendors)) {
    const fields = own[vendor] ?? say(spoken)
    if (Object.keys(fields).length > 0) body[vendor] = fields
  }
  return Object.keys(body).length > 0 ? { body } : {}
}

/** A text or a list of texts; anything else says nothing here, and is the vendor's to refuse. */
export function stopsOf(value: Json | undefined): string[] | undefined {
  const list = typeof value === 'string' ? [value] : value
  return Array.isArray(list) && list.length > 0 && list.every(each => typeof each === 'string')
    ? list
    : undefined
}

/** A schema where a vendor has one. */
export function schemaOf(value: Json | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}
