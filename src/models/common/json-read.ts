// Reading JSON that a vendor sent and that may have any shape: each function gives a value of the wanted type, empty
// when the field is missing or is something else.

import { flattened, isJsonObject, type Json, type JsonObject, surelyFlat } from '../../lib/json/index.ts'

export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function asObject(value: unknown): JsonObject {
  // An object that is no list has members only.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

export function asList(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

/** Of a list the members that are objects. */
export function listObjects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** 0 for anything but a positive number. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

export function isEmptyObject(value: JsonObject): boolean {
  return Object.keys(value).length === 0
}

/**
 * Undefined when the text is not JSON. A value in it that nests too deep is given as text: arguments with it are refused by
 * the gate as any that are too deep, and the rest of the answer is kept.
 */
export function readJson(text: string): Json | undefined {
  try {
    return JSON.parse(text.length > surelyFlat ? flattened(text) : text) as Json // typed `any`; JSON text gives only Json
  } catch {
    return undefined
  }
}
