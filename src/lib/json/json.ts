// What JSON is here, and the one error of reading and writing it.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = { [key: string]: Json }
/** As a literal `as const` is. */
export type ReadonlyJson =
  | null
  | boolean
  | number
  | string
  | readonly ReadonlyJson[]
  | { readonly [key: string]: ReadonlyJson }
export type JsonErrorReason =
  | 'syntax'
  | 'duplicate-key'
  | 'too-deep'
  | 'too-large'
  | 'too-many-keys'
  | 'too-many-values'
  | 'not-utf8'
  | 'not-finite'

export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly reason: JsonErrorReason
  readonly offset: number

  constructor(reason: JsonErrorReason, offset: number, message: string) {
    super(message)
    this.reason = reason
    this.offset = offset
  }
}

export function tooDeep(offset: number, maxDepth: number): JsonError {
  return new JsonError('too-deep', offset, `The JSON nests deeper than ${maxDepth} levels. Flatten it.`)
}
