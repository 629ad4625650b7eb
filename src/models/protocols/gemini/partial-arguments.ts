// Arguments that Vertex streams value by value, each under a JSONPath that names one location (RFC 9535), gathered into
// the object that they describe. The text of a call is made only once the object is whole.

import { deepestNesting, isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { asString } from '../../common/json-read.ts'

export type PartialArguments = {
  readonly value: JsonObject
  /** The path whose text continues in the next piece. */
  open: string | undefined
  /** A piece could not be put in, so `value` is not what the model wrote. */
  broken: boolean
}

export function partialArguments(): PartialArguments {
  return { value: {}, open: undefined, broken: false }
}

/** Adds one element of `partialArgs`. */
export function addPartialArgument(partial: PartialArguments, piece: JsonObject): void {
  const path = asString(piece['jsonPath'])
  const steps = readPath(path)
  const value = pieceValue(piece)
  if (steps === undefined || steps.length === 0) partial.broken ||= value !== undefined
  else if (value !== undefined && !putValue(partial.value, steps, value, partial.open === path))
    partial.broken = true
  partial.open = piece['willContinue'] === true ? path : undefined
}

/** Adds arguments that came whole in the middle of a stream. */
export function addWholeArguments(partial: PartialArguments, args: JsonObject): void {
  for (const [key, value] of Object.entries(args)) setChild(partial.value, key, value)
}

function pieceValue(piece: JsonObject): Json | undefined {
  if ('stringValue' in piece) return piece['stringValue'] ?? ''
  if ('numberValue' in piece) return piece['numberValue'] ?? 0
  if ('boolValue' in piece) return piece['boolValue'] ?? false
  return 'nullValue' in piece ? null : undefined
}

type PathStep = string | number

const PATH_STEP = /\.([^.[\]'"\s]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

function readPath(text: string): PathStep[] | undefined {
  if (!text.startsWith('$')) return undefined
  const steps: PathStep[] = []
  PATH_STEP.lastIndex = 1
  while (PATH_STEP.lastIndex < text.length) {
    const found = PATH_STEP.exec(text)
    if (found === null || steps.length >= deepestNesting) return undefined
    const [, member, index, single, double] = found
    if (index !== undefined) steps.push(Number(index))
    else steps.push(member ?? (single ?? double ?? '').replace(/\\(.)/g, '$1'))
  }
  return steps
}

/** False when the location cannot exist: a member of a text, or an element beyond the end of its list. */
function putValue(root: JsonObject, path: readonly PathStep[], value: Json, continues: boolean): boolean {
  let parent: Json = root
  for (const [depth, pathStep] of path.entries()) {
    const old: Json | undefined = findChild(parent, pathStep)
    const next = path[depth + 1]
    if (next === undefined) {
      const isText = continues && typeof old === 'string' && typeof value === 'string'
      return setChild(parent, pathStep, isText ? old + value : value)
    }
    const child: Json = old ?? (typeof next === 'number' ? [] : {})
    if (old === undefined && !setChild(parent, pathStep, child)) return false
    parent = child
  }
  return false
}

function findChild(parent: Json, pathStep: PathStep): Json | undefined {
  if (Array.isArray(parent)) return typeof pathStep === 'number' ? parent[pathStep] : undefined
  const key = String(pathStep)
  return isJsonObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined
}

function setChild(parent: Json, pathStep: PathStep, value: Json): boolean {
  if (Array.isArray(parent)) {
    if (typeof pathStep !== 'number' || pathStep > parent.length) return false
    parent[pathStep] = value
    return true
  }
  if (!isJsonObject(parent)) return false
  // Assigning to `__proto__` would set the prototype instead of a member.
  Object.defineProperty(parent, String(pathStep), {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
  return true
}
