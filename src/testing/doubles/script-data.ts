/**
 * A script read from data (YAML, JSON): checked key by key, so that a misspelt word is an error that names
 * its place and not a turn that quietly says nothing.
 */
import { FAULT_KINDS } from './faults.ts'
import type { ScriptedTurn } from './script.ts'
import { isRecord, type JsonRecord } from './shape.ts'

const TURN: Readonly<Record<string, string>> = {
  thinking: 'string or object',
  text: 'string',
  calls: 'list',
  stop: 'string',
  usage: 'object',
  refusal: 'string',
  native: 'list',
  extra: 'object',
  raw: 'object or list',
  chunk: 'number',
  delayMs: 'number',
  fault: 'object or list',
}
const CALL: Readonly<Record<string, string>> = {
  id: 'string',
  name: 'string',
  input: 'anything',
  text: 'string',
  custom: 'boolean',
  signature: 'string',
  cut: 'boolean',
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  if (value === null) return 'null'
  return typeof value
}

function checkKeys(value: JsonRecord, shape: Readonly<Record<string, string>>, at: string): void {
  for (const [key, given] of Object.entries(value)) {
    const wanted = shape[key]
    if (wanted === undefined) {
      throw new Error(`${at}.${key} is not known: use one of ${Object.keys(shape).join(', ')}`)
    }
    if (wanted !== 'anything' && !wanted.split(' or ').includes(kindOf(given))) {
      throw new Error(`${at}.${key} must be ${wanted}, not ${kindOf(given)}`)
    }
  }
}

/** The turns of a script given as data. Throws an error that says where and what is wrong. */
export function readScript(value: unknown, at = 'script'): ScriptedTurn[] {
  if (!Array.isArray(value)) throw new Error(`${at} must be a list of turns, not ${kindOf(value)}`)
  return value.map((turn, index) => readTurn(turn, `${at}[${index}]`))
}

function readTurn(turn: unknown, at: string): ScriptedTurn {
  if (!isRecord(turn)) throw new Error(`${at} must be an object, not ${kindOf(turn)}`)
  checkKeys(turn, TURN, at)
  const calls = Array.isArray(turn['calls']) ? turn['calls'] : []
  for (const [index, call] of calls.entries()) {
    const place = `${at}.calls[${index}]`
    if (!isRecord(call)) throw new Error(`${place} must be an object, not ${kindOf(call)}`)
    checkKeys(call, CALL, place)
    if (typeof call['name'] !== 'string') throw new Error(`${place}.name is missing`)
  }
  const fault = turn['fault']
  for (const one of Array.isArray(fault) ? fault : fault === undefined ? [] : [fault]) {
    const kind: unknown = isRecord(one) ? one['kind'] : one
    if (!FAULT_KINDS.some(known => known === kind)) {
      throw new Error(
        `${at}.fault.kind ${JSON.stringify(kind)} is not known: use one of ${FAULT_KINDS.join(', ')}`,
      )
    }
  }
  // Every key and its kind was checked above; the compiler cannot follow a table of names.
  return turn as ScriptedTurn
}
