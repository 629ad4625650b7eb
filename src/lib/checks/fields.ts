// Checks of one field of a configuration: its name, its kind, its form. Each reports under the key that the operator wrote.
// What the settings are is up to the room that has them.
import { nearest } from '../text/nearest.ts'

/** Reports a mistake: its key, and what to do. */
export type Wrong = (key: string, words: string) => void
export type Fields = Record<string, unknown>

type FieldKind = 'string' | 'boolean' | 'number'

export function checkKinds(
  fields: Fields,
  kinds: Record<string, FieldKind>,
  prefix: string,
  wrong: Wrong,
): void {
  for (const [name, kind] of Object.entries(kinds)) {
    const value = fields[name]
    if (value !== undefined && typeof value !== kind)
      wrong(`${prefix}${name}`, `must be a ${kind}, not ${typeof value}.`)
  }
}

export function checkSwitches(value: unknown, known: readonly string[], key: string, wrong: Wrong): void {
  if (value === undefined) return
  if (!isRecord(value)) {
    wrong(key, `must be an object such as { ${known[0]}: true }.`)
    return
  }
  checkKnown(value, known, `${key}.`, wrong)
  checkKinds(value, Object.fromEntries(known.map(name => [name, 'boolean'])), `${key}.`, wrong)
}

/** Hosts and origins are compared exactly, so an entry in another form would never match. */
export function checkTexts(value: unknown, form: RegExp, words: string, key: string, wrong: Wrong): void {
  if (value === undefined) return
  if (!Array.isArray(value) || !value.every(each => typeof each === 'string' && form.test(each)))
    wrong(key, words)
}

export function checkKnown(fields: Fields, known: readonly string[], prefix: string, wrong: Wrong): void {
  for (const key of Object.keys(fields))
    if (!known.includes(key)) wrong(`${prefix}${key}`, noSuchSetting(key, known))
}

/** Undefined, or a whole number above 0. */
export function checkCount(count: unknown, key: string, wrong: Wrong): void {
  if (count === undefined || (Number.isSafeInteger(count) && Number(count) > 0)) return
  wrong(key, 'must be a whole number above 0.')
}

/** Names the setting that was probably meant, else all of them. */
export function noSuchSetting(key: string, known: readonly string[]): string {
  const near =
    known.find(each => each.toLowerCase() === key.toLowerCase()) ??
    nearest(key, known) ??
    known.find(each => key.startsWith(each))
  return `there is no such setting. ${near === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean "${near}"?`}`
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
