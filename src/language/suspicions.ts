// Warnings about a text that a person is asked to approve, for things that are easy to overlook: hidden characters,
// those that change the direction of text, words that mix alphabets, and values so long that their end is out of sight.
// Used wherever a person is asked: in the command, the console and editors.
import { isJsonObject, type Json } from '../lib/json/index.ts'

const hidden = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const word = /[\p{L}\p{M}.-]+/gu
const latin = /\p{Script=Latin}/u
/** Alphabets with letters that look like Latin ones. */
const alike = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u
const longest = 4000
const most = 3

export function findSuspicions(value: Json): string[] {
  const found = {
    hidden: 0,
    codes: new Set<string>(),
    turns: false,
    mixed: [] as string[],
    long: [] as string[],
  }
  walk(value, '', (text, path) => {
    for (const [char] of text.matchAll(hidden)) {
      if (char === '\n' || char === '\t') continue
      found.hidden += 1
      if (found.codes.size <= most) found.codes.add(codePoint(char))
      found.turns ||= turning.test(char)
    }
    const strange = found.mixed.length < most ? mixedWord(text) : undefined
    if (strange !== undefined) found.mixed.push(strange)
    if (text.length > longest && found.long.length < most)
      found.long.push(`${path || 'the text'} has ${text.length.toLocaleString('en')} characters`)
  })
  return [
    ...(found.hidden > 0 ? [hiddenWords(found.hidden, [...found.codes])] : []),
    ...(found.turns
      ? ['Some of them change the direction of text: it may be shown in another order than it is used.']
      : []),
    ...found.mixed.map(text => `“${text.slice(0, 60)}” mixes letters of several alphabets that look alike.`),
    ...found.long.map(words => `${words}. Its beginning and its end are shown.`),
  ]
}

function hiddenWords(count: number, codes: readonly string[]): string {
  const named = codes.slice(0, most).join(', ')
  return `${count} hidden or control characters: ${named}${codes.length > most ? ' and others' : ''}.`
}

function codePoint(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

function mixedWord(text: string): string | undefined {
  if (!alike.test(text)) return undefined
  for (const [each] of text.matchAll(word)) if (latin.test(each) && alike.test(each)) return each
  return undefined
}

function walk(value: Json, path: string, visit: (text: string, path: string) => void): void {
  if (typeof value === 'string') visit(value, path)
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) walk(item, `${path}/${index}`, visit)
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) {
      visit(name, path)
      walk(member, `${path}/${name}`, visit)
    }
}
