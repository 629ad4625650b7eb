// Arguments that Vertex streams value by value, each under a JSONPath (RFC 9535, the part of it that names one place),
// folded into the object that they describe. The text of a call is made only once the object is whole.

import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { stringOf } from '../google/decode.ts'

export type ArgumentsFold = {
  readonly value: JsonObject
  /** The place whose text goes on with the next piece. */
  open: string | undefined
  /** A piece could not be placed: what is here is not what the model wrote. */
  broken: boolean
}

export function argumentsFold(): ArgumentsFold {
  return { value: {}, open: undefined, broken: false }
}

/** Takes one element of `partialArgs`. */
export function foldPiece(fold: ArgumentsFold, piece: JsonObject): void {
  const place = stringOf(piece['jsonPath'])
  const path = readPath(place)
  const value = pieceValue(piece)
  if (path === undefined || path.length === 0) fold.broken ||= value !== undefined
  else if (value !== undefined && !put(fold.value, path, value, fold.open === place)) fold.broken = true
  fold.open = piece['willContinue'] === true ? place : undefined
}

/** Takes arguments that came whole in the middle of a stream. */
export function foldObject(fold: ArgumentsFold, args: JsonObject): void {
  for (const [key, value] of Object.entries(args)) setChild(fold.value, key, value)
}

function pieceValue(piece: JsonObject): Json | undefined {
  if ('stringValue' in piece) return piece['stringValue'] ?? ''
  if ('numberValue' in piece) return piece['numberValue'] ?? 0
  if ('boolValue' in piece) return piece['boolValue'] ?? false
  return 'nullValue' in piece ? null : undefined
}

type Step = string | number

const STEP = /\.([^.[\]'"\s]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

function readPath(text: string): Step[] | undefined {
  if (!text.startsWith('$')) return undefined
  const steps: Step[] = []
  STEP.lastIndex = 1
  while (STEP.lastIndex < text.length) {
    const found = STEP.exec(text)
    if (found === null) return undefined
    const [, member, index, single, double] = found
    if (index !== undefined) steps.push(Number(index))
    else steps.push(member ?? (single ?? double ?? '').replace(/\\(.)/g, '$1'))
  }
  return steps
}

/** False when the place cannot exist: a member of a text, or an element beyond the end of its list. */
function put(root: JsonObject, path: readonly Step[], value: Json, goesOn: boolean): boolean {
  let at: Json = root
  for (const [depth, step] of path.entries()) {
    const old: Json | undefined = childOf(at, step)
    const next = path[depth + 1]
    if (next !== undefined) {
      const child: Json = old ?? (typeof next === 'number' ? [] : {})
      if (old === undefined && !setChild(at, step, child)) return false
      at = child
    } else {
      const whole = goesOn && typeof old === 'string' && typeof value === 'string' ? old + value : value
      return setChild(at, step, whole)
    }
  }
  return false
}

function childOf(parent: Json, step: Step): Json | undefined {
  if (Array.isArray(parent)) return typeof step === 'number' ? parent[step] : undefined
  const key = String(step)
  return isJsonObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined
}

function setChild(parent: Json, step: Step, value: Json): boolean {
  if (Array.isArray(parent)) {
    if (typeof step !== 'number' || step > parent.length) return false
    parent[step] = value
    return true
  }
  if (!isJsonObject(parent)) return false
  // A plain assignment to `__proto__` would be no member.
  Object.defineProperty(parent, String(step), {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
  return true
}
