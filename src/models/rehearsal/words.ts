// Words as the rehearsal model compares them: split, lower-cased, stemmed a little, without the words that say
// nothing. It is no linguistics: plural, -ing, -ed and -ly are enough to meet "reading files" in `read_file`.

const STOP = new Set(
  (
    'a about after again all also am an and any are as at be been before but by can could did do does done ' +
    'each else every for from get give go had has have hello hey hi how i if in into is it its just let like ' +
    'make many may me much must my near need no not now of off ok on one or our out over please ' +
    'put shall she he should so some tell than thank thanks that the their them then there these they this ' +
    'those to too under up us use using very via want was we were what whats when where which while who whose ' +
    'why will with without would yes you your'
  ).split(' '),
)

export function isStop(word: string): boolean {
  return STOP.has(word.toLowerCase().replace(/['’]/g, ''))
}

/** Words of running text or of a name in any case: `getUserName`, `get_user-name`. */
export function wordsIn(text: string): string[] {
  const spaced = text
    .replace(/\be-mail/gi, 'email')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/['’]s\b/g, '')
  return spaced.toLowerCase().match(/[\p{L}\p{M}\d]+/gu) ?? []
}

/** The stems that carry meaning, in order. */
export function stemsIn(text: string): string[] {
  const stems: string[] = []
  for (const word of wordsIn(text)) if (!STOP.has(word)) stems.push(stem(word))
  return stems
}

const SUFFIXES: readonly [RegExp, string][] = [
  [/(\p{L}{2,})ies$/u, '$1y'],
  [/(\p{L}+(?:ss|x|z|ch|sh))es$/u, '$1'],
  [/(\p{L}{2,}[^sui])s$/u, '$1'],
  [/(\p{L}{3,})ing$/u, '$1'],
  [/(\p{L}{3,})ed$/u, '$1'],
  [/(\p{L}{4,})ly$/u, '$1'],
]

/** A longer one is no word; the suffixes below would take their time over it. */
const LONGEST_WORD = 40

export function stem(word: string): string {
  let text = word.toLowerCase()
  if (text.length > LONGEST_WORD) return text
  if (text === 'email' || text === 'emails') return 'mail'
  for (const [suffix, kept] of SUFFIXES) {
    if (!suffix.test(text)) continue
    text = text.replace(suffix, kept)
    break
  }
  // `run` and `running`, `write` and `writing` meet once the doubled letter and the silent e are gone.
  return text.replace(/([bdfglmnprt])\1$/u, '$1').replace(/(\p{L}{3,})e$/u, '$1')
}
