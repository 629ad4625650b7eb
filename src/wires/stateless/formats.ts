// The form of an answer that a client asks for, in the fields of every vendor: a schema, and texts that end the answer.
// All other fields of a protocol go to models of that protocol only: sampling, for example, differs between vendors.
import type { Ask } from '../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

type SchemaFormat = { schema: JsonObject; name?: string; strict?: boolean }

/** `json`: any JSON object. */
export type AnswerForm = { format?: 'json' | SchemaFormat; stop?: string[] }

type FormFields = (form: { stop: string[] | undefined; isJson: boolean; schema?: SchemaFormat }) => JsonObject

const fieldsByProtocol: Readonly<Record<string, FormFields>> = {
  anthropic: ({ schema, stop }) => ({
    ...(schema && { output_config: { format: { type: 'json_schema', schema: schema.schema } } }),
    ...(stop && { stop_sequences: stop }),
  }),
  gemini: ({ isJson, schema, stop }) => {
    const generationConfig = {
      ...((isJson || schema) && { responseMimeType: 'application/json' }),
      ...(schema && { responseJsonSchema: schema.schema }),
      ...(stop && { stopSequences: stop }),
    }
    return Object.keys(generationConfig).length > 0 ? { generationConfig } : {}
  },
  'openai-chat': ({ isJson, schema, stop }) => ({
    ...(isJson && { response_format: { type: 'json_object' } }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: openAiSchema(schema) } }),
    ...(stop && { stop }),
  }),
  'openai-responses': ({ isJson, schema }) => ({
    ...(isJson && { text: { format: { type: 'json_object' } } }),
    ...(schema && { text: { format: { type: 'json_schema', ...openAiSchema(schema) } } }),
  }),
}

function openAiSchema({ schema, name = 'answer', strict }: SchemaFormat): JsonObject {
  return { name, schema, ...(strict !== undefined && { strict }) }
}

/** `own`: the client's own fields, by the protocol that they are written for. They are used as they are. */
export function formBody({ format, stop }: AnswerForm, own: Record<string, JsonObject>): Pick<Ask, 'body'> {
  const form = { stop, isJson: format === 'json', ...(typeof format === 'object' && { schema: format }) }
  const body: Record<string, JsonObject> = {}
  for (const [protocol, fieldsFor] of Object.entries(fieldsByProtocol)) {
    const fields = own[protocol] ?? fieldsFor(form)
    if (Object.keys(fields).length > 0) body[protocol] = fields
  }
  return Object.keys(body).length > 0 ? { body } : {}
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
