// What the repairs of both Gemini APIs share: how tools are named, and the signature that stands in for another model's
// thought.

import type { JsonObject } from '../../lib/json.ts'
import { wireNames } from '../common/wire-names.ts'
import { type Did, respell, type Slot, shown, slot, stringOf } from './treatment.ts'

const NAME = { pattern: /^[a-zA-Z0-9_.:-]+$/, maxLength: 64, firstLetter: true }
export const STAND_IN = 'skip_thought_signature_validator'

export function respellNames(declared: readonly JsonObject[], called: readonly Slot[], did: Did): void {
  const names = wireNames(
    declared.map(tool => stringOf(tool['name'])),
    NAME,
  )
  respell(
    [...declared.flatMap(tool => slot(tool, 'name')), ...called],
    name => names.toWire(name),
    (old, name) => did(`Renamed the tool ${shown(old)} to ${name} everywhere.`),
  )
}

/** Of tools that have one name, the first. */
export function dropSecond(tools: JsonObject[], did: Did): JsonObject[] {
  const seen = new Set<string>()
  return tools.filter(tool => {
    const name = stringOf(tool['name'])
    if (name === '' || !seen.has(name)) return seen.add(name)
    did(`Dropped the second tool named ${shown(name)}.`)
    return false
  })
}
