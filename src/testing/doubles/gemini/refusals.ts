// The refusals of Gemini, by the rule that a request breaks, and how it reads a field in either spelling.
import * as says from '../../../apis/gemini/wordings.ts'
import type { Rejection, Rejections } from '../script.ts'
import { isRecord, type JsonRecord } from '../shape.ts'

export const refuse = (rule: string, message: string): Rejection => ({
  rule,
  status: 400,
  type: 'INVALID_ARGUMENT',
  message,
})

/** A field by its documented name or by its snake_case spelling; the API reads both. */
export function field(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined
  if (value[name] !== undefined) return value[name]
  return Object.entries(value).find(([key]) => says.camelCase(key) === name)?.[1]
}

/** A value that the parser cannot read. `type` is the type that it expects. */
export const invalidValue = (rule: string, path: string, type: string, value: unknown): Rejection =>
  refuse(rule, says.invalidValue(path, type, JSON.stringify(value) ?? 'null'))

export function* unknownFields(
  value: JsonRecord,
  known: readonly string[],
  path: string,
  rule = 'G-00',
): Rejections {
  for (const key of Object.keys(value))
    if (!known.includes(says.camelCase(key))) yield refuse(rule, says.unknownName(key, path))
}
