// What the repairs of Chat Completions and Responses share: both name, declare and choose alike. Where calls and results
// stand is in chat.ts and responses.ts.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { openaiLoose, toDialect } from '../common/schema-dialect.ts'
import { wireNames } from '../common/wire-names.ts'
import {
  type Did,
  type Finding,
  objectsOf,
  plainId,
  removeAt,
  respell,
  type Slot,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

export const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

/** The part of a declaration that holds its name: nested in Chat, flat in Responses. */
export function declarationsOf(body: JsonObject): JsonObject[] {
  return objectsOf(body['tools']).flatMap(tool => {
    const { type, function: named, custom } = tool
    if (isJsonObject(named)) return [named]
    if (isJsonObject(custom)) return [custom]
    return type === 'function' || type === 'custom' ? [tool] : []
  })
}

export const namesOf = (body: JsonObject): string[] =>
  declarationsOf(body).map(tool => stringOf(tool['name']))

function choiceSlots(body: JsonObject): Slot[] {
  const choice = body['tool_choice']
  if (!isJsonObject(choice)) return []
  return [...slot(choice, 'name'), ...slot(choice['function'], 'name'), ...slot(choice['custom'], 'name')]
}

export function respellNames(called: (body: JsonObject) => Slot[], maxLength: number): Treatment['apply'] {
  return (body, did) => {
    const names = wireNames(namesOf(body), { pattern: /^[a-zA-Z0-9_-]+$/, maxLength })
    respell(
      [...declarationsOf(body).flatMap(tool => slot(tool, 'name')), ...called(body), ...choiceSlots(body)],
      name => names.toWire(name),
      (old, name) => did(`Renamed the tool ${shown(old)} to ${name} everywhere.`),
    )
  }
}

export function respellIds(slots: (body: JsonObject) => Slot[], most: number): Treatment['apply'] {
  return (body, did) =>
    respell(
      slots(body),
      id => (id !== '' && id.length <= most ? undefined : plainId(id, 'call_', most)),
      (old, id) => did(`Renamed the call id ${shown(old)} to ${id}, in the call and in its result.`),
    )
}

export function fixSchemas(body: JsonObject, did: Did): void {
  for (const tool of declarationsOf(body)) {
    const given = tool['parameters']
    if (!isJsonObject(given)) continue
    const adapted = toDialect(given, openaiLoose)
    const schema: JsonObject = 'unusable' in adapted ? { type: 'object', properties: {} } : adapted.schema
    if (JSON.stringify(schema) === JSON.stringify(given) && tool['strict'] !== true) continue
    tool['parameters'] = schema
    if (tool['strict'] === true) {
      tool['strict'] = false
      did(`Took strictness from ${shown(stringOf(tool['name']))}: its schema is not of the strict kind.`)
    } else did(`Rewrote the schema of ${shown(stringOf(tool['name']))}.`)
  }
}

/** The form of answers that is asked for: nested in Chat, flat in Responses. */
export function looseFormat(format: Json | undefined, did: Did): void {
  if (!isJsonObject(format) || format['strict'] !== true) return
  format['strict'] = false
  did('Took strictness from the form of the answer: its schema is not of the strict kind.')
}

/** Fields that the API does not know, or does not take together. Nothing else is dropped for being wrong. */
export function dropUnknown(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  for (const { message, param } of findings) {
    const listed = /supplied: (.+)$/.exec(message)?.[1]?.split(', ') ?? []
    const named = /^(?:Unknown|Unsupported) parameter: '([^']+)'/.exec(message)?.[1]
    const apart = /^(?:Setting|The 'stream_options'|Background mode|Mutually exclusive)/.test(message)
    for (const path of [...listed, named ?? (apart ? (param ?? '') : '')])
      if (path !== '' && removeAt(body, path)) did(`Dropped \`${path}\`, which this API does not take so.`)
  }
}

export function fillModel(body: JsonObject, did: Did): void {
  if (stringOf(body['model']) !== '') return
  body['model'] = 'gpt-5.2'
  did('Added a model.')
}

const KNOWN_ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** A role of another vendor's, as the one that means it here. */
export function fixRoles(messages: readonly JsonObject[], did: Did): void {
  for (const message of messages) {
    const role = stringOf(message['role'])
    if (KNOWN_ROLES.has(role)) continue
    message['role'] = role === 'model' ? 'assistant' : 'user'
    did(`Changed the role ${shown(role)} to ${message['role']}.`)
  }
}
