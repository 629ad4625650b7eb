// The sentences with which Gemini refuses a request, and the two spellings in which it reads a field's name.
import type { Rejection, Rejections } from '../script.ts'
import { isRecord, type JsonRecord } from '../shape.ts'

export const geminiError = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'INVALID_ARGUMENT',
  message,
})

/** The type names of the API, as its parser reports them. */
export const PROTO = 'type.googleapis.com/google.ai.generativelanguage.v1beta'

export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A field by its documented name or by its snake_case spelling; the API reads both. */
export function field(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined
  if (value[name] !== undefined) return value[name]
  return Object.entries(value).find(([key]) => camelCase(key) === name)?.[1]
}

export function unknownName(rule: string, name: string, path: string): Rejection {
  const where = path === '' ? '' : ` at '${path}'`
  const message = `Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.`
  return geminiError(rule, message)
}

/** A value that the parser cannot read. `type` is the type that it expects. */
export function invalidValue(rule: string, path: string, type: string, value: unknown): Rejection {
  return geminiError(rule, `Invalid value at '${path}' (${type}), ${JSON.stringify(value) ?? 'null'}`)
}

export function* unknownFields(value: JsonRecord, known: string[], path: string, rule = 'G-00'): Rejections {
  for (const key of Object.keys(value))
    if (!known.includes(camelCase(key))) yield unknownName(rule, key, path)
}
