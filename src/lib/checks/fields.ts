// Checks of one field of a configuration: its name, its kind, its form. Each reports under the key that the operator
// wrote. The list of settings is in the folder that has them.
import { errorMessage } from '../text/error-message.ts'
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

/** Checks the value of a setting, which is called `key`. */
export type Check = (value: unknown, key: string, wrong: Wrong) => void
/** The setting cannot be left out. */
export type Needed = { needed: Check }
/** A check for each setting of a type. The compiler finds one that is missing, and one that is no setting. */
export type SettingChecks<Type> = { readonly [Name in keyof Required<Type>]: Check | Needed }

/** An object with these settings and no others. `words`: what to do if it is none. */
export function group<Type>(settings: SettingChecks<Type>, words: string): Check {
  return (value, key, wrong) => {
    if (!isRecord(value)) {
      wrong(key, words)
      return
    }
    const prefix = key === '' ? '' : `${key}.`
    checkKnown(value, Object.keys(settings), prefix, wrong)
    for (const [name, setting] of Object.entries<Check | Needed>(settings)) {
      const given = value[name]
      if (typeof setting !== 'function') setting.needed(given, `${prefix}${name}`, wrong)
      else if (given !== undefined) setting(given, `${prefix}${name}`, wrong)
    }
  }
}

/** The same check for all settings of a type, whose names are those of its default values. */
export function each<Type extends object>(defaults: Type, check: Check): SettingChecks<Type> {
  // One entry for each name of the type.
  return Object.fromEntries(Object.keys(defaults).map(name => [name, check])) as SettingChecks<Type>
}

export function must(isFine: (value: unknown) => boolean, words: string): Check {
  return (value, key, wrong) => {
    if (!isFine(value)) wrong(key, words)
  }
}

export function kind(wanted: FieldKind): Check {
  return (value, key, wrong) => {
    if (typeof value !== wanted) wrong(key, `must be a ${wanted}, not ${typeof value}.`)
  }
}

export function texts(form: RegExp, words: string): Check {
  return (value, key, wrong) => checkTexts(value, form, words, key, wrong)
}

/** Reports the message of the error that `check` throws. */
export function passes(check: (value: unknown) => unknown): Check {
  return (value, key, wrong) => {
    try {
      check(value)
    } catch (error) {
      wrong(key, errorMessage(error))
    }
  }
}

/** For a setting that is checked together with others, or by the compiler alone. */
export const anything: Check = () => {}

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
