// Reads a script from data (YAML, JSON) and checks it key by key. A misspelt word is an error that names its place.
// Without the check such a turn would say nothing, and nobody would know why.
import { checkFaults } from './faults.ts'
import type { ScriptedTurn } from './script.ts'
import { asList, isRecord, type JsonRecord } from './shape.ts'

type KeyTypes = Readonly<Record<string, string>>

const TURN_KEYS: KeyTypes = {
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
const CALL_KEYS: KeyTypes = {
  id: 'string',
  name: 'string',
  input: 'anything',
  text: 'string',
  custom: 'boolean',
  signature: 'string',
  cut: 'boolean',
}

const typeName = (value: unknown): string =>
  Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value

function checkKeys(value: unknown, types: KeyTypes, at: string): JsonRecord {
  if (!isRecord(value)) throw new Error(`${at} must be an object, not ${typeName(value)}`)
  for (const [key, given] of Object.entries(value)) {
    const wanted = types[key]
    if (wanted === undefined) {
      throw new Error(`${at}.${key} is not known: use one of ${Object.keys(types).join(', ')}`)
    }
    if (wanted !== 'anything' && !wanted.split(' or ').includes(typeName(given))) {
      throw new Error(`${at}.${key} must be ${wanted}, not ${typeName(given)}`)
    }
  }
  return value
}

/** The turns of a script given as data. Throws an error that says what is wrong, and where. */
export function readScript(value: unknown, at = 'script'): ScriptedTurn[] {
  if (!Array.isArray(value)) throw new Error(`${at} must be a list of turns, not ${typeName(value)}`)
  return value.map((turn, index) => readTurn(turn, `${at}[${index}]`))
}

function readTurn(given: unknown, at: string): ScriptedTurn {
  const turn = checkKeys(given, TURN_KEYS, at)
  for (const [index, call] of asList(turn['calls']).entries()) {
    const place = `${at}.calls[${index}]`
    const { name } = checkKeys(call, CALL_KEYS, place)
    if (typeof name !== 'string') throw new Error(`${place}.name is missing`)
  }
  checkFaults(turn['fault'], at)
  // Every key and its type was checked above; the compiler cannot follow a table of names.
  return turn as ScriptedTurn
}
