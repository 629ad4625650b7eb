// Words and values in a person's text. Words choose a tool; values fill its arguments. Patterns find both, all of them
// linear.

const STOP = new Set(
  (
    'a about also an and any are as at be by can check could do does find for from get give hello hey hi how in into is ' +
    'it its just let like look make me my need now of on or our out please show so some tell than thank thanks that the ' +
    'their them then there these this those to today tomorrow up us use want was what when where which who why will with ' +
    'would you your'
  ).split(' '),
)

/** The words of running text, or of a name in any case (`getUser`, `get_user`), without stop words and endings. */
export function wordStems(text: string): string[] {
  const spaced = text.replace(/\be-?mail/giu, 'mail').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
  const words =
    spaced
      .toLowerCase()
      .replace(/['’]s\b/gu, '')
      .match(/[\p{L}\d]+/gu) ?? []
  const stems = words.filter(word => !STOP.has(word)).map(word => word.replace(/ies$/u, 'y'))
  return stems.map(word => word.replace(/(?<=\p{L}{3})(?:ing|ed|es|s|e)$/u, ''))
}

/** False for stop words, punctuation, and words that chose the tool. */
export function isTelling(word: string, known: ReadonlySet<string>): boolean {
  return word !== 'I' && wordStems(word).some(stem => !known.has(stem))
}

export type ValueKind = 'quoted' | 'email' | 'path' | 'sum' | 'number' | 'name'
export type Value = { kind: ValueKind; text: string; start: number; end: number }

const OPERAND = String.raw`[-(]{0,3}\d{1,15}(?:\.\d{1,15})?\){0,3}`
const SIGNS: Readonly<Record<string, string>> = { plus: '+', minus: '-', times: '*' }
const LOWER = String.raw`\p{Ll}[\p{L}'’-]{2,60}`

/** In this order: a text that one pattern has found is hidden from the patterns after it. */
const PATTERNS: readonly [ValueKind, RegExp][] = [
  ['quoted', /```(?:\w{0,20}\n)?([^`]+)```|"([^"\n]+)"|“([^”\n]+)”|`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)/gu],
  ['email', /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/gu],
  ['path', /https?:\/\/[^\s<>"]{0,2000}[^\s<>".,;:!?)]/giu],
  [
    'sum',
    new RegExp(
      String.raw`(?<![\w.])${OPERAND}(?:\s*(?:[-+*/×÷^%]|plus|minus|times)\s*${OPERAND}){1,50}`,
      'gu',
    ),
  ],
  ['path', /(?<![\w@/.])[~.]{0,2}(?:\/[\w.-]{0,98}[\w-]){1,20}\/?/gu],
  ['path', /(?<![\w@/.])[\w-]{1,99}(?:(?:\/[\w.-]{0,98}[\w-]){1,20}\/?|\.[a-z]\w{0,5})(?![\w@])/giu],
  ['number', /(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?!\w)/gu],
  ['name', /(?<![\p{L}\d])\p{Lu}[\p{L}'’-]{0,60}(?:\s\p{Lu}[\p{L}'’-]{0,60}){0,5}/gu],
  // After a preposition, and alone, a name needs no capital.
  [
    'name',
    new RegExp(String.raw`(?:(?<=\b(?:in|at|near|for|to|from|of)\s)|^)${LOWER}(?:\s${LOWER}){0,2}`, 'gu'),
  ],
]

/** `known`: stems of the words that chose the tool. They are no names. */
export function valuesIn(text: string, known: ReadonlySet<string>): Value[] {
  const values: Value[] = []
  let unseen = text
  for (const [kind, pattern] of PATTERNS)
    for (const match of unseen.matchAll(pattern)) {
      const whole = kind === 'name' ? nameIn(match[0], known) : match[0]
      const start = match.index + match[0].indexOf(whole)
      // The first word of a longer clause is a verb rather than a name.
      if (whole === '' || (kind === 'name' && start === 0 && text.split(/\s+/u).length > 4)) continue
      const inner = match.slice(1).find(group => group !== undefined) ?? whole
      const clean = kind === 'sum' ? inner.replace(/[a-z]+/gu, word => SIGNS[word] ?? word) : inner.trim()
      values.push({ kind, text: clean, start, end: start + whole.length })
      unseen = unseen.slice(0, start) + '\0'.repeat(whole.length) + unseen.slice(start + whole.length)
    }
  return values.sort((a, b) => a.start - b.start)
}

function nameIn(text: string, known: ReadonlySet<string>): string {
  const words = text.split(/\s/u)
  const first = words.findIndex(word => isTelling(word, known))
  const end = words.findIndex((word, at) => at > first && !isTelling(word, known))
  return first < 0 ? '' : words.slice(first, end < 0 ? undefined : end).join(' ')
}
