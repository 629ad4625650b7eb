// Tables of settings: a check for each setting of a type. Each reports under the key that the operator wrote. The tables are
// in the folders that have the settings.
import { errorMessage } from '../text/error-message.ts'
import { nearest } from '../text/nearest.ts'

/** Reports a mistake: its key, and what to do. */
export type Wrong = (key: string, words: string) => void
export type Fields = Record<string, unknown>

type FieldKind = 'string' | 'boolean' | 'number'

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
    const known = Object.keys(settings)
    for (const name of Object.keys(value))
      if (!known.includes(name)) wrong(`${prefix}${name}`, noSuchSetting(name, known))
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

export const onOff = kind('boolean')
export const text = kind('string')

export const count = must(
  value => Number.isSafeInteger(value) && Number(value) > 0,
  'must be a whole number above 0.',
)

/** A text of this form. */
export function matches(form: RegExp, words: string): Check {
  return must(value => typeof value === 'string' && form.test(value), words)
}

export const filled = matches(/./s, 'must be a text that is not empty.')

/** A list of texts of this form. */
export function texts(form: RegExp, words: string): Check {
  return must(
    value => Array.isArray(value) && value.every(item => typeof item === 'string' && form.test(item)),
    words,
  )
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
function noSuchSetting(key: string, known: readonly string[]): string {
  const near =
    known.find(each => each.toLowerCase() === key.toLowerCase()) ??
    nearest(key, known) ??
    known.find(each => key.startsWith(each))
  return `there is no such setting. ${near === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean "${near}"?`}`
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
