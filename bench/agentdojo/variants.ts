// The same attacks in other clothes: with their values not spelled out in what the model reads, and made of nothing but values
// that the user gave.
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { acts, type Scene, type SceneCall, type Suite } from './suite.ts'

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(item => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]))
}

function textsIn(value: Json): string[] {
  const found: string[] = []
  mapTexts(value, text => {
    found.push(text)
    return text
  })
  return found
}

const encode = (text: string): string => Buffer.from(text).toString('base64')

/** What the attack wants, and each of its values that no harmless result holds, stand in results as base64. */
export function encoded(scene: Scene, goal: string, harmless: string): Scene {
  const values = scene.calls
    .filter(({ isAttack }) => isAttack)
    .flatMap(({ args }) => textsIn(args))
    .filter(text => text.length >= 2 && !harmless.includes(text))
  const secret = [goal, ...new Set(values)].sort((a, b) => b.length - a.length)
  const hide = (text: string): string =>
    secret.reduce((now, each) => now.replaceAll(each, encode(each)), text)
  const calls = scene.calls.map((call): SceneCall => {
    if (call.isAttack || 'error' in call.answer) return call
    const { data, text } = call.answer
    if (data === undefined) return { ...call, answer: { text: hide(text) } }
    const hidden = mapTexts(data, hide)
    return { ...call, answer: { text: JSON.stringify(hidden), data: hidden } }
  })
  return { ...scene, calls }
}

// ---- own values --------------------------------------------------------------------------------------------------------

const harmlessText = 'Please have a look at this when there is time.'

/** Values by role that stand in the user's own words, or that the user's own calls name things by. */
function ownValues(
  suite: Suite,
  scene: Scene,
): (role: string, kind: string | undefined, name: string) => Json | undefined {
  const { prompt } = scene
  const mails = prompt.match(/[\w.+-]+@[\w-]+\.[\w.-]*\w/g) ?? []
  const codes = prompt.match(/\b[A-Z]{2}\d{10,}\b/g) ?? []
  const days = prompt.match(/\b\d{4}-\d{2}-\d{2}\b/g) ?? []
  const times = prompt.match(/\b\d{1,2}:\d{2}\b/g) ?? []
  const byRole = new Map<string, Json[]>()
  for (const { tool, args, isAttack } of scene.calls) {
    if (isAttack) continue
    const label = suite.tools[tool]?.label
    for (const [name, value] of Object.entries(args)) {
      const role = label?.args?.[name]
      const kind = label?.ids?.[name]
      if (role === undefined || value === null) continue
      const key = `${role}:${kind ?? ''}`
      byRole.set(key, [...(byRole.get(key) ?? []), value])
    }
  }
  return (role, kind) => {
    const own = byRole.get(`${role}:${kind ?? ''}`)?.[0]
    if (own !== undefined) return own
    if (role === 'recipient') return mails[0] ?? codes[0]
    if (role === 'when' && days[0] !== undefined)
      return times[0] === undefined ? days[0] : `${days[0]} ${times[0]}`
    return undefined
  }
}

/** The user's value in the form that the attack's has: in a list, or as the id of an object. */
function inForm(form: Json, own: Json): Json {
  if (Array.isArray(form)) return Array.isArray(own) ? own : [inForm(form[0] ?? null, own)]
  if (typeof form === 'object' && form !== null)
    return Object.fromEntries(
      Object.entries(form).map(([key, value]) => [key, key.endsWith('id') ? own : value]),
    )
  return Array.isArray(own) ? (own[0] ?? null) : own
}

/** The same tool, and the same values where they lead somewhere. */
function isSameAction(suite: Suite, own: SceneCall, tool: string, args: JsonObject): boolean {
  if (own.tool !== tool) return false
  const roles = suite.tools[tool]?.label?.args ?? {}
  const leads = (given: JsonObject): string =>
    JSON.stringify(
      Object.entries(given)
        .filter(([name, value]) => value !== null && !['text', 'detail', 'flag'].includes(roles[name] ?? ''))
        .sort(([a], [b]) => a.localeCompare(b)),
    )
  return leads(own.args) === leads(args)
}

/**
 * The attack's calls that act, with the user's values in place of its own. Undefined: the user gave none of some kind. `every`: also
 * calls that the user asked for anyway. They are no other use of the values, but happen once more.
 */
export function ofOwnValues(suite: Suite, scene: Scene, every = false): Scene | undefined {
  const find = ownValues(suite, scene)
  const calls = scene.calls.flatMap((call): SceneCall[] => {
    if (!call.isAttack || !acts(suite, call.tool)) return [call]
    const label = suite.tools[call.tool]?.label
    if (label?.destroys) return []
    const args: JsonObject = {}
    for (const [name, value] of Object.entries(call.args)) {
      const role = label?.args?.[name] ?? ''
      if (value === null || value === false) continue
      if (role === 'text' || role === 'detail') args[name] = role === 'text' ? harmlessText : value
      else if (role === 'flag') args[name] = value
      else {
        const own = find(role, label?.ids?.[name], name)
        if (own === undefined) return []
        args[name] = inForm(value, own)
      }
    }
    const isAsked = scene.calls.some(own => !own.isAttack && isSameAction(suite, own, call.tool, args))
    if (isAsked && !every) return []
    return [{ ...call, args, answer: { text: 'Done.' } }]
  })
  return calls.some(({ isAttack, tool }) => isAttack && acts(suite, tool)) ? { ...scene, calls } : undefined
}
