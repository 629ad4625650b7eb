// Reading what a client sent, one field at a time. Every refusal names the place and says what belongs there.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

export function refuse(message: string): never {
  throw new TurnwireError('bad_request', message)
}

export function object(value: Json | undefined, where: string): JsonObject {
  return isJsonObject(value) ? value : refuse(`${where} must be an object.`)
}

export function list(value: Json | undefined, where: string): Json[] {
  return Array.isArray(value) ? value : refuse(`${where} must be a list.`)
}

export function text(value: Json | undefined, where: string): string {
  return typeof value === 'string' ? value : refuse(`${where} must be a string.`)
}

export function flag(value: Json | undefined, where: string): boolean {
  return typeof value === 'boolean' ? value : refuse(`${where} must be true or false.`)
}

/** Undefined when it is absent. `null` counts as absent: many clients write it for what they leave out. */
export function optional<T>(
  value: Json | undefined,
  where: string,
  read: (value: Json, where: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, where)
}

/** A name that a refusal may repeat: bounded, so that nobody is sent back a megabyte of their own. */
export function name(value: Json | undefined, where: string): string {
  const given = text(value, where)
  return given.length <= 128 ? given : refuse(`${where} must have at most 128 characters.`)
}

const longestId = 256

export function callId(value: Json | undefined, where: string): string {
  const id = text(value, where)
  if (id.length < 1 || id.length > longestId || /\p{Cc}/u.test(id))
    refuse(`${where} must have 1 to ${longestId} characters and no control characters.`)
  return id
}
