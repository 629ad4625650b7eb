// Reading what a client sent, one field at a time. Every refusal names the place, in the words of the Responses API.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { missing, refuse, unknownParameter, unsupportedValue, wrongType } from './refuse.ts'

/** `null` counts as absent: many clients write it for what they leave out. */
export function absent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null
}

export function object(value: Json | undefined, path: string): JsonObject {
  if (value === undefined) missing(path)
  return isJsonObject(value) ? value : wrongType(path, 'an object', value)
}

export function list(value: Json | undefined, path: string): Json[] {
  if (value === undefined) missing(path)
  return Array.isArray(value) ? value : wrongType(path, 'an array', value)
}

export function text(value: Json | undefined, path: string): string {
  if (value === undefined) missing(path)
  return typeof value === 'string' ? value : wrongType(path, 'a string', value)
}

export function flag(value: Json, path: string): boolean {
  return typeof value === 'boolean' ? value : wrongType(path, 'a boolean', value)
}

export function number(value: Json, path: string): number {
  return typeof value === 'number' ? value : wrongType(path, 'a number', value)
}

export function count(value: Json, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return wrongType(path, 'an integer', value)
  if (value >= 1) return value
  return refuse(
    `Invalid '${path}': integer below minimum value. Expected a value >= 1, but got ${value} instead.`,
    path,
    'integer_below_min_value',
  )
}

export function oneOf<Word extends string>(value: Json, path: string, words: readonly Word[]): Word {
  const found = words.find(word => word === value)
  return found ?? unsupportedValue(path, value, words)
}

export function optional<T>(
  value: Json | undefined,
  path: string,
  read: (value: Json, path: string) => T,
): T | undefined {
  return absent(value) ? undefined : read(value, path)
}

/** A string with bounds that the API has. */
export function bounded(value: Json | undefined, path: string, most: number): string {
  const given = text(value, path)
  if (given === '')
    refuse(
      `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      path,
      'empty_string',
    )
  if (given.length <= most) return given
  return refuse(
    `Invalid '${path}': string too long. Expected a string with maximum length ${most}, but got a string with length ${given.length} instead.`,
    path,
    'string_above_max_length',
  )
}

/** Refuses members that the API does not know. */
export function onlyKnown(value: JsonObject, known: ReadonlySet<string>, path: string): void {
  for (const name in value) if (!known.has(name)) unknownParameter(path === '' ? name : `${path}.${name}`)
}

export function names(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}
