// The version of a list of rules: a hash of what they say. A function counts with its text, not with what it closes over; one
// that carries a `version`, as the adapters of policy engines do, counts with that too.
import type { ShownRule, ShownRules, ShownVerdict } from '../language/policy.ts'
import { hashJson } from '../lib/json/hash.ts'
import type { Json, JsonObject } from '../lib/json/index.ts'
import type { FlowSettings } from './flow/index.ts'
import type { PolicyRule } from './rules.ts'

const versionLength = 16

export function rulesVersion(rules: readonly PolicyRule[], flow: FlowSettings | undefined): string {
  const said = { rules: rules.map(ruleAsData), ...(flow && { flow: toJson(flow) }) }
  return hashJson(said).slice(0, versionLength)
}

export function ruleAsData(rule: PolicyRule): JsonObject {
  // An object stays an object.
  return toJson(rule) as JsonObject
}

function toJson(value: unknown): Json {
  const text = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'function' ? { function: String(member), ...readVersion(member) } : member,
  )
  return JSON.parse(text) as Json // JSON text gives JSON.
}

function readVersion(decider: object): { version?: string } {
  const version = 'version' in decider ? decider.version : undefined
  return typeof version === 'string' ? { version } : {}
}

/** For people: the rules in order, with their names. `from`: where each is written. */
export function showRules(
  rules: readonly PolicyRule[],
  names: readonly string[],
  from: readonly ShownRule['from'][],
  version: string,
): ShownRules {
  return {
    version,
    rules: rules.map((rule, index) => ({
      name: names[index]!,
      from: from[index] ?? 'policy',
      then: shownThen(rule),
      rule: ruleAsData(rule),
    })),
  }
}

export function shownThen({ then }: PolicyRule): ShownVerdict {
  return typeof then === 'function' ? 'decides' : then
}
