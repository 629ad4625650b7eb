/**
 * Looking into JSON of unknown shape, for the files that check requests. Narrowing only: it judges nothing.
 */
export type JsonRecord = Record<string, unknown>

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The records of a list; what is no record is left out. */
export const recordsOf = (value: unknown): JsonRecord[] => listOf(value).filter(isRecord)

export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const extraKeys = (value: JsonRecord, allowed: readonly string[]): string[] =>
  Object.keys(value).filter(key => !allowed.includes(key))
