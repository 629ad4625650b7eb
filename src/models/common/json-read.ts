// Reading JSON that a vendor sent and that may have any shape: each function gives a value of the wanted type, empty
// when the field is missing or is something else.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function asList(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

/** 0 for anything but a positive number. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

export function isEmptyObject(value: JsonObject): boolean {
  return Object.keys(value).length === 0
}

/** Undefined when the text is not JSON. */
export function readJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse is typed `any`; JSON text yields nothing but Json
  } catch {
    return undefined
  }
}
