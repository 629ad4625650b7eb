// Reads the fields of a request body, one at a time, for every wire. The reader decides what is wrong with a field; the
// wire's table of wordings decides how its protocol says so, and which error is thrown. A path is text that the wire
// itself writes, since protocols write paths differently.
import { isJsonObject, type Json, type JsonObject } from './index.ts'

export type FieldType = 'object' | 'list' | 'text' | 'flag' | 'number' | 'integer'

/** The bound that a value of the right type does not keep. `given`: the number, or the length of the text or list. */
export type FieldBound =
  | { bound: 'least' | 'most'; of: 'number' | 'text' | 'list'; limit: number; given: number }
  | { bound: 'pattern'; of: 'text'; pattern: RegExp }

/**
 * How a protocol refuses a field. Each function makes the error that the reader throws. A protocol that does not tell a
 * missing field from one of the wrong type says the same in both.
 */
export type FieldWordings = {
  missing(path: string, expected: FieldType): Error
  wrongType(path: string, expected: FieldType, given: Json): Error
  notOneOf(path: string, given: Json, supported: readonly string[]): Error
  outOfRange(path: string, bound: FieldBound): Error
  /** The object at `path` has a member `name` that the protocol does not know. The path of the body itself is empty. */
  unknown(path: string, name: string): Error
  /** The path of an element of a list. Default: `path[index]`. */
  element?(path: string, index: number): string
}

/** Bounds, each inclusive. Those of a text or a list are of its length. */
export type Between = { min?: number; max?: number }

/** The functions need no receiver: `const { object, list, text } = fieldReader(wordings)`. */
export function fieldReader(wordings: FieldWordings) {
  const check = (path: string, of: 'number' | 'text' | 'list', given: number, between: Between): void => {
    const { min = given, max = given } = between
    if (given < min) throw wordings.outOfRange(path, { bound: 'least', of, limit: min, given })
    if (given > max) throw wordings.outOfRange(path, { bound: 'most', of, limit: max, given })
  }

  const wrong = (path: string, expected: FieldType, value: Json | undefined): Error =>
    value === undefined ? wordings.missing(path, expected) : wordings.wrongType(path, expected, value)

  const object = (value: Json | undefined, path: string): JsonObject => {
    if (isJsonObject(value)) return value
    throw wrong(path, 'object', value)
  }

  const list = (value: Json | undefined, path: string, length: Between = {}): Json[] => {
    if (!Array.isArray(value)) throw wrong(path, 'list', value)
    check(path, 'list', value.length, length)
    return value
  }

  /** Reads each object of a list. */
  const objects = <T>(
    value: Json | undefined,
    path: string,
    read: (item: JsonObject, path: string, index: number) => T,
    length?: Between,
  ): T[] =>
    list(value, path, length).map((item, index) => {
      const at = wordings.element?.(path, index) ?? `${path}[${index}]`
      return read(object(item, at), at, index)
    })

  const text = (
    value: Json | undefined,
    path: string,
    { pattern, ...length }: Between & { pattern?: RegExp } = {},
  ): string => {
    if (typeof value !== 'string') throw wrong(path, 'text', value)
    check(path, 'text', value.length, length)
    if (pattern?.test(value) === false)
      throw wordings.outOfRange(path, { bound: 'pattern', of: 'text', pattern })
    return value
  }

  const flag = (value: Json | undefined, path: string): boolean => {
    if (typeof value === 'boolean') return value
    throw wrong(path, 'flag', value)
  }

  const number = (value: Json | undefined, path: string, between: Between = {}): number => {
    if (typeof value !== 'number') throw wrong(path, 'number', value)
    check(path, 'number', value, between)
    return value
  }

  /** A whole number, from 1 on unless said otherwise. */
  const count = (value: Json | undefined, path: string, between: Between = { min: 1 }): number => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw wrong(path, 'integer', value)
    check(path, 'number', value, between)
    return value
  }

  const oneOf = <Word extends string>(
    value: Json | undefined,
    path: string,
    words: readonly Word[],
  ): Word => {
    if (value === undefined) throw wordings.missing(path, 'text')
    const found = words.find(word => word === value)
    if (found === undefined) throw wordings.notOneOf(path, value, words)
    return found
  }

  /** Refuses members that are not known. */
  const onlyKnown = (value: JsonObject, known: Pick<ReadonlySet<string>, 'has'>, path: string): void => {
    for (const name in value) if (!known.has(name)) throw wordings.unknown(path, name)
  }

  return { object, list, objects, text, flag, number, count, oneOf, optional, onlyKnown }
}

/** `null` counts as absent: many clients write it for what they leave out. */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null
}

/** Undefined for a field that is absent. `read`: one of the functions above, or the wire's own. */
export function optional<T>(
  value: Json | undefined,
  path: string,
  read: (value: Json, path: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, path)
}

/** Field names, written as words with spaces between them. */
export function names(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

/** A caller's own text for a refusal to repeat: bounded, and well-formed. */
export function excerpt(text: string, most = 128): string {
  return text.length <= most ? text.toWellFormed() : `${text.slice(0, most).toWellFormed()}…`
}
