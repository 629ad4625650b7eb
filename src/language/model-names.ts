// Which configured model a name means. An entry of `models` is a whole name or a pattern: `*` stands for any text. Programs
// ask for helper models by names that no operator has configured, and a pattern answers for all of them.
import { fitsStars } from '../lib/text/star-names.ts'

/** A name that a pattern allows, as a type: `claude-*` is any text that begins with `claude-`. */
export type AskedName<Key extends string> = Key extends `${infer Before}*${infer After}`
  ? `${Before}${string}${AskedName<After>}`
  : Key

export function isModelPattern(key: string): boolean {
  return key.includes('*')
}

/** The entry that a name means: the one of this name, else the pattern that says most of it. */
export function modelKey(models: Readonly<Record<string, unknown>>, name: string): string | undefined {
  if (Object.hasOwn(models, name)) return name
  return Object.keys(models)
    .filter(key => isModelPattern(key) && fitsStars(key, name))
    .sort((a, b) => literalLength(b) - literalLength(a))[0]
}

function literalLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}
