// The fields of a request that ask for one answer in a certain way: those of the client's own protocol as they are, and the
// texts that end an answer in the fields of every vendor that has such a thing. All other fields of a protocol go to models
// of that protocol only: sampling, for example, differs between vendors.
import type { Ask } from '../../language/events.ts'
import type { AnswerFormat } from '../../language/format.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

const stopFields: Readonly<Record<string, (stop: string[]) => JsonObject>> = {
  anthropic: stop => ({ stop_sequences: stop }),
  gemini: stop => ({ generationConfig: { stopSequences: stop } }),
  'gemini-interactions': stop => ({ generation_config: { stop_sequences: stop } }),
  'openai-chat': stop => ({ stop }),
}

/** `own`: the client's own fields, by the protocol that they are written for. */
export function passedBody(stop: string[] | undefined, own: Record<string, JsonObject>): Pick<Ask, 'body'> {
  const body: Record<string, JsonObject> = {}
  for (const [protocol, fields] of Object.entries(own))
    if (Object.keys(fields).length > 0) body[protocol] = fields
  if (stop) for (const [protocol, fields] of Object.entries(stopFields)) body[protocol] ??= fields(stop)
  return Object.keys(body).length > 0 ? { body } : {}
}

/** The form of an answer as both of OpenAI's APIs describe it. `schema` is the object that holds name and schema. */
export function openaiFormat(type: Json | undefined, schema: Json | undefined): AnswerFormat | undefined {
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema' || !isJsonObject(schema) || !isJsonObject(schema['schema'])) return undefined
  const { name, description, strict } = schema
  return {
    type: 'schema',
    schema: schema['schema'],
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** A text or a list of texts. Anything else is left to the vendor to refuse. */
export function ifTexts(value: Json | undefined): string[] | undefined {
  const list = typeof value === 'string' ? [value] : value
  return Array.isArray(list) && list.length > 0 && list.every(each => typeof each === 'string')
    ? list
    : undefined
}

export function ifObject(value: Json | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}
